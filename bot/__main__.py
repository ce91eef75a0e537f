"""`python -m bot` is the `hermes` command."""

from bot.cli.main import main

if __name__ == "__main__":
    main()

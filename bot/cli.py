"""The `hermes` command line."""


def main() -> None:
    """Run one command and exit with its status."""
    raise SystemExit(2)

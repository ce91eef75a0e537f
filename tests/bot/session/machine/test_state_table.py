"""docs/architecture.md prints the state table as it is. `python -m` with this module's name writes it there."""

import re
from pathlib import Path

from bot.session.machine.state_table import markdown

PAGE = Path(__file__).parents[4] / "docs" / "architecture.md"
BLOCK = re.compile(r"(?<=<!-- state table: generated -->\n).*?(?=\n<!-- end -->)", re.DOTALL)


def test_the_documentation_prints_the_state_table() -> None:
    found = BLOCK.search(PAGE.read_text())
    assert found
    assert found[0] == markdown(), "run: python -m tests.bot.session.machine.test_state_table"


if __name__ == "__main__":
    PAGE.write_text(BLOCK.sub(lambda _: markdown(), PAGE.read_text()))

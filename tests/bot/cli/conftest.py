"""Runs commands in the process of the test."""

import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from bot.cli import main
from tests.bot.conftest import CleanEnvironment


def run(capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str, str]:
    """Return exit code, standard output and standard error of one command."""
    patch.setattr(sys, "argv", ["hermes", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.main()
    said = capsys.readouterr()
    return int(str(ended.value.code)), said.out, said.err


@pytest.fixture
def hermes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, clean_env: CleanEnvironment
) -> Iterator[Any]:
    """Return a function that runs a command in this process; logging is restored afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield lambda *arguments: run(capsys, monkeypatch, *arguments)
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)

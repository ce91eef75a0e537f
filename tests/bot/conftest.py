"""Surroundings for what reads the environment."""

import os
from pathlib import Path

import pytest

from tests.bot.surroundings import OURS, Surroundings


@pytest.fixture
def around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Surroundings:
    for name in [n for n in os.environ if n.startswith(OURS)]:
        monkeypatch.delenv(name)
    return Surroundings(monkeypatch, tmp_path)

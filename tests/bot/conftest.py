"""A clean environment for tests of code that reads environment variables and files in the working folder."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

OUR_PREFIXES = ("SLACK_", "OPENAI_", "HERMES_")


class CleanEnvironment:
    """An empty working folder, without any of the variables that Hermes reads."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder = folder
        self._patch = patch
        patch.chdir(folder)
        for name in [n for n in os.environ if n.startswith(OUR_PREFIXES)]:
            patch.delenv(name)

    def set(self, **variables: str) -> None:
        for name, value in variables.items():
            self._patch.setenv(name, value)

    def write_config(self, text: str = "", **keys: Any) -> None:
        """Write hermes.yaml."""
        (self.folder / "hermes.yaml").write_text(text or yaml.safe_dump(keys, sort_keys=False), encoding="utf-8")


@pytest.fixture
def clean_env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CleanEnvironment:
    return CleanEnvironment(monkeypatch, tmp_path)

"""What Hermes finds around it when it is asked to look: a working folder and an environment."""

from pathlib import Path
from typing import Any

import pytest
import yaml

OURS = ("SLACK_", "OPENAI_", "HERMES_")


class Surroundings:
    """A fresh folder as working folder, and none of our variables set."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder = folder
        self._patch = patch
        patch.chdir(folder)

    def set(self, **variables: str) -> None:
        for name, value in variables.items():
            self._patch.setenv(name, value)

    def say(self, text: str = "", **keys: Any) -> None:
        """Write hermes.yaml."""
        (self.folder / "hermes.yaml").write_text(text or yaml.safe_dump(keys, sort_keys=False), encoding="utf-8")

"""How this model's server counts tokens: our estimate, and the factor learnt from the usage that it reports."""

from collections.abc import Sequence
from typing import Any

from bot.session.tokens import calibrate, count, count_tools


class Ruler:
    """One per process: a factor is learnt again within a few requests, so it is not stored."""

    def __init__(self) -> None:
        self.factor = 1.0
        self._key: tuple[object, ...] = ()
        self._fixed = 0

    def fixed(self, system: str, tools: Sequence[dict[str, Any]]) -> int:
        """Return the estimate of what every request begins with; counted again only when it changed."""
        key = (system, *(id(t) for t in tools))
        if key != self._key:
            self._key, self._fixed = key, count(system) + count_tools(tools)
        return self._fixed

    def learn(self, estimated: int, actual: int) -> None:
        """Take in what a server counted for a request that was estimated at `estimated`."""
        if actual:
            self.factor = calibrate(self.factor, estimated, actual)

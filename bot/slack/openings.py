"""The numbers of an answer's messages, and the keeper who is told of each."""

from bot.ports import PartKeeper


class Openings:
    """Counts the messages of one answer: `part` is the next one, told to the keeper before it is opened and after."""

    def __init__(self, keeper: PartKeeper) -> None:
        self._keeper = keeper
        self._announced = -1
        self.part = 0

    async def announce(self) -> None:
        """Tell the keeper of the message that is about to be opened; if it fails, nothing may be sent."""
        if self._announced != self.part:
            await self._keeper.opening(self.part)
            self._announced = self.part

    def opened(self, ts: str) -> None:
        """Tell the keeper that it stands there."""
        self._keeper.opened(self.part, ts)
        self.part += 1

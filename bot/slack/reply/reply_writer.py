"""The messages of one answer, in order: opened, filled, left for the next one, closed."""

from collections.abc import Sequence

from bot.ports import PartKeeper, ReplySpec, SessionStatus, TaskStatus
from bot.slack.render.split_markdown import seam
from bot.slack.reply.desk import Desk
from bot.slack.reply.edited_message import Edits
from bot.slack.reply.open_message import Sheet, mark
from bot.slack.reply.outbox import Item, Piece, Script, Task, Words
from bot.slack.reply.streamed_message import InDoubtError, LostStartError, Stream
from bot.slack.slack_errors import ENDED, NO_STREAM, PAYLOAD, STOPPED, TOO_LONG, passing
from bot.texts import say
from tools.context import ChatError

RECOVERIES = 8  # in a row, without anything shown in between
LEAST_LIMIT = 1_000


class Pages:
    """Moves a Script onto messages. Not for concurrent use. Methods raise ChatError; what was not shown stays owed."""

    def __init__(self, desk: Desk, spec: ReplySpec, keeper: PartKeeper, script: Script) -> None:
        self._desk = desk
        self._spec = spec
        self._openings = Openings(keeper)
        self._script = script
        self._sheet: Sheet | None = None
        self._limit = desk.pace.limit
        self._opener = ""  # what the next message starts with: a reopened fence, a table's header
        self._cards: list[Task] = []  # open cards of a message that was left
        self._plain = False
        self._stopped = False
        self._lost: tuple[LostStartError, Piece] | None = None  # a start in doubt, and what was taken for it

    @property
    def interval(self) -> float:
        return self._sheet.interval if self._sheet else self._desk.pace.append_s

    def seconds_left(self) -> float | None:
        """Return how long the open message may still be written to; None if none is open."""
        return max(0.0, self._sheet.page.until - self._desk.clock()) if self._sheet else None

    async def flush(self) -> bool:
        """Show what may be shown now; tell whether a call was made."""
        sent = await self._prepare()
        while piece := self._take(final=False):
            await self._show(piece)
            sent = True
            if not piece.full:  # what came meanwhile goes with the next call
                break
        return sent

    async def deliver(self, status: SessionStatus) -> None:
        """Show all that is left and close the last message; afterwards the session shows `status`."""
        await self._prepare()
        for _ in range(100):  # each round shows a message's worth or raises
            piece = self._take(final=True)
            if self._sheet is None and not any(isinstance(i, Task) for i in piece.items):
                self._cards = []
                if not piece.text.strip() and not piece.full:
                    return
                # One in doubt may stand there with an earlier text: it is edited to the end.
                if not self._desk.poster.is_uncertain(self._spec.key, self._openings.part):
                    await self._post(piece)
                    continue
            if self._sheet is None or piece.full:
                await self._show(piece)
                continue
            if await self._end(self._sheet, piece.items, status):
                return
        raise ChatError("msg_too_long")

    def wind_up(self, word: str | None) -> None:
        """Close the open cards and, with a word, say why the answer ends here; `deliver` shows it."""
        self._close_cards("error" if word else "complete", word or say("voice.waiting", self._spec.locale))
        if word:
            self._script.broken = False  # one word is enough, below what is shown
            self._script.end_step()
            self._script.add(mark(word).text.lstrip() if self._sheet is None else mark(word).text)

    async def amend(self, status: SessionStatus, word: str | None) -> None:
        """After a person stopped the stream: put what is left onto it by an edit, for it takes no more chunks.

        If it takes no edit either, the word alone is said below it.
        """
        if not self._stopped or not isinstance(self._sheet, Stream):
            return
        items: list[Item] = [mark(say("voice.interrupted", self._spec.locale))] if self._script.broken else []
        self._script.broken = False
        piece = self._take(final=True)
        items += [*piece.items, *self._script.tasks().values()]  # of what does not fit, the end of the cards
        try:
            await self._sheet.amend([*items, mark(word)] if word and piece.full else items, status)
        except ChatError as error:
            if word is None or passing(error):
                raise
            text = {"markdown_text": mark(word).text.lstrip()}
            await self._desk.poster.post(self._spec.thread, text, key=self._spec.key, part=self._openings.part)
        self._sheet = None

    def _close_cards(self, status: TaskStatus, output: str) -> None:
        """Close every card that stands open, may stand so, or goes on in the next message."""
        begun = self._sheet.begun() if self._sheet else [*self._cards, *(self._lost[0].items if self._lost else ())]
        self._script.close_cards(begun, status, output)

    async def let_go(self) -> None:
        """Show what may be shown and stop the stream, without a word but on its open cards."""
        if not self._stopped:
            await self._clear_doubt()
        if self._sheet is not None and not self._stopped:
            self._close_cards("error", say("voice.interrupted", self._spec.locale))
            items = self._take(final=False).items
            await self._end(self._sheet, [*items, *self._script.tasks().values()], "active")

    # --- one message

    def _take(self, *, final: bool) -> Piece:
        shown = self._sheet.page.body if self._sheet else self._opener
        return self._script.take(self._limit - len(shown), shown, final=final)

    async def _prepare(self) -> bool:
        """Clear a doubt, mark what a broken model stream left, and leave a message before Slack ends it."""
        if self._stopped:
            raise ChatError(STOPPED)
        await self._clear_doubt()
        if self._script.broken:
            await self._strike()
            return True
        if self._sheet is not None and self._desk.clock() >= self._sheet.page.until:
            await self._leave(self._sheet)
            if self._cards:
                await self._show(Piece())
            return True
        return False

    async def _clear_doubt(self) -> None:
        """Find out what became of a call without an answer; only what did not arrive is to be shown again."""
        if self._lost is None:
            self._script.untake(Piece(tuple(await self._sheet.settle()) if self._sheet else ()))
            return
        lost, piece = self._lost
        self._sheet, self._lost = await Stream.find(self._desk, self._spec, self._openings.part, lost), None
        if self._sheet is not None:
            self._opened(self._sheet.page.ts)
        else:
            self._script.untake(piece)

    async def _strike(self) -> None:
        word = say("voice.interrupted", self._spec.locale)
        if self._sheet is not None:
            cards, goes_on = self._sheet.page.open_tasks(), False
            try:
                goes_on = await self._sheet.strike(word)
            except ChatError as error:
                self._raise_unless_final(error)
            if not goes_on:
                self._sheet, self._cards = None, cards
        self._opener = ""
        self._script.broken = False

    async def _show(self, piece: Piece) -> None:
        """Show a piece on the open message, or open one with it; recover from what Slack says."""
        for _ in range(RECOVERIES):
            if self._sheet is None and not piece.items and not self._cards:
                return
            if self._sheet is None:
                await self._announce(piece)
            try:
                if self._sheet is None:
                    await self._open(piece.items)
                elif piece.items:
                    await self._sheet.add(piece.items)
            except InDoubtError as lost:
                if isinstance(lost, LostStartError):
                    self._lost = lost, piece
                raise
            except ChatError as error:
                self._script.untake(piece)
                await self._recover(error)
                piece = self._take(final=False)
                continue
            if piece.full and self._sheet is not None:
                await self._leave(self._sheet)
            return
        raise ChatError("unreachable")

    async def _open(self, items: Sequence[Item]) -> None:
        shown = {item.key for item in items if isinstance(item, Task)}
        carried: list[Item] = [card for card in self._cards if card.key not in shown]
        if self._opener:
            step = next((item.step for item in items if isinstance(item, Words)), 0)
            carried.append(Words(self._opener, step))
        first = [*carried, *items]
        posted = self._plain or self._desk.poster.is_uncertain(self._spec.key, self._openings.part)
        if not posted and self._desk.surfaces.streams(self._spec.thread.channel, self._spec.recipient):
            self._sheet = await Stream.open(self._desk, self._spec, self._openings.part, first)
        else:
            self._sheet = await Edits.open(self._desk, self._spec, self._openings.part, first)
        self._opened(self._sheet.page.ts)

    async def _post(self, piece: Piece) -> None:
        """Post a piece as a message of its own: the cheapest way when nothing is open."""
        closer, opener = seam(self._opener + piece.text) if piece.full else ("", "")
        await self._announce(piece)
        text = {"markdown_text": self._opener + piece.text + closer}
        try:
            ts = await self._desk.poster.post(self._spec.thread, text, key=self._spec.key, part=self._openings.part)
        except ChatError as error:
            self._script.untake(piece)
            if error.code not in TOO_LONG or not self._narrow():
                raise
            return
        self._opened(ts)
        self._opener = opener

    async def _announce(self, piece: Piece) -> None:
        try:
            await self._openings.announce()
        except BaseException:
            self._script.untake(piece)
            raise

    def _opened(self, ts: str) -> None:
        self._openings.opened(ts)
        self._opener, self._cards = "", []

    async def _leave(self, sheet: Sheet) -> None:
        """Close the open message; what is unfinished on it goes on in the next one."""
        page = sheet.page
        closer, opener = seam(page.body)
        cards = page.open_tasks()
        items: list[Item] = [*page.handed_on(), *([Words(closer, page.step)] if closer else [])]
        for last in (items, page.handed_on(), ()):  # where the last items are refused, it is closed as it is
            try:
                await sheet.end(last, "processing")
                break
            except ChatError as error:
                self._raise_unless_final(error)
        self._sheet, self._opener, self._cards = None, opener, cards

    def _raise_unless_final(self, error: ChatError) -> None:
        """Raise what may pass, and a person's stop; a refusal for good of a mere closing is let go."""
        if error.code == STOPPED:
            self._stopped = True
        if passing(error) or self._stopped:
            raise error

    async def _end(self, sheet: Sheet, items: Sequence[Item], status: SessionStatus) -> bool:
        """Close the open message with its last items; False if they must be shown elsewhere."""
        try:
            await sheet.end(items, status)
        except ChatError as error:
            if error.code == "ratelimited" and items:  # the text first: the stop may wait
                await self._show(Piece(tuple(items)))
                return False
            self._script.untake(Piece(tuple(items)))
            if passing(error):
                raise
            await self._recover(error)
            return False
        self._sheet = None
        return True

    async def _recover(self, error: ChatError) -> None:
        """Make the next attempt another one; raise the error if there is none."""
        code = error.code
        if code == STOPPED:
            self._stopped = True
            raise error
        if self._sheet is None:
            self._recover_opening(error)
        elif code in ENDED:
            page = self._sheet.page
            self._opener, self._cards, self._sheet = seam(page.body)[1], page.open_tasks(), None
        elif code in TOO_LONG:
            self._narrow()
            await self._leave(self._sheet)
        elif code in PAYLOAD:
            self._plain = True
            await self._leave(self._sheet)
        else:
            raise error

    def _recover_opening(self, error: ChatError) -> None:
        code = error.code
        if code in TOO_LONG and self._narrow():
            return
        if self._plain or code not in NO_STREAM | PAYLOAD | {"ratelimited"}:
            raise error
        if code in NO_STREAM:
            self._desk.surfaces.refused(code, self._spec.thread.channel, self._spec.recipient)
        self._plain = True

    def _narrow(self) -> bool:
        """Use shorter messages from now on; False if they are short already."""
        if self._limit <= LEAST_LIMIT:
            return False
        self._limit = max(LEAST_LIMIT, self._limit // 2)
        return True


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

"""One natively streamed message: chunks only, its whole text certain at the end."""

import asyncio
import logging
from collections.abc import Sequence

from bot.ports import ReplySpec, SessionStatus
from bot.slack.render.block_kit import answer_blocks
from bot.slack.reply.desk import Desk
from bot.slack.reply.edited_message import fallback, task_line
from bot.slack.reply.open_message import Page, mark
from bot.slack.reply.outbox import Item, Words
from bot.slack.reply.stream_chunks import chunks, task_cards
from bot.slack.sent_messages import as_posted, delivery_metadata
from bot.slack.slack_errors import ENDED, PAYLOAD, STOPPED, TOO_LONG, passing
from bot.slack.web_api import Args
from tools.context import ChatError
from tools.slack_markup import letters

STOP_TRIES = 3
TAIL = 24  # letters by which a piece is recognised in what Slack shows

log = logging.getLogger("bot.slack")


class InDoubtError(ChatError):
    """Nobody can tell yet whether items arrived: they are neither shown nor to be sent again before `settle`."""

    def __init__(self) -> None:
        super().__init__("unreachable", uncertain=True)


class LostStartError(InDoubtError):
    """The same of a start: a stream with `items` may stand there, newer than the ts `before`."""

    def __init__(self, items: Sequence[Item], before: str) -> None:
        super().__init__()
        self.items = items
        self.before = before


class Stream:
    """A stream of `chat.startStream`. `doubtful`: an answer was lost, so the text is set exactly once it has ended.

    `in_doubt` are items of which nobody can tell yet: nothing follows them until `settle`, or the text had a gap.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self._doubtful = False
        self._in_doubt: Sequence[Item] = ()
        self._stop_lost = False  # it may have ended with its last items: they must not be appended
        page.desk.live += 1
        self._live = True

    @property
    def interval(self) -> float:
        return self.page.desk.append_interval()

    @classmethod
    async def open(cls, desk: Desk, spec: ReplySpec, part: int, items: Sequence[Item]) -> "Stream":
        """Start the stream with its first items.

        Raises ChatError, with a word of `NO_STREAM` where there are none, and LostStartError where it may have begun.
        """
        lost = LostStartError(tuple(items), desk.sent.latest_ts)
        try:
            ts = await _start(desk, spec, items)
        except ChatError as error:
            if not error.uncertain:
                raise
            if (found := await cls.find(desk, spec, part, lost)) is None:
                raise ChatError("unreachable") from None  # certain now: none was started
            return found
        return cls._begun(desk, spec, part, ts, items)

    @classmethod
    async def find(cls, desk: Desk, spec: ReplySpec, part: int, lost: "LostStartError") -> "Stream | None":
        """Find the stream whose start was not confirmed; None if there is none. Raises `lost` if nobody can tell."""
        try:
            found = await desk.sent.find(spec.thread, (), after=lost.before, recorded=desk.sent.recorded)
        except ChatError as error:
            log.info("cannot tell whether a stream was started: %s", error.code)
            raise lost from None
        if not found:
            return None
        stream = cls._begun(desk, spec, part, desk.sent.record(found[-1].ts), lost.items)
        stream._doubtful = True
        return stream

    @classmethod
    def _begun(cls, desk: Desk, spec: ReplySpec, part: int, ts: str, items: Sequence[Item]) -> "Stream":
        desk.board.noted(spec.thread, "processing")  # chat.startStream sets it
        stream = cls(Page(desk, spec, part, ts))
        stream.page.note(items)
        return stream

    async def add(self, items: Sequence[Item]) -> None:
        self._certain()
        page = self.page
        args: Args = {"channel": page.spec.thread.channel, "ts": page.ts, "chunks": chunks(items)}
        try:
            # Short patience: the end of the answer must not stand behind a mere addition.
            patience = page.desk.pace.stop_patience_s
            await page.desk.client.call("chat.appendStream", args, thread=page.spec.thread.root, patience=patience)
        except ChatError as error:
            if error.code in ENDED or error.code == STOPPED:
                self._let_go()
            if not error.uncertain:
                raise
            self._in_doubt = items
            if await self.settle():
                raise
            return
        page.note(items)

    async def settle(self) -> Sequence[Item]:
        if not self._in_doubt:
            return ()
        try:
            shown = await self._shows(self._in_doubt)
        except ChatError as error:
            log.info("cannot read a stream back: %s", error.code)
            raise InDoubtError from None
        items, self._in_doubt = self._in_doubt, ()
        if shown is False:
            return items
        self._doubtful = self._doubtful or shown is None
        self.page.note(items)
        return ()

    def begun(self) -> Sequence[Item]:
        return (*self.page.tasks.values(), *self._in_doubt)

    def _certain(self) -> None:
        if self._in_doubt:
            raise ChatError("unreachable")

    async def end(self, items: Sequence[Item], status: SessionStatus) -> None:
        self._certain()
        page = self.page
        args: Args = {"channel": page.spec.thread.channel, "ts": page.ts, "session_status": status}
        args["metadata"] = delivery_metadata(page.spec.key, page.part)
        if items:
            args["chunks"] = chunks(items)
        try:
            async with page.desk.board.turn(page.spec.thread):
                exact = await self._stop(args, page.desk.pace.stop_patience_s if items else 60.0)
                if exact:
                    page.desk.board.noted(page.spec.thread, status)
            if not exact:
                await self._set_exactly(items, status)
        except ChatError as error:
            if not passing(error) and error.code not in TOO_LONG:
                self._let_go()
            raise
        page.note(items)
        self._let_go()

    async def amend(self, items: Sequence[Item], status: SessionStatus) -> None:
        """Add items to a stream that ended without us, by one edit. Raises ChatError where Slack takes none."""
        await self._set_exactly([*self._in_doubt, *items], status)

    async def strike(self, word: str) -> bool:
        try:
            await self.end([*self.page.handed_on(), mark(word)], "processing")
        except ChatError as error:
            if error.code not in TOO_LONG:
                raise
            await self.end(self.page.handed_on(), "processing")
        return False

    async def _stop(self, args: Args, patience: float) -> bool:
        """Stop the stream; False if its text must be set exactly afterwards. Raises what an edit cannot mend."""
        tried = False
        for again in range(STOP_TRIES):
            try:
                root = self.page.spec.thread.root
                patience = 60.0 if self._stop_lost else patience
                await self.page.desk.client.call("chat.stopStream", args, thread=root, patience=patience)
                return not (self._doubtful or tried)
            except ChatError as error:
                if error.code == "ratelimited" and self._stop_lost:
                    raise ChatError("unreachable") from None
                if error.code in {STOPPED, "ratelimited"} or error.code in TOO_LONG:
                    raise
                if error.code in PAYLOAD and len(args) > 2:
                    log.warning("a stream could not be closed with its last items: %s", error.code)
                    args, tried = {"channel": args["channel"], "ts": args["ts"]}, True
                    continue
                if error.code in ENDED or (tried and not passing(error)):
                    return False
                self._stop_lost = self._stop_lost or error.uncertain
                if not passing(error) or again == STOP_TRIES - 1:
                    raise
                tried = tried or error.uncertain
            await asyncio.sleep(self.page.desk.pace.backoff[0] * (again + 1))
        raise ChatError("unreachable")

    async def _set_exactly(self, items: Sequence[Item], status: SessionStatus) -> None:
        """Make the ended message show all its text by one edit. Raises ChatError if Slack takes no edit of it."""
        page, after = self.page, self.page.copy()
        after.note(items)
        lines = [task_line(task) for task in after.tasks.values()]
        contents: list[Args] = [
            {
                "text": fallback(after.body, lines),
                "blocks": [*task_cards(after.tasks.values()), *answer_blocks(after.body)],
            },
            {"text": fallback(after.body, lines), "blocks": answer_blocks(after.body, lines)},
        ]
        try:
            for content in contents if after.tasks else contents[1:]:
                if not content["blocks"]:
                    break
                try:
                    content["metadata"] = delivery_metadata(page.spec.key, page.part)
                    await page.desk.poster.update(page.spec.thread.channel, page.ts, content)
                    break
                except ChatError as error:
                    if error.code not in PAYLOAD or content is contents[-1]:
                        raise
        except ChatError as error:
            if passing(error):
                raise
            if not await self._shows(items):  # the stop whose answer was lost may have had its effect
                raise ChatError("message_not_in_streaming_state") from error
        if status != "processing":
            await page.desk.board.set(page.spec.thread, status)

    async def _shows(self, items: Sequence[Item]) -> bool | None:
        """Tell whether Slack shows items of a call that gave no answer; None where its text does not tell.

        Raises ChatError if the thread cannot be read.
        """
        added, old = letters("".join(i.text for i in items if isinstance(i, Words))), letters(self.page.body)
        sent = self.page.desk.sent
        message = await sent.read_message(self.page.spec.thread.channel, self.page.ts)
        shown = letters(as_posted(message, sent.me).text) if message else ""
        if added and shown in (old, old + added):
            return shown != old
        new, before = added[-TAIL:], old[-TAIL:]  # Slack may have rewritten the markup above
        if new and shown.endswith(new) and not before.endswith(new):
            return True
        return False if new and before and shown.endswith(before) else None

    def _let_go(self) -> None:
        if self._live:
            self._live = False
            self.page.desk.live -= 1


async def _start(desk: Desk, spec: ReplySpec, items: Sequence[Item]) -> str:
    """Start a stream and return its ts; in a DM that refuses a recipient, without one."""
    args: Args = {"channel": spec.thread.channel, "thread_ts": spec.thread.root, "chunks": chunks(items)}
    recipient = {"recipient_team_id": spec.thread.team, "recipient_user_id": spec.recipient}
    root, patience = spec.thread.root, desk.pace.start_patience_s
    if not (spec.direct and desk.surfaces.bare_direct):
        try:
            answer = await desk.client.call("chat.startStream", args | recipient, thread=root, patience=patience)
            return desk.sent.record(str(answer["ts"]))
        except ChatError as error:
            if error.code != "invalid_arguments" or not spec.direct:
                raise
    answer = await desk.client.call("chat.startStream", args, thread=root, patience=patience)
    desk.surfaces.bare_direct = True
    return desk.sent.record(str(answer["ts"]))

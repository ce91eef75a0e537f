"""The live reply of one turn: content is added as the model produces it, and sent as fast as Slack allows."""

import asyncio
import logging
from collections.abc import Coroutine

from bot.ports import PartRecorder, ReplySpec, SessionStatus, TaskStatus
from bot.slack.rate_limited_client import with_retries
from bot.slack.reply.reply_content import PendingContent, TaskCard
from bot.slack.reply.reply_message_rotation import ReplyWriter
from bot.slack.reply.reply_services import ReplyContext
from bot.slack.slack_errors import STOPPED, is_transient
from tools.tool_context import ChatError

log = logging.getLogger("bot.slack")


class LiveReply:
    """Implements `bot.ports.Reply`. One task sends; it ends before the reply is closed."""

    def __init__(self, context: ReplyContext, spec: ReplySpec, recorder: PartRecorder) -> None:
        self._context = context
        self._spec = spec
        self._pending = PendingContent()
        self._writer = ReplyWriter(context, spec, recorder, self._pending)
        self._added = asyncio.Event()
        self._closing = asyncio.Event()
        self._sender: asyncio.Task[None] | None = None

    def text(self, delta: str) -> None:
        self._pending.add(delta)
        self._wake_sender()

    def restart(self) -> None:
        self._pending.restart()
        self._wake_sender()

    def task(self, key: str, title: str, status: TaskStatus, output: str | None = None) -> None:
        self._pending.set_card(TaskCard(key, title, status, output))
        self._wake_sender()

    def end_step(self) -> None:
        self._pending.end_step()
        self._wake_sender()

    @property
    def shown(self) -> str:
        return self._pending.step_text

    async def finish(self, text: str, status: SessionStatus = "active") -> None:
        await self._stop_sender()
        self._pending.complete(text)
        await self._end(status, self._deliver(status, self._context.timing.backoff))

    async def ignore_stop(self, status: SessionStatus = "active") -> None:
        self._writer.ignore_stop()
        await self._end(status, self._deliver(status, self._context.timing.backoff))

    async def interrupt(self, note: str, status: SessionStatus = "active") -> None:
        await self._stop_sender()
        await self._end(status, self._end_early(status, note))

    async def pause(self, status: SessionStatus = "suspended") -> None:
        await self._stop_sender()
        self._pending.complete(self._pending.step_text)
        await self._end(status, self._end_early(status, None))

    async def close(self) -> None:
        await self._stop_sender()
        try:
            await self._writer.stop()
        except ChatError as error:
            log.info("stream not closed", extra={"reason": error.code})
        except Exception:
            log.exception("stream not closed")

    async def _end(self, status: SessionStatus, closing: Coroutine[None, None, None]) -> None:
        """Close the reply. The session shows `status` afterwards, also if that fails."""
        try:
            await closing
        except Exception:
            await self._context.statuses.set(self._spec.thread, status)
            raise
        await self._context.statuses.set(self._spec.thread, status)

    async def _end_early(self, status: SessionStatus, note: str | None) -> None:
        """Deliver the end, also to a message that a person stopped. Raise ChatError."""
        self._writer.end_early(note)
        try:
            await self._deliver(status, self._context.timing.backoff[:2])
        except ChatError as error:
            if error.code != STOPPED:
                raise
            await self._writer.deliver_after_stop(status, note)

    async def _deliver(self, status: SessionStatus, waits: tuple[float, ...]) -> None:
        """Deliver what is pending; try again after transient errors. Raise ChatError."""
        await with_retries(
            lambda: self._writer.deliver(status),
            waits,
            retry_if=lambda error: error.code != STOPPED and is_transient(error),
        )

    def _wake_sender(self) -> None:
        self._added.set()
        if self._sender is None and not self._closing.is_set():
            self._sender = asyncio.create_task(self._send(), name="reply sender")

    async def _stop_sender(self) -> None:
        """Let the sender finish its current call, and wait for its end. A cancelled caller does not cancel the call."""
        self._closing.set()
        self._added.set()
        if self._sender is not None:
            await asyncio.wait([self._sender])

    async def _send(self) -> None:
        failures = 0
        while not self._closing.is_set():
            await _wait(self._added, self._writer.seconds_left())
            self._added.clear()
            if self._closing.is_set():
                return
            try:
                called = await self._writer.flush()
                failures = 0
            except ChatError as error:
                if not is_transient(error):  # `finish` tries again, and raises the error if it persists
                    where = self._spec.thread.channel
                    log.warning("reply delivery stopped", extra={"channel": where, "reason": error.code})
                    return
                failures += 1
                self._added.set()
                called = True
            except Exception:
                log.exception("reply delivery stopped")
                return
            if called:
                await _wait(self._closing, self._writer.interval * min(2**failures, 16))


async def _wait(event: asyncio.Event, seconds: float | None) -> None:
    """Return when the event is set or the time is over."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass

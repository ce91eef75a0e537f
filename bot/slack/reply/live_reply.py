"""The voice of one turn: what is fed appears in Slack at Slack's pace, whole at the end."""

import asyncio
import logging
from collections.abc import Coroutine

from bot.ports import PartKeeper, ReplySpec, SessionStatus, TaskStatus
from bot.slack.reply.desk import Desk
from bot.slack.reply.outbox import Script, Task
from bot.slack.reply.reply_writer import Pages
from bot.slack.slack_errors import STOPPED, passing
from tools.context import ChatError

log = logging.getLogger("bot.slack")


class LiveReply:
    """The live answer of one turn (see `bot.ports.Reply`). One task sends; it ends before the answer is closed."""

    def __init__(self, desk: Desk, spec: ReplySpec, keeper: PartKeeper) -> None:
        self._desk = desk
        self._spec = spec
        self._script = Script()
        self._pages = Pages(desk, spec, keeper, self._script)
        self._wake = asyncio.Event()
        self._halt = asyncio.Event()
        self._sender: asyncio.Task[None] | None = None

    # --- feeding

    def text(self, delta: str) -> None:
        self._script.add(delta)
        self._stir()

    def restart(self) -> None:
        self._script.restart()
        self._stir()

    def task(self, key: str, title: str, status: TaskStatus, output: str | None = None) -> None:
        self._script.task(Task(key, title, status, output))
        self._stir()

    def end_step(self) -> None:
        self._script.end_step()
        self._stir()

    @property
    def shown(self) -> str:
        return self._script.step

    # --- closing

    async def finish(self, whole: str, status: SessionStatus = "active") -> None:
        await self._still()
        self._script.complete(whole)
        await self._end(status, self._persist(status, self._desk.pace.backoff))

    async def interrupt(self, word: str, status: SessionStatus = "active") -> None:
        await self._still()
        await self._end(status, self._wind_up(status, word))

    async def pause(self, status: SessionStatus = "suspended") -> None:
        await self._still()
        self._script.complete(self._script.step)
        await self._end(status, self._wind_up(status, None))

    async def close(self) -> None:
        await self._still()
        try:
            await self._pages.let_go()
        except ChatError as error:
            log.info("a stream was not closed: %s", error.code)
        except Exception:
            log.exception("a stream was not closed")

    async def _end(self, status: SessionStatus, closing: Coroutine[None, None, None]) -> None:
        """Close the answer; however that goes, the thread shows `status` afterwards."""
        try:
            await closing
        except Exception:
            await self._desk.board.set(self._spec.thread, status)
            raise
        await self._desk.board.set(self._spec.thread, status)

    async def _wind_up(self, status: SessionStatus, word: str | None) -> None:
        """Deliver the end, onto a message that a person stopped as well. Raises ChatError."""
        self._pages.wind_up(word)
        try:
            await self._persist(status, self._desk.pace.backoff[:2])
        except ChatError as error:
            if error.code != STOPPED:
                raise
            await self._pages.amend(status, word)

    async def _persist(self, status: SessionStatus, waits: tuple[float, ...]) -> None:
        """Deliver what is left, with patience for what passes. Raises ChatError."""
        for wait in waits:
            try:
                await self._pages.deliver(status)
                return
            except ChatError as error:
                if error.code == STOPPED or not passing(error):
                    raise
                log.info("the end of an answer waits %s s: %s", wait, error.code)
            await asyncio.sleep(wait)
        await self._pages.deliver(status)

    # --- the sender

    def _stir(self) -> None:
        self._wake.set()
        if self._sender is None and not self._halt.is_set():
            self._sender = asyncio.create_task(self._send(), name="reply sender")

    async def _still(self) -> None:
        """Let the sender finish the call it is in, and end. A cancelled caller does not tear that call."""
        self._halt.set()
        self._wake.set()
        if self._sender is not None:
            await asyncio.wait([self._sender])

    async def _send(self) -> None:
        failures = 0
        while not self._halt.is_set():
            await self._woken()
            if self._halt.is_set():
                return
            try:
                sent = await self._pages.flush()
                failures = 0
            except ChatError as error:
                if not passing(error):
                    log.warning("an answer in %s stands still: %s", self._spec.thread.channel, error.code)
                    return
                failures += 1
                self._wake.set()
                sent = True
            except Exception:
                log.exception("an answer stands still")
                return
            if sent:
                await self._pause_for(self._pages.interval * min(2**failures, 16))

    async def _woken(self) -> None:
        """Wait for something to send, or for the time at which the open message must be left."""
        try:
            async with asyncio.timeout(self._pages.seconds_left()):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()

    async def _pause_for(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._halt.wait()
        except TimeoutError:
            pass

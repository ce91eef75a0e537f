"""One session at work: takes its events one at a time, each through one transaction, and carries out what that decided.

An actor lives while there is something to do and keeps nothing that the store does not have: it may end, or the
process may, between any two lines.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Protocol

from bot import logs
from bot.session import effects as do
from bot.session.asking import ask
from bot.session.calling import run_tool
from bot.session.cards import show_cards
from bot.session.deps import Deps
from bot.session.events import Event, ModelFailed, Replied, Resumed, Stopped
from bot.session.learning import learn
from bot.session.owed import deliver_notices, read_owed, reconcile, tell
from bot.session.step import Advanced, advance
from bot.session.transition import at_rest
from bot.session.voice import Voice
from storage.db import StorageError
from storage.records import Session

log = logging.getLogger(__name__)
RETRY_SECONDS = (0.2, 1.0, 5.0, 15.0)


class _Check:
    """A job ended: see whether anything is left to do."""


_CHECK = _Check()


class House(Protocol):
    """Who keeps the actors."""

    def wake(self, session: str) -> None: ...
    def ended(self, actor: "Actor") -> None: ...


class Actor:
    """Owns the tasks of one session; the house is told once, when nothing is left to do."""

    def __init__(self, deps: Deps, session: str, house: "House", *, resumed: bool = False) -> None:
        self.deps = deps
        self.id = session
        self._house = house
        self._events: asyncio.Queue[Event | _Check | None] = asyncio.Queue()
        self._jobs: set[asyncio.Task[None]] = set()
        self._last: dict[str, asyncio.Task[None]] = {}
        self._cancels: dict[str, asyncio.Event] = {}
        self._voice = Voice(deps)
        self._tried: frozenset[str] = frozenset()
        self._timer: asyncio.TimerHandle | None = None
        self._session: Session | None = None
        self.closing = False
        self.task = asyncio.create_task(self._run(resumed=resumed), name=f"session {session[:8]}")

    # --- events in

    def wake(self) -> None:
        """Something arrived in the inbox."""
        self._events.put_nowait(None)

    def feed(self, event: Event) -> None:
        """Something happened in this process."""
        self._events.put_nowait(event)

    def begin(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a job of this session; the actor ends only after it."""
        task = asyncio.create_task(work, name=f"{name} {self.id[:8]}")
        self._jobs.add(task)
        self._last[name] = task
        task.add_done_callback(lambda t: self._job_ended(name, t))
        return task

    def _job_ended(self, name: str, task: asyncio.Task[None]) -> None:
        self._jobs.discard(task)
        if self._last.get(name) is task:
            del self._last[name]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a job of a session failed", exc_info=error, extra={"session": self.id, "job": name})
        self._events.put_nowait(_CHECK)

    def _once(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Begin a job after the one of the same name that is running."""
        before = self._last.get(name)

        async def chained() -> None:
            if before is not None:
                await asyncio.wait([before])
            await work()

        self.begin(name, chained())

    # --- the loop

    async def _run(self, *, resumed: bool) -> None:
        logs.about(session=self.id)
        try:
            if resumed:
                await self._resume()
            while True:
                event = await self._events.get()
                if not isinstance(event, _Check):
                    advanced = await self._advance(event)
                    if advanced is None:
                        break
                    await self._act(advanced)
                if self._idle():
                    break
        except Exception:
            log.exception("a session's loop failed; recovery takes it up again", extra={"session": self.id})
        finally:
            self._set_timer(None)
            self._house.ended(self)

    def _idle(self) -> bool:
        resting = self._session is None or at_rest(self._session) or self.closing
        return self._events.empty() and not self._jobs and resting

    async def _advance(self, event: Event | None) -> Advanced | None:
        """Commit one step. A store that fails is tried again: losing the event would lose the work behind it."""
        for delay in (*RETRY_SECONDS, None):
            try:
                return await self.deps.db.write(
                    advance,
                    self.deps.world,
                    self._session or self.id,
                    event,
                    tried=self._tried,
                    partial=self._voice.shown,
                    opening=not self.closing,
                )
            except StorageError as error:
                log.error("a step could not be stored", extra={"session": self.id, "reason": str(error)})
                if delay is None or self.closing:
                    return None
                await asyncio.sleep(delay)
        return None

    async def _act(self, advanced: Advanced) -> None:
        self._session = advanced.session
        self._carry_out_all(advanced)
        if advanced.successor is not None:
            self._house.wake(advanced.successor)
        if advanced.cards:
            self._once("cards", lambda: show_cards(self.deps, self.id))
        if advanced.notices:
            self._once("notices", lambda: deliver_notices(self.deps, self.id))
        if advanced.needs.urgent and at_rest(advanced.session) and not self.closing:
            await self._learn(advanced)

    async def _learn(self, advanced: Advanced) -> None:
        tried, refused = await learn(self.deps, advanced.session, advanced.needs)
        self._session = None  # kind and sharing of the place may be known now
        self._tried |= tried
        for user in refused:
            self.begin("tell", tell(self.deps, advanced.session.thread, user, "access.refused"))
        self.wake()

    def _carry_out_all(self, advanced: Advanced) -> None:
        for outcome, seconds in advanced.ended:
            self.deps.watch.turn_ended(outcome, seconds)
        key = advanced.answer_key
        for act in advanced.acts:
            if key is not None and isinstance(act, do.AskModel | do.RunTool):
                # Only now: what comes before ends the answer of the turn before.
                self._voice.begin(key)
                key = None
            self._carry_out(act)
        if at_rest(advanced.session):
            self._set_timer(None)
        elif advanced.answer_key is not None:
            self._arm(advanced.session, advanced.worked)
        if advanced.cards:
            self._once("cards", lambda: show_cards(self.deps, self.id))

    def _carry_out(self, act: do.Act) -> None:
        session = self._known()
        match act:
            case do.AskModel():
                self.begin("model", self._ask(act))
            case do.RunTool():
                cancel = self._cancels[act.call] = asyncio.Event()
                self.begin("tool", self._run_tool(act, cancel))
            case do.CancelModel():
                if (task := self._last.get("model")) is not None:
                    task.cancel()
            case do.CancelTool():
                if (cancel_event := self._cancels.get(act.call)) is not None:
                    cancel_event.set()
            case do.Finish():
                self._end(self._voice.finish(session, self._voice.detach(), act.text))
            case do.Interrupt():
                self._end(self._voice.interrupt(session, self._voice.detach(), act.reason, act.by))
            case do.Pause():
                self._end(self._voice.pause(session, self._voice.detach()))

    def _end(self, ending: Coroutine[Any, Any, None]) -> None:
        self._voice.follow(self.begin("answer", ending))

    def _known(self) -> Session:
        if self._session is None:
            raise RuntimeError("an act before the first step")
        return self._session

    async def _ask(self, act: do.AskModel) -> None:
        logs.about(turn=act.turn)
        if act.number == 1:
            await self.deps.ready()
        reply = await self._voice.reply(self._known())
        try:
            event: Event = await ask(self.deps, self.id, act, reply)
        except StorageError as error:
            log.error("a request could not be made", extra={"session": self.id, "reason": str(error)})
            event = ModelFailed(act.turn, act.step, "storage", reply.shown)
        if isinstance(event, Replied) and event.calls:
            reply.end_step()
        self.feed(event)

    async def _run_tool(self, act: do.RunTool, cancel: asyncio.Event) -> None:
        logs.about(call=act.call)
        event = await run_tool(self.deps, act, cancel, partial(self._voice.show_call, act.call))
        self._cancels.pop(act.call, None)
        self.feed(event)

    # --- time

    def _arm(self, session: Session, worked: float) -> None:
        turn = session.turn
        left = max(0.0, self.deps.settings.turn_timeout_s - worked)

        def over() -> None:
            self.deps.watch.timed_out()
            self.feed(Stopped(turn, "", "timed_out", self._voice.shown))

        self._set_timer(asyncio.get_running_loop().call_later(left, over))

    def _set_timer(self, timer: asyncio.TimerHandle | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer

    # --- beginning and end

    async def _resume(self) -> None:
        """Take over what an earlier process owed."""
        owed = await self.deps.db.read(read_owed, self.id, self.deps.world.rules.team)
        if owed:
            self._voice.follow(self.begin("owed", reconcile(self.deps, self.id, owed)))
        self._once("cards", lambda: show_cards(self.deps, self.id, resumed=True))
        self.feed(Resumed())

    async def stop(self, patience: Awaitable[Any]) -> None:
        """Bring the running step to a commit while `patience` lasts, then let go of everything."""
        self.closing = True
        self.wake()
        waiting = asyncio.ensure_future(patience)
        await asyncio.wait([self.task, waiting], return_when=asyncio.FIRST_COMPLETED)
        jobs = [self.task, *self._jobs]
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
        await self._voice.close()

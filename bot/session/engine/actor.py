"""One session at work: takes its events one at a time, each through one transaction, and carries out what that decided.

An actor lives while there is something to do and keeps nothing that the store does not have: it may end, or the
process may, between any two lines.
"""

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from dataclasses import replace
from functools import partial
from itertools import chain, repeat
from typing import Any, Literal, Protocol

from bot.ops import logs
from bot.session.engine.background_tasks import BackgroundTasks
from bot.session.engine.transaction import Advanced, advance
from bot.session.lookups.people_lookup import learn
from bot.session.machine import effects as do
from bot.session.machine.events import Event, ModelFailed, Replied, Resumed, Stopped, ToolFinished
from bot.session.machine.transition import at_rest
from bot.session.model_call.model_request import Packet, ask
from bot.session.model_call.session_fields import reflect
from bot.session.replies.crash_recovery import Takeover, deliver_notices, reconcile, tell
from bot.session.replies.turn_reply import TurnReply, status_of
from bot.session.services import Deps
from bot.session.tool_calls.approval_cards import show_cards
from bot.session.tool_calls.run_tool_call import Dispatch, broken_inside, run_tool
from storage.database import StorageError
from storage.records import Session

log = logging.getLogger(__name__)
FRESH_SECONDS = 0.1  # what waited longer is read again
LOOK_AGAIN_SECONDS = (1.0, 3.0, 10.0)  # after that the minute's recovery takes it up
RETRY_SECONDS = (0.2, 1.0, 5.0, 15.0)


class House(Protocol):
    """Who keeps the actors."""

    def wake(self, session: str) -> None: ...
    def ended(self, actor: "Actor", *, broken: bool = False) -> None: ...


class Actor:
    """Owns the tasks of one session; the house is told once, when nothing is left to do."""

    def __init__(self, deps: Deps, session: str, house: "House", takeover: Takeover | None = None) -> None:
        self.deps = deps
        self.id = session
        self._house = house
        self._events: asyncio.Queue[Event | Literal["ended"] | None] = asyncio.Queue()
        self._jobs = BackgroundTasks(session, lambda: self._events.put_nowait("ended"))
        self._cancels: dict[str, asyncio.Event] = {}
        self._voice = TurnReply(deps)
        self._cards_doubtful = False
        self._tried: frozenset[str] = frozenset()
        self._looked = 0  # how often people were looked up anew
        self._timer: asyncio.TimerHandle | None = None
        self._session: Session | None = None
        self._outdated = False  # the store knows more of the session than we
        self._status_doubtful = False  # whether Slack may show a status that no answer will end
        self.closing = False
        if takeover is not None:
            self.feed(Resumed())  # before any wake-up: what is begun from now on is in this process
        self.task = asyncio.create_task(self._run(takeover), name=f"session {session[:8]}")

    # --- events in

    def wake(self) -> None:
        """Something arrived in the inbox."""
        self._events.put_nowait(None)

    def feed(self, event: Event) -> None:
        """Something happened in this process."""
        self._events.put_nowait(event)

    # --- the loop

    async def _run(self, takeover: Takeover | None) -> None:
        broken = True
        logs.add_fields(session=self.id)
        try:
            if takeover is not None:
                self._take_over(takeover)
            while True:
                event = await self._events.get()
                if not isinstance(event, str):  # a job ended: see whether anything is left to do
                    advanced = await self._advance(event)
                    if advanced is None:
                        break
                    self._act(advanced)
                if self._idle() and not self._put_status_right():
                    broken = False
                    break
        except Exception:
            log.exception("a session's loop failed; recovery takes it up again", extra={"session": self.id})
        finally:
            self._set_timer(None)
            await self._jobs.cancel()  # there are some only if the loop failed: who comes next must not meet them
            self._house.ended(self, broken=broken)

    def _put_status_right(self) -> bool:
        """See that a message which opened no turn after all leaves no status behind; tell whether there is work."""
        if not self._status_doubtful or self._session is None or self.closing:
            return False
        self._status_doubtful = False
        self._jobs.begin("status", self.deps.chat.set_status(self._session.thread, status_of(self._session)))
        return True

    def _idle(self) -> bool:
        resting = self._session is None or at_rest(self._session) or self.closing
        return self._events.empty() and not self._jobs and resting

    async def _advance(self, event: Event | None) -> Advanced | None:
        """Commit one step. A store that fails is tried again: losing the event would lose the work behind it."""
        session = self.id if self._session is None or self._outdated else self._session
        self._outdated = False
        for delay in chain(RETRY_SECONDS, repeat(RETRY_SECONDS[-1])):
            try:
                return await self.deps.db.write(
                    advance,
                    self.deps.world,
                    session,
                    event,
                    tried=self._tried,
                    partial=self._voice.shown,
                    opening=not self.closing,
                )
            except StorageError as error:
                log.error("a step could not be stored", extra={"session": self.id, "reason": str(error)})
                if self.closing:
                    return None
                await asyncio.sleep(delay)
        return None

    def _act(self, advanced: Advanced) -> None:
        self._session = advanced.session
        self._carry_out_all(advanced)
        if advanced.successor is not None:
            self._house.wake(advanced.successor)
        if advanced.cards:
            self._jobs.once("cards", self._show_cards)
        if advanced.notices:
            self._jobs.once("notices", lambda: deliver_notices(self.deps, self.id))
        needs = advanced.needs
        wanted = needs.urgent and (needs.now or at_rest(advanced.session))
        if wanted and not self.closing and self._jobs.last("learn") is None:
            self._jobs.begin("learn", self._learn(advanced))

    async def _learn(self, advanced: Advanced) -> None:
        tried, refused = await learn(self.deps, advanced.session, advanced.needs)
        strangers = tried.intersection(advanced.needs.people)
        if strangers and self._looked < len(LOOK_AGAIN_SECONDS):
            self._jobs.begin("look again", self._look_again(strangers, LOOK_AGAIN_SECONDS[self._looked]))
            self._looked += 1
        self._outdated = True  # kind and sharing of the place may be known now
        self._tried |= tried
        self._status_doubtful = True
        for user in refused:
            self._jobs.begin("tell", tell(self.deps, advanced.session.thread, user, "access.refused"))
        self.wake()

    async def _look_again(self, people: frozenset[str], seconds: float) -> None:
        """Ask for people once more after a while: what they wrote waits for it, and Slack may be back soon."""
        await asyncio.sleep(seconds)
        self._tried -= people
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
            self._carry_out(act, advanced)
        if at_rest(advanced.session):
            self._set_timer(None)
        elif advanced.answer_key is not None or self._timer is None:  # None: it was taken over from another process
            self._arm(advanced.session, advanced.worked)

    def _carry_out(self, act: do.Act, advanced: Advanced) -> None:
        session = self._known()
        match act:
            case do.AskModel():
                self._jobs.begin("model", self._ask(act, advanced.packet))
            case do.RunTool():
                cancel = self._cancels[act.call] = asyncio.Event()
                self._jobs.begin("tool", self._run_tool(act, advanced.dispatches[act.call], cancel))
            case do.CancelModel():
                if (task := self._jobs.last("model")) is not None:
                    task.cancel()
            case do.CancelTool():
                if (cancel_event := self._cancels.get(act.call)) is not None:
                    cancel_event.set()
            case do.Finish():
                self._finish(session, act)
            case do.Interrupt():
                stopped = replace(session, turn=act.turn)  # the same transaction may have opened the next one
                self._end(self._voice.interrupt(stopped, self._voice.detach(), act.reason, act.by))
            case do.Pause():
                self._end(self._voice.pause(session, self._voice.detach()))

    def _finish(self, session: Session, act: do.Finish) -> None:
        answer = self._end(self._voice.finish(session, self._voice.detach(), act.text))
        if self.deps.settings.fields:
            self._jobs.begin("reflection", self._reflect(answer, act.turn))

    def _end(self, ending: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._jobs.begin("answer", ending)
        self._voice.follow(task)
        return task

    async def _reflect(self, answer: asyncio.Task[None], turn: int) -> None:
        await asyncio.wait([answer])
        await reflect(self.deps, self.id, turn)

    def _known(self) -> Session:
        if self._session is None:
            raise RuntimeError("an act before the first step")
        return self._session

    async def _ask(self, act: do.AskModel, packet: Packet | None) -> None:
        logs.add_fields(turn=act.turn)
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            await self.deps.ready()  # in a later step as well: it may be the first of this process
            reply = await self._voice.reply(self._known())
            if clock() - began > FRESH_SECONDS:
                packet = None
            event: Event = await ask(self.deps, self.id, act, reply, packet)
            if isinstance(event, Replied) and event.calls:
                reply.end_step()
        except StorageError as error:
            log.error("a request could not be made", extra={"session": self.id, "reason": str(error)})
            event = ModelFailed(act.turn, act.step, "storage", self._voice.shown)
        except Exception:
            log.exception("a request failed inside", extra={"session": self.id})
            event = ModelFailed(act.turn, act.step, "internal", self._voice.shown)
        self.feed(event)

    async def _run_tool(self, act: do.RunTool, dispatch: Dispatch, cancel: asyncio.Event) -> None:
        logs.add_fields(call=act.call)
        await self._voice.join(self._known())
        try:
            event = await run_tool(self.deps, act, dispatch, cancel, partial(self._voice.show_call, act.call))
        except Exception as error:
            log.error("a call failed inside", exc_info=error, extra={"session": self.id, "call": act.call})
            event = ToolFinished(act.call, act.attempt, broken_inside(error))
        self._cancels.pop(act.call, None)
        self.feed(event)

    async def _show_cards(self) -> None:
        self._cards_doubtful = not await show_cards(self.deps, self.id, doubtful=self._cards_doubtful)

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

    def _take_over(self, found: Takeover) -> None:
        """Go on with what an earlier process left."""
        if found.owed:
            self._voice.follow(self._jobs.begin("owed", reconcile(self.deps, found)))
        self._cards_doubtful = True
        if found.cards:
            self._jobs.once("cards", self._show_cards)

    async def stop(self, patience: Awaitable[Any]) -> None:
        """Bring the running step to a commit while `patience` lasts, then let go of everything."""
        self.closing = True
        self._jobs.drop("learn", "look again")  # what waits for them is stored: the next process asks anew
        self.wake()
        waiting = asyncio.ensure_future(patience)
        await asyncio.wait([self.task, waiting], return_when=asyncio.FIRST_COMPLETED)
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self._jobs.cancel()
        await self._voice.close()

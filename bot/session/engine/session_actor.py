"""One session at work: it takes one event at a time, commits what it decides, and then carries it out.

An actor exists only while its session has work. It keeps no state of its own: everything is in the database, so the
process may be killed at any line.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from itertools import chain, repeat
from typing import Any, Literal

from bot.ops import json_logging
from bot.session.engine.apply_effects import Advanced
from bot.session.engine.background_tasks import BackgroundTasks
from bot.session.engine.crash_recovery import Takeover, finish_deliveries
from bot.session.engine.session_transaction import advance
from bot.session.engine_services import Services
from bot.session.machine import effects
from bot.session.machine.events import Event, ModelFailed, Replied, Resumed, Stopped, ToolFinished
from bot.session.machine.transition import at_rest
from bot.session.model_call.model_request import RequestData, request_reply
from bot.session.model_call.session_fields import update_fields
from bot.session.replies.notices import deliver_notices, send_ephemeral
from bot.session.replies.turn_reply import TurnReply, status_of
from bot.session.tool_calls.approval_card_delivery import show_cards
from bot.session.tool_calls.run_tool_call import PreparedCall, internal_failure, run_tool_call
from storage.database import StorageError
from storage.records import PRIVATE_TOOLS, Session

log = logging.getLogger(__name__)
FRESH_SECONDS = 0.1  # data of a request that is older is read again
LOOKUP_RETRY_SECONDS = (1.0, 3.0, 10.0)  # after these the recovery job tries again, every minute
COMMIT_RETRY_SECONDS = (0.2, 1.0, 5.0, 15.0)


class Actor:
    """Runs one session and its background tasks."""

    def __init__(self, services: Services, session: str, takeover: Takeover | None) -> None:
        self.id = session
        self.failed = False
        self._services = services
        self._takeover = takeover
        self._events: asyncio.Queue[Event | Literal["task ended"] | None] = asyncio.Queue()
        self._tasks = BackgroundTasks(session, lambda: self._events.put_nowait("task ended"))
        self._reply = TurnReply(services, self._deliver_notices)
        self._cancels: dict[str, asyncio.Event] = {}
        self._session: Session | None = None
        self._session_changed = False  # by somebody else: it must be read again
        self._failed_lookups: frozenset[str] = frozenset()
        self._lookup_retries = 0
        self._check_cards = takeover is not None  # Slack may show a card that is not recorded
        # Slack may show a status that no reply will end
        self._check_status = takeover is not None and not at_rest(takeover.session)
        self._timeout: asyncio.TimerHandle | None = None
        self._closing = False

    async def _run(self) -> None:
        """Process one event at a time until no work is left."""
        self._continue_after_crash()  # crash_recovery: the deliveries that the last process left
        async for event in self._incoming():  # from the inbox, the model, a tool, a timer
            advanced = await self._commit(event)  # session_transaction: decide and record in one commit
            self._session = advanced.session
            self._run_actions(advanced)  # model_request, run_tool_call, turn_reply
            self._notify(advanced)  # approval_card_delivery, notices
            self._look_up(advanced)  # people_lookup: the profiles that the next turn needs

    # --- start, events, end

    def start(self, wake_session: Callable[[str], None], on_end: Callable[["Actor"], None]) -> None:
        """Start the actor's task. `wake_session` wakes the session that `!new` opens; `on_end` is called once."""
        self._wake_session = wake_session
        if self._takeover is not None:
            self.feed(Resumed())  # before anything starts here: it ends what the last process started
        self._task = asyncio.create_task(self._run_to_end(on_end), name=f"session {self.id[:8]}")

    def wake(self) -> None:
        """Read the inbox."""
        self._events.put_nowait(None)

    def feed(self, event: Event) -> None:
        """Take an event of this process."""
        self._events.put_nowait(event)

    async def stop(self, grace: Awaitable[Any]) -> None:
        """Let the running step commit until `grace` ends, then cancel everything."""
        self._closing = True
        self._tasks.cancel("lookup", "lookup retry")  # the messages that need them are stored: the next process retries
        self.wake()
        waiting = asyncio.ensure_future(grace)
        await asyncio.wait([self._task, waiting], return_when=asyncio.FIRST_COMPLETED)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._tasks.cancel_all()
        await self._reply.close()

    async def _run_to_end(self, on_end: Callable[["Actor"], None]) -> None:
        self.failed = True
        json_logging.add_fields(session=self.id)
        try:
            await self._run()
            self.failed = False
        except StorageError:
            pass  # at shutdown; it is logged
        except Exception:
            log.exception("session failed; recovery will take it over", extra={"session": self.id})
        finally:
            self._set_timeout(None)
            await self._tasks.cancel_all()  # tasks run here only after a failure; the next actor starts its own
            on_end(self)

    async def _incoming(self) -> AsyncIterator[Event | None]:
        """Yield events, None for a new row in the inbox, until no work is left."""
        while True:
            event = await self._events.get()
            if not isinstance(event, str):
                yield event
            if self._is_idle() and not self._correct_status():
                return

    def _is_idle(self) -> bool:
        resting = self._session is None or at_rest(self._session) or self._closing
        return self._events.empty() and not self._tasks and resting

    def _correct_status(self) -> bool:
        """Reset the status of a message that opened no turn; return True if there was one."""
        if not self._check_status or self._session is None or self._closing:
            return False
        self._check_status = False
        self._tasks.start("status", self._services.chat.set_status(self._session.thread, status_of(self._session)))
        return True

    def _continue_after_crash(self) -> None:
        if self._takeover is not None and self._takeover.pending:
            recovery = finish_deliveries(self._services, self._takeover, self._deliver_notices)
            self._reply.wait_for(self._tasks.start("recovery", recovery))
        if self._takeover is not None and self._takeover.cards:
            self._tasks.start_after_last("cards", self._show_cards)

    async def _commit(self, event: Event | None) -> Advanced:
        """Run one transaction. A failing database is tried again: without the commit the event would be lost.

        Raise StorageError at shutdown.
        """
        session = self.id if self._session is None or self._session_changed else self._session
        self._session_changed = False
        delays = chain(COMMIT_RETRY_SECONDS, repeat(COMMIT_RETRY_SECONDS[-1]))
        while True:
            try:
                return await self._services.db.write(
                    advance,
                    self._services.rules,
                    session,
                    event,
                    failed_lookups=self._failed_lookups,
                    partial=self._reply.shown,
                    opening=not self._closing,
                )
            except StorageError as error:
                log.error("session commit failed", extra={"session": self.id, "reason": str(error)})
                if self._closing:
                    raise
                await asyncio.sleep(next(delays))

    def _run_actions(self, advanced: Advanced) -> None:
        for outcome, seconds in advanced.ended:
            self._services.metrics.turn_ended(outcome, seconds)
        key = advanced.reply_key
        for action in advanced.actions:
            if key is not None and isinstance(action, effects.AskModel | effects.RunTool):
                # Not earlier: the actions before this one end the reply of the last turn.
                self._reply.start(key)
                key = None
            self._run_action(action, advanced)
        if at_rest(advanced.session):
            self._set_timeout(None)
        elif advanced.reply_key is not None or self._timeout is None:  # None: taken over from another process
            self._start_timeout(advanced.session.turn, advanced.worked)

    def _run_action(self, action: effects.Action, advanced: Advanced) -> None:
        session = advanced.session
        match action:
            case effects.AskModel():
                self._tasks.start("model", self._ask_model(session, action, advanced.request))
            case effects.RunTool():
                cancel = self._cancels[action.call] = asyncio.Event()
                self._tasks.start("tool", self._run_tool(session, action, advanced.calls[action.call], cancel))
            case effects.CancelModel():
                self._tasks.cancel("model")
            case effects.CancelTool():
                if (running := self._cancels.get(action.call)) is not None:
                    running.set()
            case effects.Finish():
                answered = replace(session, turn=action.turn)  # this commit may have opened the next turn
                delivery = self._end_reply(self._reply.finish(answered, self._reply.detach(), action.text))
                if self._services.settings.fields:
                    self._tasks.start("fields", self._update_fields(delivery, action.turn))
            case effects.Interrupt():
                stopped = replace(session, turn=action.turn)
                self._end_reply(self._reply.interrupt(stopped, self._reply.detach(), action.reason, action.by))
            case effects.Pause():
                self._end_reply(self._reply.pause(session, self._reply.detach()))

    def _end_reply(self, ending: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._tasks.start("reply", ending)
        self._reply.wait_for(task)
        return task

    async def _update_fields(self, delivery: asyncio.Task[None], turn: int) -> None:
        await asyncio.wait([delivery])
        await update_fields(self._services, self.id, turn)

    async def _ask_model(self, session: Session, action: effects.AskModel, data: RequestData | None) -> None:
        json_logging.add_fields(turn=action.turn)
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            # Also in a later step: it may be the first one of this process, or long after the last one.
            await self._services.ready()
            await self._services.lookup.refresh_place(session.thread.channel)
            reply = await self._reply.live(session)
            if clock() - started > FRESH_SECONDS:
                data = None
            event: Event = await request_reply(self._services, self.id, action, reply, data)
            if isinstance(event, Replied) and event.calls:
                reply.end_step()
        except StorageError as error:
            log.error("model request not recorded", extra={"session": self.id, "reason": str(error)})
            event = ModelFailed(action.turn, action.step, "storage", self._reply.shown)
        except Exception:
            log.exception("unexpected error in model request", extra={"session": self.id})
            event = ModelFailed(action.turn, action.step, "internal", self._reply.shown)
        self.feed(event)

    async def _run_tool(
        self, session: Session, action: effects.RunTool, prepared: PreparedCall, cancel: asyncio.Event
    ) -> None:
        json_logging.add_fields(call=action.call)
        try:
            await self._reply.open_for_tool(session)
            show = partial(self._reply.show_call, action.call)
            event = await run_tool_call(self._services, action, prepared, cancel, show)
        except Exception as error:
            log.error("unexpected error in tool call", exc_info=error, extra={"session": self.id, "call": action.call})
            event = ToolFinished(action.call, action.attempt, internal_failure(prepared.call, error))
        self._cancels.pop(action.call, None)
        if prepared.call.name in PRIVATE_TOOLS:  # it may have a message for its requester
            self._deliver_notices()
        self.feed(event)

    def _notify(self, advanced: Advanced) -> None:
        if advanced.successor is not None:
            self._wake_session(advanced.successor)
        if advanced.cards_changed:
            self._tasks.start_after_last("cards", self._show_cards)
        if advanced.notices:
            self._deliver_notices()

    def _deliver_notices(self) -> None:
        self._tasks.start_after_last("notices", lambda: deliver_notices(self._services, self.id))

    async def _show_cards(self) -> None:
        self._check_cards = not await show_cards(self._services, self.id, check_thread=self._check_cards)

    def _look_up(self, advanced: Advanced) -> None:
        pending = advanced.lookups
        needed = pending and (pending.for_command or at_rest(advanced.session))
        if needed and not self._closing and not self._tasks.is_running("lookup"):
            self._tasks.start("lookup", self._run_lookups(advanced))

    async def _run_lookups(self, advanced: Advanced) -> None:
        failed, refused = await self._services.lookup.look_up(advanced.session, advanced.lookups)
        missing = failed.intersection(advanced.lookups.people)
        if missing and self._lookup_retries < len(LOOKUP_RETRY_SECONDS):
            self._tasks.start("lookup retry", self._retry_lookups(missing, LOOKUP_RETRY_SECONDS[self._lookup_retries]))
            self._lookup_retries += 1
        self._session_changed = True  # the place's kind and sharing may have been stored
        self._failed_lookups |= failed
        self._check_status = True
        for user in refused:
            message = send_ephemeral(self._services, advanced.session.thread, user, "access.refused")
            self._tasks.start("refusal", message)
        self.wake()

    async def _retry_lookups(self, people: frozenset[str], seconds: float) -> None:
        """Look people up again after a while, because their messages wait for it."""
        await asyncio.sleep(seconds)
        self._failed_lookups -= people
        self.wake()

    def _start_timeout(self, turn: int, worked: float) -> None:
        def expire() -> None:
            self._services.metrics.timed_out()
            self.feed(Stopped(turn, "", "timed_out", self._reply.shown))

        left = max(0.0, self._services.settings.turn_timeout_s - worked)
        self._set_timeout(asyncio.get_running_loop().call_later(left, expire))

    def _set_timeout(self, timeout: asyncio.TimerHandle | None) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
        self._timeout = timeout

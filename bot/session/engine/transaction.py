"""One transaction of the session engine: read, decide, apply, and take the inbox or go to rest, all or nothing."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from bot.session.engine.apply_effects import Applied, apply_effect, store_entries
from bot.session.hermes_commands import ThreadAnswer
from bot.session.lookups.people_lookup import PendingLookups
from bot.session.machine.effects import Action, Append, AskModel, Effect, RunTool
from bot.session.machine.events import (
    Decided,
    Event,
    WaitingOutcome,
    InboxTaken,
    Item,
    Resumed,
    WaitingMessage,
    Stopped,
)
from bot.session.machine.transition import at_rest, transition
from bot.session.model_call.model_request import RequestData, read_rest_of_request
from bot.session.services import EngineRules
from bot.session.tool_calls.run_tool_call import PreparedCall, prepare_call
from bot.texts import say
from storage import approvals, deliveries, inbox, sessions, transcripts, turns
from storage.database import Tx
from storage.records import CallState, Delivery, DeliveryState, InboxRow, Person, Session
from tools.slack_markup import mentioned_users, readable


@dataclass(frozen=True, slots=True)
class Advanced:
    """What one transaction committed, and what is to be done now."""

    session: Session
    actions: tuple[Action, ...]
    cards_changed: bool
    reply_key: str | None  # of the reply that the active turn writes into from now on
    lookups: PendingLookups
    worked: float  # seconds that the turn was at work before
    successor: str | None  # the session that `!new` opened
    notices: bool  # messages other than replies are pending
    ended: tuple[tuple[str, float], ...]  # outcome and seconds at work of turns that ended
    request: RequestData | None  # of the next model request, if it may be read this early
    calls: Mapping[str, PreparedCall]  # the calls to run, by id


def advance(
    tx: Tx,
    rules: EngineRules,
    session: str | Session,
    event: Event | None = None,
    *,
    failed_lookups: frozenset[str] = frozenset(),
    partial: str = "",
    opening: bool = True,
) -> Advanced:
    """Apply `event`, then stops, verdicts and commands, then the messages if the session rests or a step is complete.

    `session` may be the state that the last `advance` returned: only one actor changes it. `partial` is the text of the
    current step that people see. Without `opening` (shutdown) no turn opens and no model is asked.
    """
    work = _Transaction(tx, rules, sessions.load(tx, session) if isinstance(session, str) else session)
    if isinstance(event, Resumed):
        deliveries.mark_interrupted(tx, work.session.id)
    if event is not None:
        work.apply(event)
    waiting = read_waiting(tx, rules, work.session, failed_lookups)
    successor = _take_immediate(work, waiting.immediate, partial)
    work.done.cards_changed |= event is None and _cards_are_stale(work)
    if waiting.immediate:  # a verdict may have added an outcome
        waiting = read_waiting(tx, rules, work.session, failed_lookups)
    if successor is None and opening and not (at_rest(work.session) and waiting.lookups):
        work.apply(InboxTaken(waiting.items))
    work.store()
    return work.result(waiting.lookups, successor)


class _Transaction:
    """The session inside one `advance`, and what its effects leave to do."""

    def __init__(self, tx: Tx, rules: EngineRules, session: Session) -> None:
        self.tx, self.rules = tx, rules
        self.session = self.before = session
        self.done = Applied()
        self.notices = False

    def apply(self, event: Event) -> None:
        """Let the machine decide on an event, and carry out its effects on the database."""
        self.done.asked_in |= {c.id: (c.turn, c.step) for c in self.session.calls}
        self.session, effects = transition(self.session, event)
        for effect in _entries_first(effects):
            apply_effect(self.tx, self.rules, self.session, effect, self.done)

    def add_notice(self, row: InboxRow, answer: ThreadAnswer) -> None:
        """Add the answer to a command to the deliveries."""
        session, now = self.session, self.rules.workspace.now()
        kind: Literal["whisper", "notice"] = "whisper" if answer.private else "notice"
        content = {"text": answer.text, "user": row.user, "buttons": [asdict(b) for b in answer.buttons]}
        pending = DeliveryState.PENDING
        delivery = Delivery(0, session.id, session.turn, kind, session.thread, 0, content, pending, None, 0, now)
        deliveries.add(self.tx, delivery, f"{session.id[:13]}-{kind}-{row.id}")
        self.notices = True

    def store(self) -> None:
        """Write the collected entries, and the session if it changed."""
        store_entries(self.tx, self.rules, self.session, self.done)
        if self.session != self.before:
            sessions.save(self.tx, self.session, self.rules.workspace.now())

    def result(self, lookups: PendingLookups, successor: str | None) -> Advanced:
        """Return what is to be done after the commit."""
        done, session, people = self.done, self.session, self.rules.workspace.people
        runs = [action.call for action in done.actions if isinstance(action, RunTool)]
        return Advanced(
            session,
            actions=tuple(done.actions),
            cards_changed=done.cards_changed,
            reply_key=done.reply_key,
            lookups=lookups,
            worked=done.worked,
            successor=successor,
            notices=self.notices,
            ended=tuple(done.ended),
            request=self._request_data(),
            calls={call: prepare_call(self.tx, call, session, people) for call in runs},
        )

    def _request_data(self) -> RequestData | None:
        """Read the data of the next request. With memories it is read later: one may be forgotten in between."""
        for action in self.done.actions:
            if isinstance(action, AskModel):
                turn = self.done.opened or turns.get(self.tx, self.session.id, action.turn)
                if turn is not None and not turn.memories:
                    return read_rest_of_request(self.tx, self.session, turn, self.rules.workspace.people)
        return None


def _cards_are_stale(work: _Transaction) -> bool:
    """Return True if a vote was cast that no card shows yet."""
    asked = any(c.state in (CallState.AWAITING_APPROVAL, CallState.UNKNOWN) for c in work.session.calls)
    return asked and bool(approvals.with_outdated_card(work.tx, work.session.id, work.session.thread.team))


def _entries_first(effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """Sort entries to the front: recall searches by them when the turn opens."""
    return tuple(sorted(effects, key=lambda e: not isinstance(e, Append)))


# --- stops, verdicts and commands -----------------------------------------------------------------------------------


def _take_immediate(work: _Transaction, rows: tuple[InboxRow, ...], partial: str) -> str | None:
    """Carry out what does not wait for a turn; return the session that `!new` opened."""
    successor = None
    for row in rows:
        if successor is not None and row.kind != "verdict":
            continue  # it moved to the new session with everything else that waits
        inbox.mark(work.tx, [row.id], "taken", work.session.turn)
        if row.kind == "verdict":
            work.apply(Decided(row.data["call"], row.data["verdict"], tuple(row.data["by"])))
            work.done.cards_changed = True
        elif row.kind == "stop":
            _stop(work, row, partial)
        else:
            successor = _answer_command(work, row, partial)
    return successor


def _stop(work: _Transaction, row: InboxRow, partial: str) -> None:
    before = work.session
    reason: Literal["deleted", "stopped"] = "deleted" if row.data.get("deleted") else "stopped"
    work.apply(Stopped(_stopped_turn(work, row), row.user, reason, partial))
    if work.session == before and row.data.get("word"):
        locale = work.rules.workspace.people.locale(work.tx, before.thread.team, row.user)
        work.add_notice(row, ThreadAnswer(say("command.stop_none", locale), private=True))


def _stopped_turn(work: _Transaction, row: InboxRow) -> int:
    """Return the turn that a stop was meant for, 0 for none: a late stop never ends a later turn."""
    session = work.session
    if "turn" in row.data:
        return int(row.data["turn"])
    if streams := set(row.data.get("streams") or ()):
        sent = deliveries.of_turn(work.tx, session.id, session.turn, session.thread.team)
        if any(d.ts in streams for d in sent):
            return session.turn
    turn = turns.get(work.tx, session.id, session.turn)
    if turn is None:
        return 0
    # Slack's clock is compared with Slack's, ours with ours.
    after = row.data["at"] > float(turn.source_ts) and row.received >= turn.started
    return session.turn if after else 0


def _answer_command(work: _Transaction, row: InboxRow, partial: str) -> str | None:
    answer = work.rules.commands.in_thread(work.tx, work.session, row)
    work.add_notice(row, answer)
    if not answer.new_session:
        return None
    session, now = work.session, work.rules.workspace.now()
    work.apply(Stopped(session.turn, row.user, "stopped", partial, closing=True))
    sessions.save(work.tx, work.session, now)
    successor = sessions.open_new(work.tx, session.thread, session.kind, session.shared, now, hydrated=True)
    inbox.move(work.tx, session.id, successor.id)
    if text := row.data["rest"]:  # "!new and tell me …": the rest is the first message of the new session
        data = {"new": True}
        inbox.put_internal(
            work.tx, successor, "message", "", data, now, user=row.user, text=text, addressed=True, ts=row.ts
        )
    return successor.id


# --- the waiting inbox ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Waiting:
    """The waiting rows of a session: `immediate` are taken at once, `items` when a turn opens or a step is complete."""

    immediate: tuple[InboxRow, ...]
    items: tuple[Item, ...]
    lookups: PendingLookups


def read_waiting(tx: Tx, rules: EngineRules, session: Session, failed_lookups: frozenset[str]) -> Waiting:
    """Read the session's inbox."""
    rows = inbox.waiting(tx, session.id)
    at_once = [r for r in rows if r.kind in ("verdict", "stop", "command")]
    immediate = tuple(r for r in at_once if r.access == "granted")
    unknown_callers = {r.user for r in at_once if r.access == "unknown"} - failed_lookups
    messages = [r for r in rows if r.kind in ("message", "context")]
    people = _people_in(tx, rules, session, messages)
    lookups = _pending_lookups(tx, rules, session, messages, people, failed_lookups)
    if unknown_callers:
        lookups = replace(lookups, people=tuple(sorted({*lookups.people, *unknown_callers})), for_command=True)
    newest = transcripts.newest_source_ts(tx, session.id) if messages else None
    items: list[Item] = []
    for row in rows:
        if row.kind == "outcome":
            items.append(_outcome(tx, session, row))
        elif row.kind in ("message", "context"):
            opens = row.kind == "message" and row.addressed
            if opens and row.access != "granted":
                continue  # access is not settled yet: it keeps its place
            items.append(WaitingMessage(row.id, row.user, row.ts, _content(rules, row, people, newest), opens))
    return Waiting(immediate, tuple(items), lookups)


def _people_in(tx: Tx, rules: EngineRules, session: Session, messages: list[InboxRow]) -> dict[str, Person | None]:
    """Return the authors and mentioned people of messages, None for those who must be looked up."""
    people: dict[str, Person | None] = {}
    for row in messages:
        for user in (row.user, *mentioned_users(row.text)):
            named = user == row.user and "name" in row.data
            if user and user not in people and user != rules.workspace.bot_user and not named:
                people[user] = rules.workspace.people.person(tx, session.thread.team, user)
    return people


def _pending_lookups(
    tx: Tx,
    rules: EngineRules,
    session: Session,
    messages: list[InboxRow],
    people: dict[str, Person | None],
    failed: frozenset[str],
) -> PendingLookups:
    opening = [r for r in messages if r.kind == "message" and r.addressed]
    if not opening:
        return PendingLookups()
    unsettled = {r.user for r in opening if r.access == "unknown"}
    unknown = {user for user, person in people.items() if person is None}
    workspace, thread = rules.workspace, session.thread
    place = "place" not in failed and workspace.people.stale_place(tx, thread.team, thread.channel, workspace.now())
    history = session.last_turn == 0 and "history" not in failed and not session.hydrated
    return PendingLookups(tuple(sorted((unsettled | unknown) - failed)), place, history)


def _outcome(tx: Tx, session: Session, row: InboxRow) -> WaitingOutcome:
    turn = turns.get(tx, session.id, row.data["turn"])
    requester = turn.requester if turn else session.requester
    steps = turn.steps_used if turn else 0
    return WaitingOutcome(row.id, row.data["call"], row.data["turn"], requester, steps, row.text, row.data["quiet"])


def _content(rules: EngineRules, row: InboxRow, people: dict[str, Person | None], newest: str | None) -> dict[str, Any]:
    """Return the content of an entry: what the model reads of a message."""
    names = {user: person.name for user, person in people.items() if person is not None}
    text = readable(row.text, names, me=rules.workspace.bot_user)
    change = row.data.get("change")
    if change == "edit":
        text = f"(edited their earlier message; it now reads:) {text}"
    elif change == "delete":
        text = "(deleted an earlier message)"
    content: dict[str, Any] = {
        "text": text or "(a message without text)",
        "user": row.user,
        "name": row.data.get("name") or names.get(row.user, row.user),
        "ts": row.ts,
    }
    if newest is not None and row.kind == "message" and float(row.ts) < float(newest):
        content["late"] = True
    return content

"""One transaction of the session engine: read, decide, apply, and take the inbox or go to rest, all or nothing."""

from dataclasses import asdict, replace
from typing import Any, Literal

from bot.ports import CommandAnswer
from bot.session.engine.apply_effects import Advanced, SessionTransaction
from bot.session.engine_services import EngineRules
from bot.session.lookups.people_lookup import PendingLookups
from bot.session.machine import events
from bot.session.machine.effects import AskModel, RunTool
from bot.session.machine.transition import at_rest
from bot.session.model_call.model_request import RequestData, read_rest_of_request
from bot.session.replies.turn_reply import Kind, add_pending
from bot.session.tool_calls.run_tool_call import prepare_call
from bot.texts import say
from storage import approvals, deliveries, inbox, sessions, transcripts, turns
from storage.database import Tx
from storage.records import CallState, InboxRow, Person, Session
from tools.slack_markup import mentioned_users, with_ids, without_quotes

MAX_NAMED = 40  # people whose names a turn waits for


def advance(
    tx: Tx,
    rules: EngineRules,
    session: str | Session,
    event: events.Event | None = None,
    *,
    failed_lookups: frozenset[str] = frozenset(),
    partial: str = "",
    opening: bool = True,
) -> Advanced:
    """Apply `event`, then stops, verdicts and commands, then the messages if the session rests or a step is complete.

    `session` may be the state that the last `advance` returned: only one actor changes it. `partial` is the text of the
    current step that people see. Without `opening` (shutdown) no turn opens and no model is asked.
    """
    work = SessionTransaction(tx, rules, sessions.load(tx, session) if isinstance(session, str) else session)
    if isinstance(event, events.Resumed):
        deliveries.mark_interrupted(tx, work.session.id)
        if not at_rest(work.session):
            event = events.Resumed(turns.count_resume(tx, work.session.id, work.session.turn))
    if event is not None:
        work.apply(event)
    immediate, items, lookups = _read_waiting(work, failed_lookups)
    successor = _take_immediate(work, immediate, partial)
    work.result.cards_changed |= event is None and _cards_are_stale(work)
    if immediate:  # a verdict may have added an outcome
        _, items, lookups = _read_waiting(work, failed_lookups)
    if successor is None and opening and not (at_rest(work.session) and lookups):
        work.apply(events.InboxTaken(items))
    work.store()
    result, session = work.result, work.session
    result.session, result.lookups, result.successor = session, lookups, successor
    result.request = _request_data(work)
    runs = [action.call for action in result.actions if isinstance(action, RunTool)]
    result.calls = {call: prepare_call(tx, call, session, rules.workspace, rules.policy) for call in runs}
    return result


def _request_data(work: SessionTransaction) -> RequestData | None:
    """Read the data of the next request. With memories it is read later: one may be forgotten in between."""
    for action in work.result.actions:
        if isinstance(action, AskModel):
            turn = work.opened or turns.get(work.tx, work.session.id, action.turn)
            if turn is not None and not turn.memories:
                return read_rest_of_request(work.tx, work.session, turn, work.rules.workspace)
    return None


def _cards_are_stale(work: SessionTransaction) -> bool:
    """Return True if a vote was cast that no card shows yet."""
    asked = any(c.state in (CallState.AWAITING_APPROVAL, CallState.UNKNOWN) for c in work.session.calls)
    return asked and bool(approvals.with_outdated_card(work.tx, work.session.id, work.session.thread.team))


# --- stops, verdicts and commands -----------------------------------------------------------------------------------


def _take_immediate(work: SessionTransaction, rows: list[InboxRow], partial: str) -> str | None:
    """Apply what does not wait for a turn; return the session that `!new` opened."""
    successor = None
    for row in rows:
        if successor is not None and row.kind != "verdict":
            continue  # it was moved to the new session
        inbox.mark(work.tx, [row.id], "taken", work.session.turn)
        if row.kind == "verdict":
            if "definition" not in row.data:  # that one is about a tool, no call waits for it
                work.apply(events.Decided(row.data["call"], row.data["verdict"]))
            work.result.cards_changed = True
        elif row.kind == "stop":
            _stop(work, row, partial)
        else:
            answer, private = work.rules.commands.in_thread(work.tx, work.session, row)
            _add_notice(work, row, answer, private=private)
            successor = _open_successor(work, row, partial) if row.data["word"] == "new" else None
    return successor


def _add_notice(work: SessionTransaction, row: InboxRow, answer: CommandAnswer, *, private: bool) -> None:
    """Add the answer to a command to the deliveries."""
    session = work.session
    kind: Kind = "whisper" if private else "notice"
    content = {"text": answer.text, "user": row.user, "buttons": [asdict(b) for b in answer.buttons]}
    add_pending(work.tx, session, kind, f"{session.id[:13]}-{kind}-{row.id}", work.now, content=content)
    work.result.notices = True


def _stop(work: SessionTransaction, row: InboxRow, partial: str) -> None:
    before = work.session
    reason: Literal["deleted", "stopped"] = "deleted" if row.data.get("deleted") else "stopped"
    work.apply(events.Stopped(_stopped_turn(work, row), row.user, reason, partial))
    if work.session == before and row.data.get("word"):
        locale = work.people.locale(work.tx, before.thread.team, row.user)
        _add_notice(work, row, CommandAnswer(say("command.stop_none", locale)), private=True)


def _stopped_turn(work: SessionTransaction, row: InboxRow) -> int:
    """Return the turn that a stop was meant for, 0 for none: a late stop never ends a later turn."""
    session = work.session
    if "turn" in row.data:
        return int(row.data["turn"])
    if streams := set(row.data.get("streams") or ()):
        sent = deliveries.of_turn(work.tx, session.id, session.turn, session.thread.team)
        if any(d.ts in streams for d in sent):
            return session.turn
    turn = turns.get(work.tx, session.id, session.turn)
    # Slack's time is compared with Slack's. Ours may be set back, so the order of the rows stands for it.
    after = turn is not None and row.data["at"] > float(turn.source_ts) and row.id > (turn.inbox_row or 0)
    return session.turn if after else 0


def _open_successor(work: SessionTransaction, row: InboxRow, partial: str) -> str:
    """Close the session and open the thread's next one for `!new`; return its id."""
    session, now = work.session, work.now
    work.apply(events.Stopped(session.turn, row.user, "stopped", partial, closing=True))
    sessions.save(work.tx, work.session, now)
    successor = sessions.open_new(work.tx, session.thread, session.kind, session.shared, now, hydrated=True)
    inbox.move(work.tx, session.id, successor.id)
    if text := row.data["rest"]:  # "!new and tell me …": the rest is the first message of the new session
        first = {"user": row.user, "text": text, "ts": row.ts}
        data = {"new": True} | {key: row.data[key] for key in ("files", "cut") if key in row.data}
        inbox.put_internal(work.tx, successor, "message", "", data, now, addressed=True, **first)
    return successor.id


# --- the waiting inbox ----------------------------------------------------------------------------------------------

Waiting = tuple[list[InboxRow], tuple[events.Item, ...], PendingLookups]
"""Rows to take at once, items to take when a turn opens or a step is complete, and the lookups they need first."""


def _read_waiting(work: SessionTransaction, failed_lookups: frozenset[str]) -> Waiting:
    """Read the session's inbox."""
    rows = inbox.waiting(work.tx, work.session.id)
    at_once = [r for r in rows if r.kind in ("verdict", "stop", "command")]
    messages = [r for r in rows if r.kind in ("message", "context")]
    people = _people_in(work, messages)
    lookups = _pending_lookups(work, messages, people, failed_lookups)
    if unknown_callers := {r.user for r in at_once if r.access == "unknown"} - failed_lookups:
        lookups = replace(lookups, people=tuple(sorted({*lookups.people, *unknown_callers})), for_command=True)
    newest = transcripts.newest_source_ts(work.tx, work.session.id) if messages else None
    items: list[events.Item] = []
    for row in rows:
        if row.kind == "outcome":
            items.append(_outcome(work, row))
        elif row.kind in ("message", "context"):
            opens = row.kind == "message" and row.addressed
            if opens and row.access != "granted":
                continue  # it waits until its author's access is known
            content = _content(work.rules, row, people, newest)
            items.append(events.WaitingMessage(row.id, row.user, row.ts, content, opens))
    return [r for r in at_once if _is_permitted(work, r, failed_lookups)], tuple(items), lookups


def _is_permitted(work: SessionTransaction, row: InboxRow, failed_lookups: frozenset[str]) -> bool:
    """Return True if the access of a row's author is known. A stop does not wait for Slack to answer again."""
    if row.access == "granted":
        return True
    thread = work.session.thread
    person = work.people.person(work.tx, thread.team, row.user)
    last_known = work.rules.workspace.check_access(person, thread.channel)
    return row.kind == "stop" and row.user in failed_lookups and last_known == "granted"


def _people_in(work: SessionTransaction, messages: list[InboxRow]) -> dict[str, Person | None]:
    """Return the authors and mentioned people of messages, None for those who must be looked up."""
    people: dict[str, Person | None] = {}
    for row in messages:
        for user in (row.user, *mentioned_users(row.text)):
            named = user == row.user and "name" in row.data
            if user and user not in people and user != work.rules.workspace.bot_user and not named:
                people[user] = work.people.person(work.tx, work.session.thread.team, user)
    return people


def _pending_lookups(
    work: SessionTransaction, messages: list[InboxRow], people: dict[str, Person | None], failed: frozenset[str]
) -> PendingLookups:
    opening = [r for r in messages if r.kind == "message" and r.addressed]
    if not opening:
        return PendingLookups()
    # Of a long thread only the first people are looked up: an id that stays an id delays no answer.
    unnamed = {user for user, person in list(people.items())[:MAX_NAMED] if person is None}
    needed = {r.user for r in opening if r.access == "unknown"} | unnamed
    session, thread = work.session, work.session.thread
    place = "place" not in failed and work.people.stale_place(work.tx, thread.team, thread.channel, work.now)
    history = session.last_turn == 0 and "history" not in failed and not session.hydrated
    return PendingLookups(tuple(sorted(needed - failed)), place, history)


def _outcome(work: SessionTransaction, row: InboxRow) -> events.WaitingOutcome:
    call, number, quiet = row.data["call"], row.data["turn"], row.data["quiet"]
    turn = turns.get(work.tx, work.session.id, number)
    requester, steps = (turn.requester, turn.steps_used) if turn else (work.session.requester, 0)
    return events.WaitingOutcome(row.id, call, number, requester, steps, row.text, quiet)


NOTES = {"edit": "edited their earlier message; it now reads", "delete": "deleted an earlier message"}


def _content(rules: EngineRules, row: InboxRow, people: dict[str, Person | None], newest: str | None) -> dict[str, Any]:
    """Return the content of an entry: the author's own words, and apart from them everything else."""
    me = rules.workspace.bot_user
    names = {user: person.name for user, person in people.items() if person is not None}
    said, quotes = without_quotes(row.text)
    text, named = with_ids(said, names, me)
    quoted = []
    for quote in quotes:
        shown, also_named = with_ids(quote, names, "")
        quoted.append({"text": shown})
        named |= also_named
    name = row.data.get("name") or names.get(row.user, row.user)
    content: dict[str, Any] = {"text": text, "user": row.user, "name": name, "ts": row.ts}
    if by := "hermes" if row.user == me else "bot" if row.data.get("bot") else None:
        content["by"] = by
    notes = [NOTES[change]] if (change := row.data.get("change")) in NOTES else []
    notes += [f"cut: the message had {cut} characters"] if (cut := row.data.get("cut")) else []
    beside = {"notes": notes, "names": named, "files": row.data.get("files"), "quoted": quoted}
    content |= {key: value for key, value in beside.items() if value}
    late = newest is not None and row.kind == "message" and float(row.ts) < float(newest)
    return {**content, "late": True} if late else content

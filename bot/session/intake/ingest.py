"""Intake: one transaction that makes an event durable before Slack is told that it arrived."""

from dataclasses import dataclass, replace
from typing import Any

from bot.session.access import Rules, may_use
from bot.session.intake.addressing import addressed, answers, command
from bot.session.machine.call_lifecycle import unsettled
from bot.session.people_cache import PeopleCache
from storage import inbox, sessions
from storage.database import Tx
from storage.records import InboxRow, Incoming, Phase, Session, Thread

AT_WORK = (Phase.REASONING, Phase.WAITING_TOOL)


@dataclass(frozen=True, slots=True)
class Received:
    """What intake did. `session` is the one to wake; `tell` a text key for the author, who sees that it waits."""

    session: str | None = None
    opens: bool = False
    tell: str | None = None


NOTHING = Received()


def receive(tx: Tx, incoming: Incoming, rules: Rules, known: PeopleCache, now: float) -> Received:
    """Store what arrived; the same event, or the other event of the same message, changes nothing."""
    session = sessions.of_thread(tx, Thread(incoming.team, incoming.channel, incoming.root))
    if incoming.shared:
        known.shared_now(tx, incoming.team, incoming.channel)
    match incoming.kind:
        case "message":
            return _message(tx, session, incoming, rules, known, now)
        case "context":
            return NOTHING if session is None else _overheard(tx, session, incoming, now)
        case "stop":
            return NOTHING if session is None else _stop(tx, session, incoming, now)
        case _:
            return _changed(tx, session, incoming, rules, known, now)


def _message(
    tx: Tx, session: Session | None, incoming: Incoming, rules: Rules, known: PeopleCache, now: float
) -> Received:
    spoken_to, fresh = addressed(incoming, rules.me), session is None
    if session is None:
        if not spoken_to:
            return NOTHING
        thread = Thread(incoming.team, incoming.channel, incoming.root)
        session = sessions.open_new(tx, thread, incoming.place, incoming.shared, now, hydrated=incoming.top_level)
    person = known.person(tx, incoming.team, incoming.user)
    access = may_use(rules.access, person, incoming.channel, now)
    heard = spoken_to or answers(rules.follow_ups, incoming.text, _authors(tx, session, rules.me), incoming.user)
    word = command(incoming.text, rules.me) if heard else None
    if word is not None:
        return _word(tx, session, incoming, word, access, now)
    full = heard and not fresh and inbox.count_waiting(tx, session.id) >= rules.queue_limit
    row = _row(session, incoming, "message", now, addressed=heard and not full, access=access)
    if access == "refused" and heard:
        row["state"] = "refused"
    told = heard and session.phase in AT_WORK and inbox.has_waiting(tx, session.id, incoming.user)
    if inbox.put(tx, row) is None:
        return NOTHING
    return Received(session.id, heard, _tell(session, incoming.user, access, full, told) if heard else None)


def _overheard(tx: Tx, session: Session, incoming: Incoming, now: float) -> Received:
    """Keep what another bot said in a thread of ours for the next turn; it never opens one."""
    data = {"bot": True} | ({"name": incoming.author_name} if incoming.author_name else {})
    inbox.put(tx, _row(session, incoming, "context", now, data=data))
    return NOTHING


def _tell(session: Session, user: str, access: str, full: bool, told: bool) -> str | None:
    if access == "refused":
        return "access.refused"
    if full:
        return "queue.full"
    behind = session.phase in AT_WORK and user != session.requester
    return "queue.waits" if behind and not told else None


def _authors(tx: Tx, session: Session, me: str) -> set[str] | None:
    return inbox.authors(tx, session.thread) - {me} if session.hydrated else None


def _word(tx: Tx, session: Session, incoming: Incoming, word: tuple[str, str], access: str, now: float) -> Received:
    name, rest = word
    kind = "stop" if name == "stop" else "command"
    data = {"word": name, "rest": rest, "at": float(incoming.ts)}
    row = _row(session, incoming, kind, now, data=data, access=access)
    if access == "refused":
        row["state"] = "refused"
    stored = inbox.put(tx, row)
    tell = "access.refused" if access == "refused" else None
    return NOTHING if stored is None else Received(session.id, tell=tell)


def _stop(tx: Tx, session: Session, incoming: Incoming, now: float) -> Received:
    data = {"streams": list(incoming.streams), "at": incoming.event_time}
    stored = inbox.put(tx, _row(session, incoming, "stop", now, data=data, variant=incoming.event_id))
    return NOTHING if stored is None else Received(session.id)


def _changed(
    tx: Tx, open_session: Session | None, incoming: Incoming, rules: Rules, known: PeopleCache, now: float
) -> Received:
    """An edit or a delete: of what waits it applies, of what is being answered it joins or stops, else it is a note."""
    found = inbox.find(tx, incoming.team, incoming.channel, incoming.ts)
    if found is None:
        return NOTHING
    row, state, turn = found
    deleted = incoming.kind == "delete"
    if row.kind == "command" and not deleted:
        return _reworded(tx, open_session, row, incoming, rules, known, now) if state == "waiting" else NOTHING
    if row.data.get("new") and (word := command(incoming.text, rules.me)):
        incoming = replace(incoming, text=word[1])
    if state == "waiting":
        if deleted:
            inbox.mark(tx, [row.id], "deleted")
        else:
            inbox.replace_text(tx, row.id, incoming.text, addressed=row.addressed or addressed(incoming, rules.me))
        return Received(row.session)
    if state != "taken" or row.kind == "command":
        return NOTHING
    session = sessions.load(tx, row.session)
    at_work = turn == session.turn and session.phase in AT_WORK
    # What a question still asks for is deleted with it, however old; an edit has nothing to join there.
    open_ = deleted and any(c.turn == turn and unsettled(c) for c in session.calls)
    answering = turn if row.addressed and (at_work or open_) else None
    stored = inbox.put(tx, _change_row(session, row, incoming, now, answering))
    return NOTHING if stored is None else Received(session.id)


def _reworded(
    tx: Tx,
    session: Session | None,
    row: InboxRow,
    incoming: Incoming,
    rules: Rules,
    known: PeopleCache,
    now: float,
) -> Received:
    """A word that waits to be obeyed was edited: it is what it says now."""
    word = command(incoming.text, rules.me)
    if word is None or word[0] == "stop":
        inbox.mark(tx, [row.id], "deleted")
        return _message(tx, session, replace(incoming, kind="message"), rules, known, now)
    inbox.replace_data(tx, row.id, {**row.data, "word": word[0], "rest": word[1]})
    return Received(row.session)


def _change_row(
    session: Session, row: InboxRow, incoming: Incoming, now: float, answering: int | None
) -> dict[str, Any]:
    """Return the row of an edit or a delete; `answering` is the turn that answers the message still."""
    data = {"change": incoming.kind, "of": incoming.ts, "at": incoming.event_time}
    variant = f"{incoming.kind}:{incoming.edited_ts or incoming.event_id}"
    if incoming.kind == "delete" and answering is not None:
        return _row(session, incoming, "stop", now, data={**data, "deleted": True, "turn": answering}, variant=variant)
    joins = answering is not None and incoming.kind == "edit" and row.user == session.requester
    return _row(
        session,
        incoming,
        "message" if joins else "context",
        now,
        addressed=joins,
        data=data,
        variant=variant,
        ts=incoming.edited_ts or incoming.ts,
        user=row.user,
    )


def _row(session: Session, incoming: Incoming, kind: str, now: float, **beside: Any) -> dict[str, Any]:
    return {
        "session": session.id,
        "team": incoming.team,
        "channel": incoming.channel,
        "ts": incoming.ts,
        "kind": kind,
        "variant": "",
        "event_id": incoming.event_id or None,
        "user": incoming.user,
        "text": incoming.text,
        "addressed": False,
        "access": "granted",
        "state": "waiting",
        "turn": None,
        "data": {},
        "received": now,
        **beside,
    }

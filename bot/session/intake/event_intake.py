"""Events from Slack: each is stored in one transaction before Slack is acknowledged, then its session is woken."""

import asyncio
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from bot.session.access_and_addressing import RECHECK_SECONDS, is_addressed, is_follow_up
from bot.session.engine.actor_pool import Runner
from bot.session.hermes_commands import parse_command
from bot.session.machine.transition import at_rest, is_unsettled
from bot.session.slack_workspace import Workspace
from storage import inbox, sessions
from storage.database import Database, StorageError, Tx
from storage.records import InboxRow, Incoming, Session, Thread

RECENT = 1_000  # messages that are recognized without reading the database
MessageId = tuple[str, str, str]  # channel, ts and text


class EventIntake:
    """Stores events. Raises StorageError if nothing was stored: the event must then not be acknowledged."""

    def __init__(self, db: Database, runner: Runner, workspace: Workspace) -> None:
        self._db = db
        self._runner = runner
        self._workspace = workspace
        self._failure_reported: deque[str] = deque(maxlen=RECENT)  # ts of messages
        self._stored: dict[MessageId, None] = {}  # committed recently, oldest first
        self._storing: dict[MessageId, asyncio.Event] = {}  # set when an attempt to commit has ended

    async def receive(self, incoming: Incoming) -> None:
        """Store an event and wake its session if it is new. The bot's own messages are ignored."""
        if incoming.kind == "context" and incoming.user == self._workspace.bot_user:
            return
        if incoming.kind != "message":
            await self._receive(incoming)
            return
        message: MessageId = (incoming.channel, incoming.ts, incoming.text)
        while (storing := self._storing.get(message)) is not None:
            await storing.wait()
        if message in self._stored:
            return  # a retry, or the `message` event of an `app_mention`: already committed
        # In this task, not in a new one: an edit that comes next must not be stored before the message it changes.
        storing = self._storing[message] = asyncio.Event()
        try:
            await self._receive(incoming, message)
        finally:
            del self._storing[message]
            storing.set()

    async def _receive(self, incoming: Incoming, message: MessageId | None = None) -> None:
        thread = Thread(incoming.team, incoming.channel, incoming.root)
        try:
            stored = await self._db.write_first(store_event, incoming, self._workspace)
        except StorageError:
            self._report_failure(thread, incoming)
            raise
        if message is not None and stored.session is not None:
            self._stored[message] = None
            if len(self._stored) > RECENT:
                del self._stored[next(iter(self._stored))]
        if stored.text_key is not None:
            self._runner.send_ephemeral(thread, incoming.user, stored.text_key)
        elif stored.opens:
            self._runner.show_working(thread)
        if stored.session is not None:
            self._runner.wake(stored.session)

    def _report_failure(self, thread: Thread, incoming: Incoming) -> None:
        """Tell the author, once, that their message could not be stored. Slack sends it again."""
        addressed = incoming.kind == "message" and is_addressed(incoming, self._workspace.bot_user)
        if addressed and incoming.ts not in self._failure_reported:
            self._failure_reported.append(incoming.ts)
            self._runner.send_ephemeral(thread, incoming.user, "storage.failing")


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """What was stored: the session to wake, whether it is a message to answer, and the key of a text for its author."""

    session: str | None = None
    opens: bool = False
    text_key: str | None = None


NOTHING = StoredEvent()


def store_event(tx: Tx, incoming: Incoming, workspace: Workspace) -> StoredEvent:
    """Store an event. A retry, or the second event of the same message, changes nothing."""
    if incoming.kind == "conversion":
        workspace.people.mark_changed(tx, incoming.team, incoming.channel)
        return NOTHING
    session = sessions.of_thread(tx, Thread(incoming.team, incoming.channel, incoming.root))
    if incoming.shared:
        workspace.people.mark_shared(tx, incoming.team, incoming.channel)
    if incoming.kind == "message":
        return _store_message(tx, session, incoming, workspace)
    if incoming.kind in ("edit", "delete"):
        return _store_change(tx, session, incoming, workspace)
    if session is None:
        return NOTHING
    if incoming.kind == "stop":
        return _store_stop(tx, session, incoming, workspace)
    # Another bot's message is context for the next turn and never opens one.
    data = {"bot": True} | ({"name": incoming.author_name} if incoming.author_name else {})
    inbox.put(tx, _row(session, incoming, "context", workspace.now(), data=data))
    return NOTHING


def _store_message(tx: Tx, session: Session | None, incoming: Incoming, workspace: Workspace) -> StoredEvent:
    addressed, is_new, now = is_addressed(incoming, workspace.bot_user), session is None, workspace.now()
    if session is None:
        if not addressed:
            return NOTHING
        thread = Thread(incoming.team, incoming.channel, incoming.root)
        session = sessions.open_new(tx, thread, incoming.place, incoming.shared, now, hydrated=incoming.top_level)
    access = workspace.check_access(workspace.people.person(tx, incoming.team, incoming.user), incoming.channel)
    authors = inbox.authors(tx, session.thread) - {workspace.bot_user} if session.hydrated and not addressed else None
    if not addressed and not is_follow_up(workspace.follow_ups, incoming.text, authors, incoming.user):
        return _put(tx, _row(session, incoming, "message", now, access=access, state="waiting"))
    if (command := parse_command(incoming.text, workspace.bot_user)) is not None:
        return _store_command(tx, session, incoming, command, access, workspace)
    full = not is_new and inbox.count_waiting(tx, session.id) >= workspace.queue_limit
    behind = not at_rest(session) and incoming.user != session.requester
    if access == "refused":
        text_key: str | None = "access.refused"
    elif full:
        text_key = "queue.full"
    elif behind and not inbox.has_waiting(tx, session.id, incoming.user):  # otherwise they were told already
        text_key = "queue.waits"
    else:
        text_key = None
    row = _row(session, incoming, "message", now, addressed=not full, access=access)
    return _put(tx, row, opens=True, text_key=text_key)


def _store_stop(tx: Tx, session: Session, incoming: Incoming, workspace: Workspace) -> StoredEvent:
    """Store a click on Slack's own stop button. Slack shows it to everybody who may write in the thread."""
    access = _access_to_stop(tx, incoming, workspace)
    data = {"streams": list(incoming.streams), "at": incoming.event_time}
    row = _row(session, incoming, "stop", workspace.now(), data=data, variant=incoming.event_id, access=access)
    return _put(tx, row, text_key="access.refused" if access == "refused" else None)


def _access_to_stop(tx: Tx, incoming: Incoming, workspace: Workspace) -> str:
    person = workspace.people.person(tx, incoming.team, incoming.user)
    return workspace.check_access(person, incoming.channel, RECHECK_SECONDS)


def _put(tx: Tx, row: dict[str, Any], *, opens: bool = False, text_key: str | None = None) -> StoredEvent:
    """Store a row; return NOTHING if it is stored already."""
    return NOTHING if inbox.put(tx, row) is None else StoredEvent(row["session"], opens, text_key)


def _store_command(
    tx: Tx, session: Session, incoming: Incoming, command: tuple[str, str], access: str, workspace: Workspace
) -> StoredEvent:
    word, rest = command
    kind = "stop" if word == "stop" else "command"
    if kind == "stop":
        access = _access_to_stop(tx, incoming, workspace)
    data = {"word": word, "rest": rest, "at": float(incoming.ts)}
    row = _row(session, incoming, kind, workspace.now(), data=data, access=access)
    return _put(tx, row, text_key="access.refused" if access == "refused" else None)


def _store_change(tx: Tx, current: Session | None, incoming: Incoming, workspace: Workspace) -> StoredEvent:
    """Store an edit or a delete.

    It changes a waiting message in place. Of a message that is being answered, an edit joins the turn and a delete
    stops it. Of an older message it becomes a note.
    """
    found = inbox.find(tx, incoming.team, incoming.channel, incoming.ts)
    if found is None:
        return NOTHING
    row, state, turn = found
    deleted = incoming.kind == "delete"
    if not deleted and incoming.user != row.user:
        return NOTHING  # only its author changes what a message says
    if row.kind == "command" and not deleted:
        return _edit_command(tx, current, row, incoming, workspace) if state == "waiting" else NOTHING
    if row.data.get("new") and (command := parse_command(incoming.text, workspace.bot_user)):
        incoming = replace(incoming, text=command[1])
    if state == "waiting":
        if deleted:
            inbox.mark(tx, [row.id], "deleted")
        else:
            addressed = row.addressed or is_addressed(incoming, workspace.bot_user)
            inbox.replace_text(tx, row.id, incoming.text, addressed=addressed)
            inbox.replace_data(tx, row.id, {**row.data, "files": [], "cut": 0, **incoming.attached})
        return StoredEvent(row.session)
    if state != "taken" or row.kind == "command":
        return NOTHING
    session = sessions.load(tx, row.session)
    at_work = turn == session.turn and not at_rest(session)
    # Deleting a question stops its open calls, however old it is. An edit joins only a turn that is at work.
    has_open_calls = deleted and any(c.turn == turn and is_unsettled(c) for c in session.calls)
    answering = turn if row.addressed and (at_work or has_open_calls) else None
    return _put(tx, _change_row(session, row, incoming, workspace.now(), answering))


def _edit_command(
    tx: Tx, session: Session | None, row: InboxRow, incoming: Incoming, workspace: Workspace
) -> StoredEvent:
    """Replace a waiting `!command` by its edited text."""
    command = parse_command(incoming.text, workspace.bot_user)
    if command is None or command[0] == "stop":
        inbox.mark(tx, [row.id], "deleted")
        return _store_message(tx, session, incoming, workspace)
    inbox.replace_data(tx, row.id, {**row.data, "word": command[0], "rest": command[1]})
    return StoredEvent(row.session)


def _change_row(
    session: Session, row: InboxRow, incoming: Incoming, now: float, answering: int | None
) -> dict[str, Any]:
    """Return the row of an edit or a delete; `answering` is the turn that is answering the message, if one is."""
    data = {"change": incoming.kind, "of": incoming.ts, "at": incoming.event_time}
    variant = f"{incoming.kind}:{incoming.edited_ts or incoming.event_id}"
    if incoming.kind == "delete" and answering is not None:
        return _row(session, incoming, "stop", now, data={**data, "deleted": True, "turn": answering}, variant=variant)
    joins = answering is not None and row.user == session.requester  # an edit: a delete returned above
    values = {"addressed": joins, "ts": incoming.edited_ts or incoming.ts, "user": row.user}
    return _row(session, incoming, "message" if joins else "context", now, data=data, variant=variant, **values)


def _row(session: Session, incoming: Incoming, kind: str, now: float, **values: Any) -> dict[str, Any]:
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
        "state": "refused" if values.get("access") == "refused" else "waiting",
        "turn": None,
        "received": now,
        **values,
        "data": incoming.attached | values.get("data", {}),
    }

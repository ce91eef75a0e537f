"""All tables. A test compares them with those of an upgraded database."""

from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    ColumnElement,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _required(**types: Any) -> list[Column[Any]]:
    """Return NOT NULL columns, by name."""
    return [Column(name, type_, nullable=False) for name, type_ in types.items()]


def _partial_index(name: str, column: Column[Any], where: ColumnElement[bool]) -> None:
    """Index the rows that fulfil the condition."""
    Index(name, column, sqlite_where=where, postgresql_where=where)


def _identity() -> list[Column[Any]]:
    """Return the columns of a ToolIdentity; empty in rows of an earlier version."""
    names = ("tool_source", "tool_own_name", "tool_fingerprint")
    return [Column(name, String, nullable=False, server_default="") for name in names]


sessions = Table(
    "sessions",
    metadata,
    Column("id", String, primary_key=True),
    *_required(team=String, channel=String, root=String, generation=Integer, kind=String, shared=Boolean),
    *_required(phase=String, turn=Integer, last_turn=Integer, step=Integer, steps_used=Integer, requester=String),
    *_required(calls=JSON, closed=Boolean),
    Column("hydrated", Boolean, nullable=False, server_default=text("0")),
    Column("summary", JSON),
    Column("summary_seq", Integer, nullable=False, server_default=text("0")),
    Column("fields", JSON),
    Column("fields_turn", Integer, nullable=False, server_default=text("0")),
    *_required(created=Float, updated=Float),
    UniqueConstraint("team", "channel", "root", "generation"),
)
Index("ix_sessions_phase", sessions.c.phase)

inbox = Table(
    "inbox",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("session", ForeignKey("sessions.id"), nullable=False),
    *_required(team=String, channel=String, ts=String),
    Column("kind", String, nullable=False),  # message, context, outcome, verdict, stop, command
    Column("variant", String, nullable=False),  # distinguishes rows of one ts and kind: edited ts, approval id, …
    Column("event_id", String),
    *_required(user=String, text=Text, addressed=Boolean, access=String),
    Column("state", String, nullable=False),  # waiting, taken, deleted, refused
    Column("turn", Integer),  # the turn that took it
    *_required(data=JSON, received=Float),
    UniqueConstraint("team", "channel", "ts", "kind", "variant"),
)
Index("ix_inbox_session", inbox.c.session)
_partial_index("ix_inbox_waiting", inbox.c.session, inbox.c.state == "waiting")

turns = Table(
    "turns",
    metadata,
    Column("session", ForeignKey("sessions.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    *_required(requester=String, steps_used=Integer, started=Float),
    Column("resumed", Float),  # when it last became active; null at rest
    Column("active_seconds", Float, nullable=False),
    Column("ended", Float),
    Column("outcome", String, nullable=False),  # answered, stopped, failed, timed_out, parked; '' while it is active
    Column("memories", JSON, nullable=False),  # recalled ids
    *_required(source_ts=String, prompt_version=String),
    Column("resumes", Integer, nullable=False, server_default=text("0")),  # by new processes, while it was active
    Column("inbox_row", Integer),  # the newest row of the inbox when it was opened
)

entries = Table(
    "entries",
    metadata,
    Column("seq", Integer, primary_key=True),
    Column("session", ForeignKey("sessions.id"), nullable=False),
    *_required(turn=Integer, step=Integer, role=String, content=JSON, tokens=Integer),
    Column("source_ts", String),
    Column("created", Float, nullable=False),
)
Index("ix_entries_session", entries.c.session, entries.c.seq)

tool_calls = Table(
    "tool_calls",
    metadata,
    Column("id", String, primary_key=True),
    Column("session", ForeignKey("sessions.id"), nullable=False),
    *_required(turn=Integer, step=Integer, position=Integer, provider_id=String, name=String, arguments=JSON),
    *_required(arguments_hash=String, effect=String, decision=String, state=String, repeatable=Boolean),
    *_required(repaired=Boolean, key=String, requester=String, attempt=Integer, result=Text),
    Column("full_result", Text),
    *_required(created=Float, updated=Float),
    *_identity(),
)
Index("ix_tool_calls_session", tool_calls.c.session, tool_calls.c.name)
_partial_index("ix_tool_calls_running", tool_calls.c.session, tool_calls.c.state == "running")

attempts = Table(
    "attempts",
    metadata,
    Column("call", ForeignKey("tool_calls.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    *_required(state=String, started=Float),
    Column("finished", Float),
    Column("error", String),
)

approvals = Table(
    "approvals",
    metadata,
    Column("id", String, primary_key=True),
    Column("session", ForeignKey("sessions.id"), nullable=False),
    Column("call", ForeignKey("tool_calls.id"), nullable=False),
    *_required(kind=String, tool=String, arguments=JSON, arguments_hash=String, requester=String, approvers=JSON),
    *_required(quorum=Integer, not_requester=Boolean, status=String, channel=String, root=String),
    Column("message_ts", String),
    Column("shown_status", String),  # the status that the card in Slack shows
    *_required(created=Float, expires=Float),
    Column("settled", Float),
    *_identity(),
)
Index("ix_approvals_status", approvals.c.status)
Index("ix_approvals_session", approvals.c.session)
Index("ix_approvals_call", approvals.c.call)

# Every tool that was ever offered. Its name is never given to another one.
known_tools = Table(
    "known_tools",
    metadata,
    Column("source", String, primary_key=True),
    Column("own_name", String, primary_key=True),
    Column("name", String, nullable=False, unique=True),  # that the model sees
    *_required(fingerprint=String, definition=JSON),  # as accepted
    Column("changed_fingerprint", String),  # of the definition that waits for a person's decision
    Column("changed_definition", JSON(none_as_null=True)),
    *_required(created=Float, updated=Float),
)

votes = Table(
    "votes",
    metadata,
    Column("approval", ForeignKey("approvals.id"), primary_key=True),
    Column("user", String, primary_key=True),
    *_required(verdict=String, at=Float),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("session", ForeignKey("sessions.id"), nullable=False),
    *_required(turn=Integer, kind=String, channel=String, root=String, part=Integer),
    Column("key", String, nullable=False, index=True),
    *_required(content=JSON, state=String),
    Column("ts", String),
    Column("attempts", Integer, nullable=False),
    Column("error", String),
    *_required(created=Float, updated=Float),
)
Index("ix_deliveries_session", deliveries.c.session, deliveries.c.turn)
_partial_index("ix_deliveries_unfinished", deliveries.c.session, deliveries.c.state.in_(("pending", "sending")))

usage = Table(
    "usage",
    metadata,
    Column("session", ForeignKey("sessions.id"), primary_key=True),
    Column("step", Integer, primary_key=True),
    *_required(turn=Integer, model=String, prompt=Integer, completion=Integer, cached=Integer, seconds=Float),
    Column("at", Float, nullable=False),
)

# Decisions and events that did not fit, without content: an audit record that no code reads.
journal = Table(
    "journal",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("session", String),
    Column("turn", Integer),
    Column("kind", String, nullable=False),
    Column("user", String),
    *_required(detail=JSON, at=Float),
)

Index("ix_journal_session", journal.c.session)

occurrences = Table(
    "occurrences",
    metadata,
    Column("job", String, primary_key=True),
    Column("due", Float, primary_key=True),
    Column("claimed", Float, nullable=False),
    Column("finished", Float),
    Column("report", JSON),
)

# --- people, places and memories

people = Table(
    "people",
    metadata,
    Column("team", String, primary_key=True),
    Column("id", String, primary_key=True),
    *_required(name=String, locale=String, timezone=String, guest=Boolean, external=Boolean, bot=Boolean),
    Column("removed", Boolean, nullable=False, server_default=false()),
    Column("fetched", Float, nullable=False),
)

places = Table(
    "places",
    metadata,
    Column("team", String, primary_key=True),
    Column("channel", String, primary_key=True),
    *_required(kind=String, shared=Boolean, fetched=Float),
)

memories = Table(
    "memories",
    metadata,
    Column("id", Integer, primary_key=True),
    *_required(team=String, owner=String, short_id=String, audience=String),
    Column("audience_channel", String),
    Column("content", Text, nullable=False),
    Column("content_hash", String, nullable=False),  # of the normalized text
    *_required(type=String, kind=String, tags=JSON, confidence=Float, importance=Float),
    Column("valid_from", Float),
    Column("valid_until", Float),
    Column("status", String, nullable=False),
    Column("superseded_by", Integer),
    Column("source_channel", String),
    Column("source_ts", String),
    Column("permalink", String),
    *_required(created=Float, updated=Float),
    Column("last_used", Float),
    Column("hits", Integer, nullable=False),
    UniqueConstraint("team", "owner", "short_id"),
)
Index("ix_memories_owner", memories.c.team, memories.c.owner, memories.c.status)

# An audit record, without content.
memory_events = Table(
    "memory_events",
    metadata,
    Column("id", Integer, primary_key=True),
    *_required(team=String, owner=String, memory=Integer, event=String, actor=String, at=Float),
)

"""All tables. A test compares them with those of an upgraded database."""

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
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

sessions = Table(
    "sessions",
    metadata,
    Column("id", String, primary_key=True),
    Column("team", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("root", String, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("kind", String, nullable=False),
    Column("shared", Boolean, nullable=False),
    Column("phase", String, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("last_turn", Integer, nullable=False),
    Column("step", Integer, nullable=False),
    Column("steps_used", Integer, nullable=False),
    Column("requester", String, nullable=False),
    Column("calls", JSON, nullable=False),
    Column("closed", Boolean, nullable=False),
    Column("hydrated", Boolean, nullable=False, server_default=text("0")),
    Column("summary", JSON),
    Column("summary_seq", Integer, nullable=False, server_default=text("0")),
    Column("fields", JSON),
    Column("fields_turn", Integer, nullable=False, server_default=text("0")),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
    UniqueConstraint("team", "channel", "root", "generation"),
)
Index("ix_sessions_phase", sessions.c.phase)

inbox = Table(
    "inbox",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("session", ForeignKey("sessions.id"), nullable=False),
    Column("team", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("ts", String, nullable=False),
    Column("kind", String, nullable=False),  # message, context, outcome, verdict, stop, command
    Column("variant", String, nullable=False),  # distinguishes rows of one ts and kind: edited ts, approval id, …
    Column("event_id", String),
    Column("user", String, nullable=False),
    Column("text", Text, nullable=False),
    Column("addressed", Boolean, nullable=False),
    Column("access", String, nullable=False),
    Column("state", String, nullable=False),  # waiting, taken, deleted, refused
    Column("turn", Integer),  # the turn that took it
    Column("data", JSON, nullable=False),
    Column("received", Float, nullable=False),
    UniqueConstraint("team", "channel", "ts", "kind", "variant"),
)
Index(
    "ix_inbox_waiting",
    inbox.c.session,
    sqlite_where=inbox.c.state == "waiting",
    postgresql_where=inbox.c.state == "waiting",
)

turns = Table(
    "turns",
    metadata,
    Column("session", ForeignKey("sessions.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("requester", String, nullable=False),
    Column("steps_used", Integer, nullable=False),
    Column("started", Float, nullable=False),
    Column("resumed", Float),  # since when it is active; null at rest
    Column("active_seconds", Float, nullable=False),
    Column("ended", Float),
    Column("outcome", String, nullable=False),  # answered, stopped, failed, timed_out, parked; '' while it is active
    Column("memories", JSON, nullable=False),  # recalled ids
    Column("source_ts", String, nullable=False),
    Column("prompt_version", String, nullable=False),
)

entries = Table(
    "entries",
    metadata,
    Column("seq", Integer, primary_key=True),
    Column("session", ForeignKey("sessions.id"), nullable=False),
    Column("turn", Integer, nullable=False),
    Column("step", Integer, nullable=False),
    Column("role", String, nullable=False),
    Column("content", JSON, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("source_ts", String),
    Column("created", Float, nullable=False),
)

Index("ix_entries_session", entries.c.session, entries.c.seq)

tool_calls = Table(
    "tool_calls",
    metadata,
    Column("id", String, primary_key=True),
    Column("session", ForeignKey("sessions.id"), nullable=False),
    Column("turn", Integer, nullable=False),
    Column("step", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("provider_id", String, nullable=False),
    Column("name", String, nullable=False),
    Column("arguments", JSON, nullable=False),
    Column("arguments_hash", String, nullable=False),
    Column("effect", String, nullable=False),
    Column("decision", String, nullable=False),
    Column("state", String, nullable=False),
    Column("repeatable", Boolean, nullable=False),
    Column("repaired", Boolean, nullable=False),
    Column("key", String, nullable=False),
    Column("requester", String, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("result", Text, nullable=False),
    Column("full_result", Text),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
)
Index("ix_tool_calls_session", tool_calls.c.session, tool_calls.c.name)
Index(
    "ix_tool_calls_running",
    tool_calls.c.session,
    sqlite_where=tool_calls.c.state == "running",
    postgresql_where=tool_calls.c.state == "running",
)

attempts = Table(
    "attempts",
    metadata,
    Column("call", ForeignKey("tool_calls.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("state", String, nullable=False),
    Column("started", Float, nullable=False),
    Column("finished", Float),
    Column("error", String),
)

approvals = Table(
    "approvals",
    metadata,
    Column("id", String, primary_key=True),
    Column("session", ForeignKey("sessions.id"), nullable=False),
    Column("call", ForeignKey("tool_calls.id"), nullable=False),
    Column("kind", String, nullable=False),
    Column("tool", String, nullable=False),
    Column("arguments", JSON, nullable=False),
    Column("arguments_hash", String, nullable=False),
    Column("requester", String, nullable=False),
    Column("approvers", JSON, nullable=False),
    Column("quorum", Integer, nullable=False),
    Column("not_requester", Boolean, nullable=False),
    Column("status", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("root", String, nullable=False),
    Column("message_ts", String),
    Column("shown_status", String),  # the status that the card in Slack shows
    Column("created", Float, nullable=False),
    Column("expires", Float, nullable=False),
    Column("settled", Float),
)
Index("ix_approvals_status", approvals.c.status)
Index("ix_approvals_session", approvals.c.session)
Index("ix_approvals_call", approvals.c.call)

votes = Table(
    "votes",
    metadata,
    Column("approval", ForeignKey("approvals.id"), primary_key=True),
    Column("user", String, primary_key=True),
    Column("verdict", String, nullable=False),
    Column("at", Float, nullable=False),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("session", ForeignKey("sessions.id"), nullable=False),
    Column("turn", Integer, nullable=False),
    Column("kind", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("root", String, nullable=False),
    Column("part", Integer, nullable=False),
    Column("key", String, nullable=False, index=True),
    Column("content", JSON, nullable=False),
    Column("state", String, nullable=False),
    Column("ts", String),
    Column("attempts", Integer, nullable=False),
    Column("error", String),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
)
Index(
    "ix_deliveries_unfinished",
    deliveries.c.session,
    sqlite_where=deliveries.c.state.in_(("pending", "sending")),
    postgresql_where=deliveries.c.state.in_(("pending", "sending")),
)

usage = Table(
    "usage",
    metadata,
    Column("session", ForeignKey("sessions.id"), primary_key=True),
    Column("step", Integer, primary_key=True),
    Column("turn", Integer, nullable=False),
    Column("model", String, nullable=False),
    Column("prompt", Integer, nullable=False),
    Column("completion", Integer, nullable=False),
    Column("cached", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
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
    Column("detail", JSON, nullable=False),
    Column("at", Float, nullable=False),
)

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
    Column("name", String, nullable=False),
    Column("locale", String, nullable=False),
    Column("timezone", String, nullable=False),
    Column("guest", Boolean, nullable=False),
    Column("external", Boolean, nullable=False),
    Column("bot", Boolean, nullable=False),
    Column("fetched", Float, nullable=False),
)

places = Table(
    "places",
    metadata,
    Column("team", String, primary_key=True),
    Column("channel", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("shared", Boolean, nullable=False),
    Column("fetched", Float, nullable=False),
)

memories = Table(
    "memories",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("team", String, nullable=False),
    Column("owner", String, nullable=False),
    Column("short_id", String, nullable=False),
    Column("audience", String, nullable=False),
    Column("audience_channel", String),
    Column("content", Text, nullable=False),
    Column("content_hash", String, nullable=False),  # of the normalised text
    Column("type", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("importance", Float, nullable=False),
    Column("valid_from", Float),
    Column("valid_until", Float),
    Column("status", String, nullable=False),
    Column("superseded_by", Integer),
    Column("source_channel", String),
    Column("source_ts", String),
    Column("permalink", String),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
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
    Column("team", String, nullable=False),
    Column("owner", String, nullable=False),
    Column("memory", Integer, nullable=False),
    Column("event", String, nullable=False),
    Column("actor", String, nullable=False),
    Column("at", Float, nullable=False),
)

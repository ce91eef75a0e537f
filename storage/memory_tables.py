"""The tables about people: who they are, where they talk, and what is remembered for them."""

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

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

# Who did what to which memory, without its content.
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

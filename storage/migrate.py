"""Create the tables of an empty database, or upgrade an older one.

Only an upgrade uses Alembic, which is slow to import.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import Column, MetaData, PrimaryKeyConstraint, String, Table, inspect, select

from storage import sqlite
from storage.database import Database, StorageError, Tx
from storage.tables import metadata

HEAD = "0007"  # a test compares it with the newest migration
SCRIPTS = Path(__file__).parent / "migrations"
# Alembic's own table.
_VERSION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


async def migrate(db: Database) -> bool:
    """Create or upgrade the tables if needed. Return True if anything changed.

    Raise StorageError, also if a newer Hermes made the database.
    """
    current = await db.read(revision)
    if current == HEAD:
        return False
    if current is not None and current > HEAD:
        raise StorageError(
            f"the database is at revision {current}, newer than this Hermes ({HEAD}); install the newer one"
        )
    await db.write(_create if current is None else _upgrade)
    return True


def revision(tx: Tx) -> str | None:
    """Return the database's revision, or None if it is empty."""
    if not inspect(tx).has_table(_VERSION.name):
        return None
    return tx.execute(select(_VERSION.c.version_num)).scalar()


def alembic_config() -> Any:
    """Return the Alembic configuration for `storage/migrations`."""
    from alembic.config import Config  # slow to import and rarely needed

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    return config


def _create(tx: Tx) -> None:
    """Create all tables at the newest revision."""
    metadata.create_all(tx, checkfirst=False)
    sqlite.create_search_index(tx)
    _VERSION.create(tx)
    tx.execute(_VERSION.insert().values(version_num=HEAD))


def _upgrade(tx: Tx) -> None:
    from alembic import command  # slow to import and rarely needed

    config = alembic_config()
    config.attributes["connection"] = tx
    command.upgrade(config, "head")

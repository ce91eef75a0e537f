"""Upgrade a database to the newest revision. Alembic is slow to import, so only an upgrade imports it."""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection as Tx
from sqlalchemy import inspect, text

from storage.database import Database, StorageError

HEAD = "0002"  # a test compares it with the newest migration
SCRIPTS = Path(__file__).parent / "migrations"


async def migrate(db: Database) -> bool:
    """Upgrade if needed. Return True if anything changed. Raise StorageError, also if a newer Hermes made it."""
    current = await db.read(revision)
    if current == HEAD:
        return False
    if current is not None and current > HEAD:
        raise StorageError(
            f"the database is at revision {current}, newer than this Hermes ({HEAD}); install the newer one"
        )
    await db.write(_upgrade)
    return True


def revision(tx: Tx) -> str | None:
    """Return the database's revision, or None if it is empty."""
    if not inspect(tx).has_table("alembic_version"):
        return None
    return tx.execute(text("SELECT version_num FROM alembic_version")).scalar()


def alembic_config() -> Any:
    """Return the Alembic configuration for `storage/migrations`."""
    from alembic.config import Config  # slow to import and rarely needed

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    return config


def _upgrade(tx: Tx) -> None:
    from alembic import command  # slow to import and rarely needed

    config = alembic_config()
    config.attributes["connection"] = tx
    command.upgrade(config, "head")

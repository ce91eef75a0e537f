"""Bring a database to the newest revision. Alembic is heavy, so it is loaded only when there is something to do."""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection as Tx
from sqlalchemy import inspect, text

from storage.database import Database, StorageError

HEAD = "0002"  # a test compares it with Alembic's own head
SCRIPTS = Path(__file__).parent / "migrations"


async def migrate(db: Database) -> bool:
    """Migrate if needed; return whether anything changed. Raises StorageError, also for a newer Hermes's database."""
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
    """Return the database's revision, or None for an empty one."""
    if not inspect(tx).has_table("alembic_version"):
        return None
    return tx.execute(text("SELECT version_num FROM alembic_version")).scalar()


def alembic_config() -> Any:
    """Return an Alembic configuration that knows where the scripts are."""
    from alembic.config import Config  # heavy, and rarely needed: loaded on demand

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    return config


def _upgrade(tx: Tx) -> None:
    from alembic import command  # heavy, and rarely needed: loaded on demand

    config = alembic_config()
    config.attributes["connection"] = tx
    command.upgrade(config, "head")

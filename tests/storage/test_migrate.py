"""A fresh database reaches the newest revision, and the scripts make exactly the tables that the code uses."""

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from storage.database import Database, StorageError
from storage.migrate import HEAD, alembic_config, migrate, revision
from storage.tables import metadata


async def test_a_fresh_database_reaches_the_newest_revision_once(tmp_path: Path) -> None:
    db = await Database.open(f"sqlite+aiosqlite:///{tmp_path}/a.db")
    assert await migrate(db)
    assert await db.read(revision) == HEAD == ScriptDirectory.from_config(alembic_config()).get_current_head()
    assert not await migrate(db)
    await db.close()


async def test_the_scripts_make_the_tables_that_the_code_uses(tmp_path: Path) -> None:
    db = await Database.open(f"sqlite+aiosqlite:///{tmp_path}/a.db")
    await migrate(db)
    options = {"include_name": lambda name, kind, _: kind != "table" or not name.startswith("memories_fts")}
    found = await db.read(lambda tx: compare_metadata(MigrationContext.configure(tx, opts=options), metadata))
    assert found == []
    await db.close()


async def test_a_database_of_a_newer_hermes_is_refused(tmp_path: Path) -> None:
    db = await Database.open(f"sqlite+aiosqlite:///{tmp_path}/a.db")
    await migrate(db)
    await db.write(lambda tx: tx.execute(text("UPDATE alembic_version SET version_num = '9999'")) and None)
    with pytest.raises(StorageError, match="newer than this Hermes"):
        await migrate(db)
    await db.close()

"""A database of an earlier Hermes is upgraded with everything it contains."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, select

from storage import approvals, deliveries, memories, sessions
from storage.database import Database, Tx
from storage.migrate import HEAD, alembic_config, migrate, revision
from storage.records import DeliveryState
from storage.tables import metadata

TEAM, USER = "T0SIM", "U0ANA"
FIRST_BUILD = Path(__file__).parent.parent / "data/first_build.sql"


def alembic(tx: Tx, action: Any, target: str) -> None:
    """Run an Alembic command in this transaction."""
    config = alembic_config()
    config.attributes["connection"] = tx
    action(config, target)


def make_first_build(tx: Tx) -> None:
    """Create the tables of revision 0001 and fill them as the first build did."""
    alembic(tx, command.upgrade, "0001")
    for line in FIRST_BUILD.read_text().splitlines():
        if not line.startswith("--"):
            tx.exec_driver_sql(line)


def rows(tx: Tx) -> dict[str, list[dict[str, Any]]]:
    """Return every row of every table, as the database names its columns now."""
    found = MetaData()
    found.reflect(tx, only=lambda name, _: not name.startswith(("memories_fts", "alembic")))
    return {
        table.name: [dict(r) for r in tx.execute(select(table).order_by(*table.primary_key)).mappings()]
        for table in found.sorted_tables
    }


@pytest.fixture
async def db(tmp_path: Path) -> Any:
    opened = await Database.open(f"sqlite+aiosqlite:///{tmp_path}/first.db")
    await opened.write(make_first_build)
    yield opened
    await opened.close()


async def test_the_first_builds_rows_are_all_kept(db: Database) -> None:
    before = await db.read(rows)
    assert await migrate(db)
    assert await db.read(revision) == HEAD
    kept = {table.name: {column.name for column in table.columns} for table in metadata.sorted_tables}
    assert await db.read(rows) == {
        name: [{k: v for k, v in row.items() if k in kept[name]} for row in found] for name, found in before.items()
    }
    assert all(before[name] for name in set(before) - {"journal", "votes"})


async def test_an_open_approval_and_a_pending_answer_are_found_after_the_upgrade(db: Database) -> None:
    await migrate(db)

    def look(tx: Tx) -> Iterator[Any]:
        for session in sorted((sessions.load(tx, id_) for id_ in ids), key=lambda s: s.thread.root):
            call = next((c.id for c in session.calls), "")
            approval = approvals.open_of_call(tx, call, TEAM)
            yield approval and (approval.tool, approval.arguments, approval.status)
            yield [(d.content, d.state) for _, d in deliveries.unfinished(tx, session.id, TEAM)]

    ids = [row["id"] for row in (await db.read(rows))["sessions"]]
    assert await db.read(lambda tx: list(look(tx))) == [
        ("deploy", {"service": "shop", "version": 7}, "open"),
        [],
        None,
        [({"text": "All of it, to the end."}, DeliveryState.SENDING)],
    ]
    assert len(await db.read(sessions.unfinished)) == 1


async def test_a_memory_is_found_by_its_words_after_the_upgrade(db: Database) -> None:
    await migrate(db)
    found = await db.read(memories.search, TEAM, USER, ["coffee"], limit=3, audiences=None, live=None)
    assert [hit.memory.content for hit in found] == ["I like black coffee"]


async def test_each_revision_can_be_taken_back(db: Database) -> None:
    before = await db.read(rows)
    await migrate(db)
    for script in ScriptDirectory.from_config(alembic_config()).walk_revisions():
        if script.down_revision is not None:
            await db.write(alembic, command.downgrade, script.down_revision)
    after = await db.read(rows)
    assert {name: [set(row) for row in found] for name, found in after.items()} == {
        name: [set(row) for row in found] for name, found in before.items()
    }
    await migrate(db)
    assert await db.read(revision) == HEAD

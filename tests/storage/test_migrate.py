"""A new database gets the newest tables; one of an earlier Hermes is upgraded with everything it contains."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, inspect, select, text

from storage import approvals, deliveries, memories, sessions
from storage.database import Database, StorageError, Tx
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
    """Create and fill the tables of revision 0001."""
    for statement in FIRST_BUILD.read_text().split(";\n"):
        tx.exec_driver_sql(statement)


def rows(tx: Tx) -> dict[str, list[dict[str, Any]]]:
    """Return every row of every table, as the database names its columns now."""
    found = MetaData()
    found.reflect(tx, only=lambda name, _: not name.startswith(("memories_fts", "alembic")))
    return {
        table.name: [dict(r) for r in tx.execute(select(table).order_by(*table.primary_key)).mappings()]
        for table in found.sorted_tables
    }


def tables(tx: Tx) -> dict[str, Any]:
    """Return columns, keys, constraints and indexes of every table."""
    found = inspect(tx)
    return {
        name: {
            "columns": {
                c["name"]: (str(c["type"]), c["nullable"], c["default"], c["primary_key"])
                for c in found.get_columns(name)
            },
            "primary key": found.get_pk_constraint(name),
            "foreign keys": sorted(found.get_foreign_keys(name), key=str),
            "unique": sorted(found.get_unique_constraints(name), key=str),
            "indexes": sorted(
                (i["name"], i["column_names"], i["unique"], *(f"{k} {v}" for k, v in i["dialect_options"].items()))
                for i in found.get_indexes(name)
            ),
        }
        for name in found.get_table_names()
    }


async def opened(path: Path) -> Database:
    return await Database.open(f"sqlite+aiosqlite:///{path}")


@pytest.fixture
async def empty(tmp_path: Path) -> AsyncIterator[Database]:
    db = await opened(tmp_path / "empty.db")
    yield db
    await db.close()


@pytest.fixture
async def first(tmp_path: Path) -> AsyncIterator[Database]:
    """A database of the first build."""
    db = await opened(tmp_path / "first.db")
    await db.write(make_first_build)
    yield db
    await db.close()


async def test_an_empty_database_gets_the_newest_tables_once(empty: Database) -> None:
    assert await migrate(empty)
    assert await empty.read(revision) == HEAD == ScriptDirectory.from_config(alembic_config()).get_current_head()
    assert not await migrate(empty)


async def test_an_upgraded_database_has_the_same_tables_as_a_new_one(empty: Database, first: Database) -> None:
    await migrate(empty)
    await migrate(first)
    new = await empty.read(tables)
    assert await first.read(tables) == new
    assert {"approvals", "memories_fts", "alembic_version"} < set(new)


async def test_a_database_of_a_newer_hermes_is_refused(empty: Database) -> None:
    await migrate(empty)
    await empty.write(lambda tx: tx.execute(text("UPDATE alembic_version SET version_num = '9999'")) and None)
    with pytest.raises(StorageError, match="newer than this Hermes"):
        await migrate(empty)


async def test_the_first_builds_rows_are_all_kept(first: Database) -> None:
    before = await first.read(rows)
    assert await migrate(first)
    assert await first.read(revision) == HEAD
    after = await first.read(rows)
    kept = {table.name: {column.name for column in table.columns} for table in metadata.sorted_tables}
    kept["deliveries"].remove("content")
    kept["inbox"] -= {"text", "data"}
    for name, found in before.items():
        columns = kept[name].intersection(found[0] if found else ())
        assert [{c: row[c] for c in columns} for row in after[name]] == [{c: row[c] for c in columns} for row in found]
    waiting = {row["id"] for row in before["inbox"] if row["state"] == "waiting"}
    text = {row["id"]: row["text"] for row in before["inbox"]}
    assert all(row["text"] == (text[row["id"]] if row["id"] in waiting else "") for row in after["inbox"])
    assert not any(row["content"] for row in after["deliveries"] if row["state"] == "sent")
    assert all(before[name] for name in set(before) - {"journal", "votes"})


async def test_an_open_approval_and_a_pending_answer_are_found_after_the_upgrade(first: Database) -> None:
    await migrate(first)

    def look(tx: Tx) -> Iterator[Any]:
        for session in sorted((sessions.load(tx, id_) for id_ in ids), key=lambda s: s.thread.root):
            call = next((c.id for c in session.calls), "")
            approval = approvals.open_of_call(tx, call, TEAM)
            yield approval and (approval.tool, approval.arguments, approval.status)
            yield [(d.content, d.state) for _, d in deliveries.unfinished(tx, session.id, TEAM)]

    ids = [row["id"] for row in (await first.read(rows))["sessions"]]
    assert await first.read(lambda tx: list(look(tx))) == [
        ("deploy", {"service": "shop", "version": 7}, "open"),
        [],
        None,
        [({"text": "All of it, to the end."}, DeliveryState.SENDING)],
    ]
    assert len(await first.read(sessions.unfinished)) == 1


async def test_a_memory_is_found_by_its_words_after_the_upgrade(first: Database) -> None:
    await migrate(first)
    found = await first.read(memories.search, TEAM, USER, ["coffee"], limit=3, audiences=None, live=None)
    assert [hit.memory.content for hit in found] == ["I like black coffee"]


async def test_each_revision_can_be_taken_back(first: Database) -> None:
    before = await first.read(rows)
    await migrate(first)
    for script in ScriptDirectory.from_config(alembic_config()).walk_revisions():
        if script.down_revision is not None:
            await first.write(alembic, command.downgrade, script.down_revision)
    after = await first.read(rows)
    assert {name: [set(row) for row in found] for name, found in after.items()} == {
        name: [set(row) for row in found] for name, found in before.items()
    }
    await migrate(first)
    assert await first.read(revision) == HEAD

"""A database for tests, with people, places and memories to fill it with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.memory import search_terms
from bot.memory.memory_format import content_hash
from storage import memories
from storage.database import Database, Tx
from storage.migrate import migrate
from storage.records import Audience, Memory, Person, Place

NOW = 1_790_000_000.0
DAY = 86400.0
ANN = Person("T1", "UANN", "Ann")
BEN = Person("T1", "UBEN", "Ben", locale="zh-CN", timezone="Asia/Shanghai")
DM = Place("T1", "D1", "im")
ROOM = Place("T1", "C1", "private")
HALL = Place("T1", "C2", "public")
FAIR = Place("T1", "C3", "public", shared=True)


@asynccontextmanager
async def store(folder: Path) -> AsyncIterator[Database]:
    """Open an empty database in a folder, at the newest revision."""
    db = await Database.open(f"sqlite+aiosqlite:///{folder}/hermes.db")
    try:
        await migrate(db)
        yield db
    finally:
        await db.close()


def note(content: str, owner: Person = ANN, audience: Audience | None = None, **values: object) -> Memory:
    """Return a memory that is not stored yet."""
    fields = {"created": NOW, "updated": NOW, **values}
    return Memory(0, owner.team, owner.id, "", audience or Audience("dm"), content, **fields)  # type: ignore[arg-type]


def keep(tx: Tx, memory: Memory) -> Memory:
    """Store a memory and the words of its content."""
    return memories.add(
        tx,
        memory,
        words=search_terms.for_index(memory.content),
        content_hash=content_hash(memory.content),
        actor=memory.owner,
    )


async def kept(db: Database, person: Person = ANN) -> list[Memory]:
    """Return the memories of a person, except superseded ones."""
    return list(await db.read(memories.page, person.team, person.id, limit=99))

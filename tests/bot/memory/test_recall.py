"""A turn recalls relevant memories of its requester that may be used where it runs."""

import random
import time

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.memory import ranking, vital
from bot.memory.audience import audience_of, is_visible
from bot.memory.recall import MAX_RECALLED, again, recall
from storage import memories
from storage.database import Database, Tx
from storage.records import Audience, Memory, Person, Place
from tests.storage.stores import ANN, BEN, DAY, DM, FAIR, HALL, NOW, ROOM, keep, note


async def ask(db: Database, question: str, person: Person | None = ANN, place: Place | None = DM) -> list[str]:
    return [m.content for m in await db.read(recall, person, place, question, 5, NOW)]


async def keep_all(db: Database, *new: Memory) -> None:
    for memory in new:
        await db.write(keep, memory)


async def test_the_best_match_comes_first_and_unrelated_memories_are_left_out(db: Database) -> None:
    await keep_all(
        db,
        note("The staging server is called heron"),
        note("The production server is called osprey and lives in Frankfurt"),
        note("Lunch is at noon"),
    )
    assert (await ask(db, "what was the name of the production server?"))[0].startswith("The production")
    assert "Lunch is at noon" not in await ask(db, "what was the name of the production server?")
    assert await ask(db, "hello there") == []


async def test_a_chinese_question_finds_a_chinese_memory(db: Database) -> None:
    await keep_all(db, note("我的猫叫小米", BEN), note("下周去青岛出差", BEN))
    assert await ask(db, "我的猫叫什么名字？", BEN) == ["我的猫叫小米"]


async def test_each_audience_is_recalled_only_where_it_is_allowed(db: Database) -> None:
    await keep_all(
        db,
        note("kestrel dm"),
        note("kestrel room", audience=audience_of(ROOM)),
        note("kestrel hall", audience=audience_of(HALL)),
        note("kestrel fair", audience=audience_of(FAIR)),
        note("kestrel everywhere", audience=Audience("workspace")),
    )

    async def seen(place: Place | None, person: Person | None = ANN) -> set[str]:
        return {c.removeprefix("kestrel ") for c in await ask(db, "kestrel", person, place)}

    assert await seen(DM) == {"dm", "room", "hall", "fair", "everywhere"}
    assert await seen(ROOM) == {"room", "hall", "everywhere"}
    assert await seen(Place("T1", "C8", "mpim")) == {"hall", "everywhere"}
    assert await seen(HALL) == {"hall", "everywhere"}
    assert await seen(FAIR) == {"fair"}
    assert await seen(Place("T1", "C9", "private", shared=True)) == set()
    assert (
        await seen(None) == await seen(DM, None) == await seen(DM, BEN) == await seen(Place("T2", "D", "im")) == set()
    )


async def test_memories_hidden_here_do_not_count_towards_the_limit(db: Database) -> None:
    await keep_all(db, *(note(f"kestrel {i}") for i in range(60)), note("kestrel open", audience=Audience("public")))
    assert await ask(db, "kestrel", place=HALL) == ["kestrel open"]


async def test_preferences_are_always_considered_but_never_displace_a_match(db: Database) -> None:
    await keep_all(
        db,
        *(note(f"signs with {w}", type="preference") for w in ("A", "B", "C", "D", "E")),
        *(note(f"the heron server has disk {i}") for i in range(4)),
    )
    got = await ask(db, "which disk has the heron server")
    assert sum(c.startswith("the heron") for c in got) >= 2
    assert len(got) == MAX_RECALLED
    assert len(await ask(db, "good morning")) == ranking.MAX_STANDING


async def test_vital_memories_are_not_displaced_by_newer_ones_or_by_matches(db: Database) -> None:
    """Newer instructions, matches, and newer memories of the same kind."""
    old = NOW - 900 * DAY
    vital_ = [
        note("my name is Ann", type="identity", created=old, updated=old),
        note("be brief", type="instruction", created=old, updated=old),
        note("I am allergic to peanuts", importance=vital.ALWAYS, created=old, updated=old),
    ]
    newer = [
        *(note(f"always sign with {n}", type="instruction") for n in range(30)),
        *(note(f"I am in team {n}", type="identity") for n in range(30)),
        *(note(f"I do not eat {n}", importance=vital.ALWAYS) for n in range(30)),
        *(note(f"the heron server has disk {n}") for n in range(9)),
    ]
    await keep_all(db, *vital_, *newer)
    for question in ("good morning", "which disk has the heron server"):
        got = await ask(db, question)
        assert {m.content for m in vital_} <= set(got)
        assert "always sign with 29" in got
        assert len(got) <= MAX_RECALLED + sum(ranking.PLACES.values())


async def test_archived_superseded_and_ended_memories_are_not_recalled(db: Database) -> None:
    await keep_all(
        db,
        note("kestrel one", status="archived"),
        note("kestrel two", status="superseded"),
        note("kestrel three", valid_until=NOW),
        note("kestrel four", valid_from=NOW + DAY),
    )
    assert await ask(db, "kestrel") == ["kestrel four"]


async def test_a_day_in_the_question_raises_memories_of_that_day(db: Database) -> None:
    for back in range(9):
        await keep_all(db, note(f"walked {back} rounds", created=NOW - back * DAY, updated=NOW - back * DAY))
    assert (await ask(db, "how many rounds have I walked 5 days ago?"))[0] == "walked 5 rounds"


async def test_at_most_five_memories_are_recalled(db: Database) -> None:
    await keep_all(db, *(note(f"kestrel {i}") for i in range(9)))
    assert len(await db.read(recall, ANN, DM, "kestrel", 100, NOW)) == 5
    assert len(await db.read(recall, ANN, DM, "kestrel", 3, NOW)) == 3
    assert await db.read(recall, ANN, DM, "kestrel", 0, NOW) == ()


async def test_a_resumed_turn_gets_its_memories_except_those_deleted_since(db: Database) -> None:
    def go(tx: Tx) -> tuple[list[str], list[str]]:
        kept = [keep(tx, note(f"kestrel {i}", audience=Audience("public"))) for i in range(3)]
        foreign = keep(tx, note("kestrel of Ben", BEN, Audience("public")))
        memories.forget(tx, kept[1], actor="UANN", now=NOW)
        ids = (kept[2].id, kept[1].id, kept[0].id, foreign.id)
        return [[m.content for m in again(tx, ANN, place, ids)] for place in (HALL, FAIR)]  # type: ignore[return-value]

    assert await db.write(go) == [["kestrel 2", "kestrel 0"], []]


WORDS = st.sampled_from(["kestrel", "heron", "osprey", "小米", "青岛", "OR", '"', "UANN", "*", "昨天", "today"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS, max_size=6).map(" ".join), st.sampled_from([DM, ROOM, HALL, FAIR]), st.sampled_from([ANN, BEN]))
async def test_no_question_recalls_another_persons_memory(
    db: Database, question: str, place: Place, person: Person
) -> None:
    def fill(tx: Tx) -> None:
        if not memories.owners(tx):
            for owner in (ANN, BEN):
                for i, content in enumerate(["kestrel heron", "osprey 小米", "青岛 heron UANN"]):
                    keep(tx, note(f"{content} {i}", owner, audience_of([DM, ROOM, HALL][i]), type="preference"))

    await db.write(fill)
    got = await db.read(recall, person, place, question, 5, NOW)
    assert all(m.owner == person.id and is_visible(m.audience, m.owner, person.id, place) for m in got)


async def test_recall_among_a_thousand_memories_takes_milliseconds(db: Database) -> None:
    chance = random.Random(7)
    nouns = [f"{a}{b}" for a in ("kestrel", "heron", "osprey", "linnet", "wren") for b in range(60)]

    def fill(tx: Tx) -> None:
        for owner in (ANN, BEN):
            for _ in range(1000):
                kind = chance.choice(["fact", "fact", "preference", "event"])
                keep(tx, note(" ".join(chance.choices(nouns, k=14)), owner, type=kind))

    def measure(tx: Tx) -> list[float]:
        taken = []
        for _ in range(60):
            question = " ".join(chance.choices(nouns, k=8)) + " yesterday?"
            started = time.thread_time()
            assert recall(tx, ANN, DM, question, 5, NOW)
            taken.append((time.thread_time() - started) * 1000)
        return sorted(taken)

    await db.write(fill)
    taken = await db.read(measure)
    # At most 10 ms at the 95th percentile. CPU time, because the machine may be busy.
    assert taken[len(taken) // 2] < 10, f"CPU p50 {taken[30]:.1f} ms, p95 {taken[57]:.1f} ms"

"""The inbox keeps each event once, in Slack's order, until it is taken, refused or deleted."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from storage import inbox, sessions
from storage.database import Database, StorageError, Tx
from storage.records import InboxRow, Session
from storage.tables import inbox as table
from tests.storage.sample_rows import ANA, BEN, NOW, TEAM, message, new_session, new_thread


def put(tx: Tx, session: Session, ts: str, **values: object) -> int:
    """Store a new row; return its id."""
    row = inbox.put(tx, message(session, ts, **values))
    assert row is not None
    return row


def waiting(tx: Tx, session: Session) -> list[str]:
    """Return the texts of the waiting rows."""
    return [row.text for row in inbox.waiting(tx, session.id)]


async def test_a_message_comes_back_as_it_was_stored(db: Database) -> None:
    text, data = "naïve 你好 🙂\n```x```", {"name": "Åsa", "files": [{"id": "F1", "size": 3}], "none": None}

    def go(tx: Tx) -> tuple[Session, int, list[InboxRow]]:
        session = new_session(tx)
        row = put(tx, session, "1.000001", text=text, user=BEN, access="unknown", data=data)
        return session, row, inbox.waiting(tx, session.id)

    session, row, found = await db.write(go)
    assert found == [InboxRow(row, session.id, "message", "1.000001", BEN, text, True, "unknown", NOW, data)]


async def test_mention_and_message_in_any_order_and_number_are_one_row_addressed_if_one_was(db: Database) -> None:
    def check(tx: Tx) -> None:
        @given(st.lists(st.booleans(), min_size=1, max_size=6))
        def one_row(addressed: list[bool]) -> None:
            session = new_session(tx)
            ts = session.thread.root
            stored = [
                inbox.put(tx, message(session, ts, addressed=each, event_id=f"Ev{ts}{number}"))
                for number, each in enumerate(addressed)
            ]
            [row] = inbox.waiting(tx, session.id)
            assert row.addressed == any(addressed)
            changes = {0, addressed.index(True)} if any(addressed) else {0}
            assert stored == [row.id if number in changes else None for number in range(len(addressed))]

        one_row()

    await db.write(check)


async def test_an_event_that_comes_twice_changes_nothing_but_addressed(db: Database) -> None:
    def go(tx: Tx) -> list[InboxRow]:
        session = new_session(tx)
        put(tx, session, "1.000001", text="first", addressed=False, data={"n": 1})
        again = message(session, "1.000001", text="second", user=BEN, access="unknown", data={"n": 2}, received=NOW + 9)
        assert inbox.put(tx, again) is not None
        return inbox.waiting(tx, session.id)

    [row] = await db.write(go)
    assert (row.text, row.user, row.access, row.data, row.received) == ("first", ANA, "granted", {"n": 1}, NOW)
    assert row.addressed


async def test_two_deliveries_of_one_event_at_once_are_one_row(db: Database) -> None:
    session = await db.write(new_session)
    row = message(session, "1.000001")
    stored = await asyncio.gather(*(db.write(inbox.put, row) for _ in range(8)))
    assert sum(each is not None for each in stored) == 1
    assert await db.read(inbox.count_waiting, session.id) == 1


@pytest.mark.parametrize("different", [{"ts": "1.000002"}, {"kind": "context"}, {"variant": "2"}, {"channel": "C9"}])
async def test_what_differs_in_ts_kind_variant_or_channel_is_another_row(
    db: Database, different: dict[str, str]
) -> None:
    def go(tx: Tx) -> int:
        session = new_session(tx)
        put(tx, session, "1.000001")
        assert inbox.put(tx, {**message(session, "1.000001"), **different}) is not None
        return len(inbox.waiting(tx, session.id))

    assert await db.write(go) == 2


async def test_rows_wait_in_slacks_order_whatever_order_they_arrive_in(db: Database) -> None:
    def check(tx: Tx) -> None:
        @given(st.lists(st.integers(1_700_000_000_000_000, 1_900_000_000_000_000), unique=True, max_size=8))
        def ordered(moments: list[int]) -> None:
            session = new_session(tx, new_thread(channel=f"C{new_thread().root}"))
            for moment in moments:
                ts = f"{moment // 1_000_000}.{moment % 1_000_000:06}"
                put(tx, session, ts)
            assert [float(row.ts) for row in inbox.waiting(tx, session.id)] == sorted(m / 1_000_000 for m in moments)

        ordered()

    await db.write(check)


async def test_of_one_ts_the_row_that_came_first_waits_first(db: Database) -> None:
    def go(tx: Tx) -> list[str]:
        session = new_session(tx)
        put(tx, session, "2.000001", text="later")
        put(tx, session, "1.000001", kind="command", text="command")
        put(tx, session, "1.000001", text="words after it")
        return waiting(tx, session)

    assert await db.write(go) == ["command", "words after it", "later"]


async def test_taken_refused_and_deleted_rows_wait_no_longer_and_stay_stored(db: Database) -> None:
    def go(tx: Tx) -> tuple[list[str], list[tuple[str, int | None]]]:
        session = new_session(tx)
        rows = [put(tx, session, f"{n}.000001", text=str(n)) for n in range(1, 6)]
        inbox.mark(tx, rows[:2], "taken", 7)
        inbox.mark(tx, [rows[2]], "deleted")
        inbox.mark(tx, [rows[3]], "refused")
        inbox.mark(tx, [], "deleted")
        place = (TEAM, session.thread.channel)
        found = [inbox.find(tx, *place, f"{n}.000001") for n in range(1, 6)]
        return waiting(tx, session), [(f[1], f[2]) for f in found if f is not None]

    assert await db.write(go) == (
        ["5"],
        [("taken", 7), ("taken", 7), ("deleted", None), ("refused", None), ("waiting", None)],
    )


async def test_an_event_that_was_taken_is_not_waiting_again_when_slack_repeats_it(db: Database) -> None:
    def go(tx: Tx) -> tuple[int | None, int]:
        session = new_session(tx)
        inbox.mark(tx, [put(tx, session, "1.000001")], "taken", 1)
        return inbox.put(tx, message(session, "1.000001")), inbox.count_waiting(tx, session.id)

    assert await db.write(go) == (None, 0)


async def test_a_message_is_found_before_the_command_of_the_same_ts(db: Database) -> None:
    def go(tx: Tx) -> list[str | None]:
        session = new_session(tx)
        found = []
        for kind in ("outcome", "command", "message"):
            put(tx, session, "1.000001", kind=kind, text=kind)
            row = inbox.find(tx, TEAM, session.thread.channel, "1.000001")
            found.append(row and row[0].text)
        return [*found, inbox.find(tx, TEAM, session.thread.channel, "9.000001")]

    assert await db.write(go) == [None, "command", "message", None]


async def test_a_message_is_found_in_its_own_channel_and_team(db: Database) -> None:
    def go(tx: Tx) -> list[str | None]:
        session = new_session(tx)
        for team, channel in (("T1", "C7"), ("T1", "C8"), ("T2", "C7")):
            put(tx, session, "1.000001", team=team, channel=channel, text=f"{team} {channel}")
        found = [inbox.find(tx, team, channel, "1.000001") for team in ("T1", "T2") for channel in ("C7", "C8")]
        return [row and row[0].text for row in found]

    assert await db.write(go) == ["T1 C7", "T1 C8", "T2 C7", None]


async def test_the_first_of_two_notes_about_a_message_is_the_one_that_is_found(db: Database) -> None:
    def go(tx: Tx) -> str:
        session = new_session(tx)
        put(tx, session, "1.000001", kind="context", text="first")
        put(tx, session, "1.000001", kind="context", variant="edited", text="note")
        found = inbox.find(tx, TEAM, session.thread.channel, "1.000001")
        assert found is not None
        return found[0].text

    assert await db.write(go) == "first"


async def test_an_edit_replaces_text_and_addressed_of_one_row(db: Database) -> None:
    def go(tx: Tx) -> list[tuple[str, bool]]:
        session = new_session(tx)
        row = put(tx, session, "1.000001", addressed=False)
        put(tx, session, "2.000001", text="other", addressed=False)
        inbox.replace_text(tx, row, "edited", addressed=True)
        return [(r.text, r.addressed) for r in inbox.waiting(tx, session.id)]

    assert await db.write(go) == [("edited", True), ("other", False)]


async def test_an_edited_command_gets_new_data(db: Database) -> None:
    def go(tx: Tx) -> list[dict[str, str]]:
        session = new_session(tx)
        row = put(tx, session, "1.000001", kind="command", data={"word": "new", "rest": ""})
        put(tx, session, "2.000001", kind="command", data={"word": "stop", "rest": ""})
        inbox.replace_data(tx, row, {"word": "memory", "rest": "list"})
        return [r.data for r in inbox.waiting(tx, session.id)]

    assert await db.write(go) == [{"word": "memory", "rest": "list"}, {"word": "stop", "rest": ""}]


async def test_a_new_session_gets_the_waiting_messages_and_not_what_belongs_to_old_calls(db: Database) -> None:
    def go(tx: Tx) -> tuple[list[list[str]], dict[str, str], set[str]]:
        old, other = new_session(tx), new_session(tx)
        for number, kind in enumerate(("message", "context", "stop", "outcome", "verdict")):
            put(tx, old, f"{number + 1}.000001", kind=kind, text=kind)
        inbox.mark(tx, [put(tx, old, "6.000001", text="answered")], "taken", 1)
        put(tx, other, "7.000001", kind="outcome", text="elsewhere")
        new = sessions.open_new(tx, old.thread, "public", shared=False, now=NOW)
        inbox.move(tx, old.id, new.id)
        states = {r.ts: (r.state, r.text) for r in tx.execute(select(table)) if r.session == old.id}
        return [waiting(tx, each) for each in (old, new, other)], states, inbox.message_ts(tx, old.id)

    assert await db.write(go) == (
        [["verdict"], ["message", "context", "stop"], ["elsewhere"]],
        {"5.000001": ("waiting", "verdict"), "4.000001": ("deleted", ""), "6.000001": ("taken", "")},
        {"6.000001"},
    )


@pytest.mark.parametrize(("access", "left"), [("granted", ["unknown", "known"]), ("refused", ["known"])])
async def test_access_is_settled_for_one_persons_messages_of_one_session(
    db: Database, access: str, left: list[str]
) -> None:
    def go(tx: Tx) -> tuple[int, int, list[str], list[str]]:
        session, other = new_session(tx), new_session(tx)
        put(tx, session, "1.000001", text="unknown", access="unknown")
        put(tx, session, "2.000001", text="known")
        put(tx, session, "3.000001", text="of ben", user=BEN, access="unknown")
        put(tx, other, "4.000001", text="elsewhere", access="unknown")
        inbox.mark(tx, [put(tx, session, "5.000001", access="unknown")], "deleted")
        changed = [inbox.settle_access(tx, session.id, ANA, access) for _ in range(2)]
        return *changed, waiting(tx, session), waiting(tx, other)  # type: ignore[return-value]

    assert await db.write(go) == (1, 0, [*left, "of ben"], ["elsewhere"])


@pytest.mark.parametrize(("access", "state"), [("granted", "waiting"), ("refused", "refused")])
async def test_settled_access_is_kept_in_the_row(db: Database, access: str, state: str) -> None:
    def go(tx: Tx) -> list[tuple[str, str]]:
        session = new_session(tx)
        put(tx, session, "1.000001", access="unknown")
        inbox.settle_access(tx, session.id, ANA, access)
        return [(row.access, row.state) for row in tx.execute(select(table).where(table.c.session == session.id))]

    assert await db.write(go) == [(access, state)]


async def test_only_waiting_messages_are_counted(db: Database) -> None:
    def go(tx: Tx) -> tuple[int, int]:
        session = new_session(tx)
        for number, kind in enumerate(("message", "message", "context", "outcome", "stop")):
            put(tx, session, f"{number + 1}.000001", kind=kind)
        inbox.mark(tx, [put(tx, session, "8.000001")], "taken", 1)
        put(tx, new_session(tx), "9.000001")
        return inbox.count_waiting(tx, session.id), inbox.depth(tx)

    assert await db.write(go) == (2, 5)


async def test_a_person_has_a_waiting_message_if_one_to_hermes_is_waiting(db: Database) -> None:
    def go(tx: Tx) -> list[bool]:
        session = new_session(tx)
        seen = []
        put(tx, session, "1.000001", user=BEN)
        put(tx, session, "2.000001", addressed=False)
        put(tx, session, "3.000001", kind="command")
        seen.append(inbox.has_waiting(tx, session.id, ANA))
        row = put(tx, session, "4.000001")
        seen.append(inbox.has_waiting(tx, session.id, ANA))
        inbox.mark(tx, [row], "taken", 1)
        return [*seen, inbox.has_waiting(tx, session.id, ANA)]

    assert await db.write(go) == [False, True, False]


async def test_the_authors_of_a_thread_are_the_people_of_all_its_sessions(db: Database) -> None:
    def go(tx: Tx) -> set[str]:
        thread = new_thread()
        first, second = new_session(tx, thread), new_session(tx, thread)
        put(tx, first, "1.000001")
        put(tx, second, "2.000001", user=BEN, kind="context")
        put(tx, second, "3.000001", user="UBOT", kind="context", data={"bot": True})
        put(tx, second, "4.000001", user="UCLICKS", kind="verdict")
        put(tx, second, "5.000001", user="UCHO", data={"bot": False})
        put(tx, new_session(tx), "6.000001", user="UELSE")
        return inbox.authors(tx, thread)

    assert await db.write(go) == {ANA, BEN, "UCHO"}


async def test_the_ts_of_every_message_is_known_whatever_its_state(db: Database) -> None:
    def go(tx: Tx) -> set[str]:
        session = new_session(tx)
        inbox.mark(tx, [put(tx, session, "1.000001")], "deleted")
        inbox.mark(tx, [put(tx, session, "2.000001")], "taken", 1)
        put(tx, session, "3.000001")
        put(tx, session, "4.000001", kind="context")
        put(tx, new_session(tx), "5.000001")
        return inbox.message_ts(tx, session.id)

    assert await db.write(go) == {"1.000001", "2.000001", "3.000001"}


async def test_an_internal_row_takes_its_place_in_time_and_is_stored_once(db: Database) -> None:
    def go(tx: Tx) -> tuple[list[int | None], list[InboxRow]]:
        session = new_session(tx)
        args = (session, "outcome", "call1", {"call": "call1"}, NOW)
        stored = [inbox.put_internal(tx, *args, text="done", addressed=True) for _ in range(2)]
        inbox.put_internal(tx, session, "context", "", {}, NOW, user=BEN, text="earlier", ts="1.000001")
        return stored, inbox.waiting(tx, session.id)

    stored, (earlier, outcome) = await db.write(go)
    assert stored == [outcome.id, None]
    assert (earlier.ts, earlier.user, earlier.addressed) == ("1.000001", BEN, False)
    assert (outcome.ts, outcome.kind, outcome.text, outcome.access) == (f"{NOW:.6f}", "outcome", "done", "granted")
    assert (outcome.addressed, outcome.data) == (True, {"call": "call1"})


async def test_a_row_of_a_session_that_does_not_exist_is_refused(db: Database) -> None:
    session = await db.write(new_session)
    with pytest.raises(StorageError):
        await db.write(inbox.put, {**message(session, "1.000001"), "session": "nobody"})
    assert await db.read(inbox.depth) == 0

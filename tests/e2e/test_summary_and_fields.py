"""Context of a long thread: size of requests, summary, identical prefix, and session fields."""

from typing import Any

from storage import sessions
from storage.database import Tx
from tests.e2e.conftest import Start
from tests.e2e.slack_with_hermes import ANA, GENERAL, SlackWithHermes
from tests.fakes.model_scripts import calls, error, text
from tests.waiting import until

SMALL = {"model": {"context_budget_tokens": 4000}}
SUMMARY = '{"goal": "count", "facts": ["the code word is heron"], "decisions": [], "open": ["counting"]}'


def fields_of(tx: Tx) -> object:
    """Return the fields of the only session, once there are some."""
    [session] = [s.id for s in sessions.of_place(tx, "T0SIM", GENERAL, ANA)]
    return sessions.summary_and_fields(tx, session)["fields"]


def size(request: dict[str, Any]) -> int:
    return sum(len(str(m.get("content") or "")) + len(str(m.get("tool_calls") or "")) for m in request["messages"])


async def talk(slack: SlackWithHermes, root: str, first: int, last: int) -> None:
    for n in range(first, last):
        await slack.mention(f"question {n}: " + "word " * 60, thread=root)
        await slack.answer(root, lambda said, n=n: len(said) == n + 1)


async def begin(start: Start, summary: object) -> tuple[SlackWithHermes, str]:
    slack = await start(**SMALL)
    slack.model.default = text("An answer. " * 12)
    slack.model.when(lambda asked: "Sum up" in asked.system, summary)
    root = await slack.mention("question 0")
    await slack.answer(root)
    return slack, root


async def test_requests_of_a_long_thread_stay_the_same_size_and_include_the_summary(start: Start) -> None:
    slack, root = await begin(start, text(SUMMARY))
    await talk(slack, root, 1, 45)
    asked = [a for a in slack.model.asked if "Sum up" not in a.system]
    sizes = [size(a.body) for a in asked]
    middle, end = max(sizes[15:30]), max(sizes[30:45])  # a history that fills and is summed up goes up and down
    assert abs(end - middle) <= 0.1 * middle
    assert max(sizes[15:]) < 4000 * 4
    assert asked[-1].lines[0]["summary"]["facts"] == ["the code word is heron"]
    assert "question 44" in asked[-1].last_user
    assert all(f"question {n}:" in slack.prompt() for n in (42, 43))


async def test_if_the_summary_request_fails_a_mechanical_summary_is_used(start: Start) -> None:
    slack, root = await begin(start, error(400, "not today"))
    await talk(slack, root, 1, 26)
    assert "question" in str(slack.model.asked[-1].lines[0]["summary"]["facts"])
    assert "did not accept" not in str(slack.said(root))


async def test_requests_of_a_thread_share_an_identical_prefix(slack: SlackWithHermes) -> None:
    slack.model.on("first", calls(("look", {"at": "it"})), text("One."))
    slack.model.on("second", calls(("look", {"at": "it"})), text("Two."))
    root = await slack.mention("the first")
    await slack.answer(root)
    await slack.mention("the second", thread=root)
    await slack.answer(root, lambda said: len(said) == 2)
    requests = slack.model.requests
    assert len(requests) == 4
    assert all(r["tools"] == requests[0]["tools"] for r in requests)
    assert requests[1]["messages"][:2] == requests[0]["messages"]
    assert requests[3]["messages"][: len(requests[2]["messages"])] == requests[2]["messages"]
    assert requests[2]["messages"][0] == requests[0]["messages"][0]
    assert requests[2]["messages"][2:4] == requests[1]["messages"][2:4]


async def test_a_field_value_that_a_person_said_is_used_in_the_next_turn(start: Start) -> None:
    slack = await start(session={"fields": {"order_id": "the customer's order number"}})
    slack.model.on("order", text("Noted."))
    slack.model.when(
        lambda asked: "Extract these fields" in asked.system, text('{"order_id": {"value": "A-17", "entry": 1}}')
    )
    root = await slack.mention("my order is A-17")
    await slack.answer(root)
    await until(lambda: slack.hermes.db.read(fields_of), bool)
    slack.model.on("again", text("A-17."))
    await slack.mention("which one again?", thread=root)
    await slack.answer(root, lambda said: said == ["Noted.", "A-17."])
    [asked] = [a for a in slack.model.asked if "again" in a.last_user and "Extract" not in a.system]
    assert asked.lines[0] == {"facts": {"order_id": {"value": "A-17", "by": ANA}}}

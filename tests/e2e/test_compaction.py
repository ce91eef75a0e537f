"""A thread may go on for ever: its requests stay the same size, and their beginning stays the same bytes."""

from typing import Any

from tests.e2e.conftest import Start
from tests.e2e.team import Team
from tests.fakes.model_script import calls, error, text

SMALL = {"model": {"context_budget_tokens": 4000}}
SUMMARY = '{"goal": "count", "facts": ["the code word is heron"], "decisions": [], "open": ["counting"]}'


def size(request: dict[str, Any]) -> int:
    return sum(len(str(m.get("content") or "")) + len(str(m.get("tool_calls") or "")) for m in request["messages"])


async def talk(team: Team, root: str, first: int, last: int) -> None:
    for n in range(first, last):
        await team.mention(f"question {n}: " + "word " * 60, thread=root)
        await team.answer(root, lambda said, n=n: len(said) == n + 1)


async def begin(start: Start, summary: object) -> tuple[Team, str]:
    team = await start(**SMALL)
    team.model.default = text("An answer. " * 12)
    team.model.when(lambda asked: "Sum up" in asked.system, summary)
    root = await team.mention("question 0")
    await team.answer(root)
    return team, root


async def test_a_long_thread_stays_flat_and_knows_its_summary(start: Start) -> None:
    team, root = await begin(start, text(SUMMARY))
    await talk(team, root, 1, 45)
    asked = [a for a in team.model.asked if "Sum up" not in a.system]
    sizes = [size(a.body) for a in asked]
    middle, end = sorted(sizes[15:30])[7], sorted(sizes[30:45])[7]
    assert abs(end - middle) <= 0.15 * middle
    assert max(sizes[15:]) < 4000 * 4
    assert "the code word is heron" in asked[-1].system
    assert "question 44" in asked[-1].last_user
    assert all(f"question {n}:" in team.prompt() for n in (42, 43))


async def test_without_the_summary_call_a_plain_summary_takes_its_place(start: Start) -> None:
    team, root = await begin(start, error(400, "not today"))
    await talk(team, root, 1, 26)
    assert "Earlier in this conversation" in team.prompt()
    assert "question" in team.model.asked[-1].system
    assert "did not accept" not in str(team.said(root))


async def test_the_prefix_is_the_same_bytes_in_each_step_and_turn(team: Team) -> None:
    team.model.on("first", calls(("look", {"at": "it"})), text("One."))
    team.model.on("second", calls(("look", {"at": "it"})), text("Two."))
    root = await team.mention("the first")
    await team.answer(root)
    await team.mention("the second", thread=root)
    await team.answer(root, lambda said: len(said) == 2)
    requests = team.model.requests
    assert len(requests) == 4
    assert all(r["tools"] == requests[0]["tools"] for r in requests)
    assert requests[1]["messages"][:2] == requests[0]["messages"]
    assert requests[3]["messages"][: len(requests[2]["messages"])] == requests[2]["messages"]
    assert requests[2]["messages"][0] == requests[0]["messages"][0]
    assert requests[2]["messages"][2:4] == requests[1]["messages"][2:4]

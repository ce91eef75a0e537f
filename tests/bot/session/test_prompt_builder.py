"""Which parts of the transcript a model request contains."""

from typing import Any

from bot.session.model_call.compaction import summarize
from bot.session.model_call.prompt_builder import build_messages, canonical_arguments
from storage.records import Entry
from tests.fakes.recording_model import RecordingModel

FOUND = '{"ok": true, "data": [{"content": "seventeen"}]}'


def entry(seq: int, turn: int, role: str, **content: Any) -> Entry:
    return Entry(seq, turn, 1, role, content)


def looked_up() -> list[Entry]:
    call = {"id": "c1", "name": "recall", "arguments": {"query": "badge"}}
    return [
        entry(1, 1, "user", text="which badge?", name="ana", user="U0ANA", ts="1.0"),
        entry(2, 1, "assistant", text="", calls=[call]),
        entry(3, 1, "tool", call="c1", name=None, text=FOUND),
    ]


def asked_about() -> list[Entry]:
    """Return the same call, approved during another person's turn, which its outcome joined."""
    outcome = {"id": "outcome_4", "name": "approval_result", "arguments": {"call": "c1"}}
    return [
        *looked_up()[:2],
        entry(3, 1, "tool", call="c1", name=None, text="awaiting"),
        entry(4, 2, "user", text="hello", name="ben", user="U0BEN", ts="2.0"),
        entry(5, 2, "assistant", text="", calls=[outcome]),
        entry(6, 2, "tool", call="outcome_4", name="approval_result", text=FOUND),
    ]


def test_recalled_memories_are_in_the_prompt_of_their_own_turn_only() -> None:
    assert "seventeen" in str(build_messages("system", looked_up(), 1, "", direct=False))
    assert "seventeen" not in str(build_messages("system", looked_up(), 2, "", direct=False))


def test_an_outcome_with_memories_is_not_in_the_prompt_of_the_turn_it_joined() -> None:
    assert "seventeen" in str(build_messages("system", asked_about(), 1, "", direct=False))
    assert "seventeen" not in str(build_messages("system", asked_about(), 2, "", direct=False))


async def test_a_summary_request_contains_no_recalled_memories() -> None:
    model = RecordingModel()
    await summarize(model, None, [*looked_up(), *asked_about()[3:]], None, 1000)
    assert "which badge?" in model.requested
    assert "seventeen" not in model.requested


def test_very_deep_arguments_are_kept_unchanged() -> None:
    endless = '{"at": ' * 5000
    assert canonical_arguments(endless + "1" + "}" * 5000).startswith(endless)

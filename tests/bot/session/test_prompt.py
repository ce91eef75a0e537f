"""What a request holds of the transcript, and what it must not."""

from typing import Any

from bot.ports import ModelReply, ModelRequest, TextSink, Usage
from bot.session.model_call.compaction import summarise
from bot.session.model_call.prompt import History, build_messages, canonical_arguments
from storage.records import Entry

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
    """The same call, approved while another person's turn was at work: its outcome joined that turn."""
    outcome = {"id": "outcome_4", "name": "approval_result", "arguments": {"call": "c1"}}
    return [
        *looked_up()[:2],
        entry(3, 1, "tool", call="c1", name=None, text="awaiting"),
        entry(4, 2, "user", text="hello", name="ben", user="U0BEN", ts="2.0"),
        entry(5, 2, "assistant", text="", calls=[outcome]),
        entry(6, 2, "tool", call="outcome_4", name="approval_result", text=FOUND),
    ]


def test_memories_that_were_looked_up_are_read_in_their_own_turn_alone() -> None:
    assert "seventeen" in str(build_messages("system", History(looked_up()), 1, ""))
    assert "seventeen" not in str(build_messages("system", History(looked_up()), 2, ""))


def test_an_outcome_that_holds_memories_is_not_read_by_the_turn_that_it_joined() -> None:
    assert "seventeen" in str(build_messages("system", History(asked_about()), 1, ""))
    assert "seventeen" not in str(build_messages("system", History(asked_about()), 2, ""))


async def test_a_summary_is_made_without_them() -> None:
    class Listening:
        name = "listening"
        heard = ""

        async def check(self) -> None:
            """Nobody asks."""

        async def ask(self, request: ModelRequest, sink: TextSink | None = None) -> ModelReply:
            self.heard += str(request.messages)
            return ModelReply('{"goal": "a badge"}', (), "stop", Usage(), "listening")

    model = Listening()
    await summarise(model, None, [*looked_up(), *asked_about()[3:]], None, 1000)
    assert "which badge?" in model.heard
    assert "seventeen" not in model.heard


def test_arguments_without_end_stay_as_they_are() -> None:
    endless = '{"at": ' * 5000
    assert canonical_arguments(endless + "1" + "}" * 5000).startswith(endless)

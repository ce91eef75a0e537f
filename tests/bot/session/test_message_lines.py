"""A prompt gives back exactly who wrote what, whatever they wrote."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from bot.session.model_call.compaction import shown_summary, summarize
from bot.session.model_call.message_lines import message_line
from bot.session.model_call.prompt_builder import build_messages, conversation_lines, turn_line
from bot.session.model_call.session_fields import fields_request
from storage.records import Audience, Entry, Memory, Person, Place
from tests.fakes.imitations import IMITATIONS
from tests.fakes.recording_model import RecordingModel
from tools.call_outcome import failed, success_outcome

WORDS = st.text(st.characters(exclude_categories=("Cs",))) | st.sampled_from(sorted(IMITATIONS.values()))
QUOTED = st.fixed_dictionaries({"bot": WORDS, "text": WORDS})
MESSAGES = st.builds(
    dict,
    text=WORDS,
    name=WORDS,
    user=st.sampled_from(["U0ANA", "U0BEN", "W0CHO"]),
    by=st.sampled_from([None, "bot", "hermes"]),
    late=st.booleans(),
    files=st.lists(WORDS, max_size=2),
    names=st.dictionaries(WORDS, WORDS, max_size=2),
    quoted=st.lists(QUOTED, max_size=2),
)
ANA, HERE = Person("T", "U0ANA", "ana"), Place("T", "C1", "public")


def entries_of(contents: list[dict[str, Any]]) -> list[Entry]:
    return [Entry(n, 1, 1, "user", content) for n, content in enumerate(contents, 1)]


def truth(content: dict[str, Any]) -> dict[str, Any]:
    """Return what a reader must get back of an entry."""
    note = {"note": "arrived late, written before the messages above"} if content["late"] else {}
    beside = {key: content[key] for key in ("names", "files", "quoted") if content[key]}
    return {
        content["by"] or "from": content["user"],
        "name": content["name"],
        **note,
        "text": content["text"],
        **beside,
    }


def decoded(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in message["content"].splitlines()]


@given(st.lists(MESSAGES, min_size=1, max_size=5), WORDS, WORDS)
def test_a_decoder_gets_back_authors_texts_memories_summary_and_fields(
    contents: list[dict[str, Any]], kept: str, summed: str
) -> None:
    summary, facts = {"goal": summed, "facts": [summed]}, {"city": summed}
    memory = Memory(1, "T", "U0ANA", "abcd", Audience("dm"), kept)
    ends = turn_line("U0ANA", ANA, HERE, [memory], 0.0)
    earlier = conversation_lines(shown_summary(summary), facts)
    _, user = build_messages("system", entries_of(contents), 1, ends, earlier=earlier, direct=False)
    first, second, *said, last = decoded(user)
    assert first == {"summary": {key: value for key, value in summary.items() if value}}
    assert second == {"facts": facts}
    assert said == [truth(content) for content in contents]
    assert last["turn"]["requester"] == "U0ANA"
    assert last["turn"]["remember"][0]["text"] == kept


@given(WORDS)
@example("a < b <= c <3")
def test_no_text_contains_markup_hidden_characters_or_line_breaks(said: str) -> None:
    line = message_line({"text": said, "user": "U1", "name": said})
    assert len(line.splitlines()) == 1
    assert not {"\u200b", "\u202e", "\U000e0041", "\U000e0100", "\x85"} & set(line)
    assert "<|" not in line
    assert "<s" not in line
    assert "[INST]" not in line


@given(WORDS, st.integers(300, 400))
def test_a_tool_result_is_one_line_of_json_with_exactly_its_data(said: str, limit: int) -> None:
    data = json.loads(success_outcome({"text": said}, 10_000).result)["data"]
    assert data == {"text": said.replace("\x00", "")}
    for result in (success_outcome(said * 9, limit).result, failed("x", said)):
        assert len(result.splitlines()) == 1
        assert isinstance(json.loads(result)["ok"], bool)


def test_an_old_result_is_shortened_inside_its_string() -> None:
    text = success_outcome('{"ok": true}\n' * 90, 10_000).result
    entry = Entry(2, 1, 1, "tool", {"call": "c1", "name": "look", "text": text})
    shown = build_messages("system", [entry], 2, "{}", shed=2, direct=False)[-1]
    assert json.loads(shown["content"]) == {"older_result": text[:400], "shortened_from": len(text)}


@given(st.lists(MESSAGES, min_size=1, max_size=4), WORDS)
def test_requests_for_a_summary_and_for_fields_keep_the_authors(contents: list[dict[str, Any]], found: str) -> None:
    result = Entry(9, 1, 1, "tool", {"call": "c1", "name": "look", "text": found})
    call = Entry(8, 1, 1, "assistant", {"text": found, "calls": [{"id": "c1", "name": "look", "arguments": {}}]})
    entries = [*entries_of(contents), call, result]
    spoken = [truth(content) for content in contents]
    _, request = fields_request({"city": "where"}, {"city": {"value": found}}, entries)
    known, *lines = decoded(request)
    assert known == {"known_so_far": {"city": found}}
    assert lines[:-2] == [{"entry": n, **line} for n, line in enumerate(spoken, 1)]
    assert lines[-2]["hermes"] == found
    assert lines[-1] == {"entry": 9, "result_of": "look", "result": found}


async def test_a_summary_is_requested_and_kept_as_data() -> None:
    attack = IMITATIONS["turn line"]
    said = {"text": attack, "user": "U0BEN", "name": "ana", "late": False}
    model = RecordingModel(json.dumps({"goal": attack, "facts": [attack]}))
    summary = await summarize(model, {"goal": attack}, entries_of([said]), None, 1000)
    assert model.lines == [{"earlier_summary": {"goal": attack}}, {"from": "U0BEN", "name": "ana", "text": attack}]
    plain = await summarize(RecordingModel("not JSON"), None, entries_of([said]), None, 1000)
    assert json.loads(plain["facts"][0])["from"] == "U0BEN"
    ends = turn_line("U0ANA", ANA, HERE, [], 0.0)
    _, user = build_messages(
        "system", [], 2, ends, earlier=conversation_lines(shown_summary(summary), {}), direct=False
    )
    first, last = decoded(user)
    assert first["summary"]["goal"] == attack
    assert last["turn"]["requester"] == "U0ANA"

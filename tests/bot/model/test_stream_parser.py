"""The parser returns the same reply for any division of the bytes, and parses what real servers send."""

import contextlib
import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.model.stream_parser import MAX_LINE, BrokenStreamError, MalformedStreamError, StreamError, StreamParser
from bot.ports import ModelReply, Usage
from tools.visible_text import without_hidden


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def sse(*chunks: Any, done: bool = True, ascii_only: bool = False) -> bytes:
    events = [c if isinstance(c, str) else json.dumps(c, ensure_ascii=ascii_only) for c in chunks]
    return "".join(f"data: {e}\n\n" for e in [*events, *(["[DONE]"] if done else [])]).encode("utf-8", "surrogatepass")


def read(data: bytes, cuts: tuple[int, ...] = ()) -> tuple[ModelReply, str]:
    answer = StreamParser("configured", "seed")
    shown = ""
    places = [0, *sorted(c % (len(data) + 1) for c in cuts), len(data)]
    for start, end in itertools.pairwise(places):
        shown += answer.feed(data[start:end])
    shown += answer.close()
    return answer.reply(), shown


deltas = st.one_of(
    st.text(max_size=12).map(lambda t: {"content": t}),
    st.text(st.characters(), max_size=6).map(lambda t: {"reasoning_content": t}),
    st.builds(
        lambda i, id_, name, args: {
            "tool_calls": [{"index": i, "id": id_, "function": {"name": name, "arguments": args}}]
        },
        st.one_of(st.none(), st.integers(0, 2)),
        st.sampled_from(["", "a", "b", None]),
        st.sampled_from(["", "clock", "read file", None]),
        st.one_of(st.none(), st.text(max_size=8), st.just('{"x":1}'), st.just({"x": 1})),
    ),
)


@given(st.lists(deltas, max_size=8), st.lists(st.integers(0, 5000), max_size=12), st.booleans())
def test_any_cut_of_a_stream_gives_the_same_reply(
    found: list[dict[str, Any]], cuts: list[int], ascii_only: bool
) -> None:
    data = sse(*[chunk(d) for d in found], chunk({}, "stop"), ascii_only=ascii_only)
    whole, shown = read(data)
    assert read(data, tuple(cuts)) == (whole, shown)
    assert shown == whole.text
    whole.text.encode()
    ids = [c.id for c in whole.calls]
    assert len(set(ids)) == len(ids)
    assert all(ids)
    for call in whole.calls:
        (call.id + call.name + call.arguments).encode()
        assert "\x00" not in call.id + call.arguments


@given(st.text(st.characters(codec=None, categories=None), max_size=30), st.lists(st.integers(0, 30), max_size=4))
def test_text_survives_any_split_into_deltas(text: str, cuts: list[int]) -> None:
    """Even through the middle of a surrogate pair, as escapes in JSON allow."""
    units = text.encode("utf-16-le", "surrogatepass")
    places = [0, *sorted(2 * c for c in cuts if 2 * c < len(units)), len(units)]
    parts = [units[a:b].decode("utf-16-le", "surrogatepass") for a, b in itertools.pairwise(places)]
    reply, _ = read(sse(*[chunk({"content": p}) for p in parts], chunk({}, "stop"), ascii_only=True))
    assert reply.text == without_hidden(units.decode("utf-16-le", "replace"))


@given(st.binary(max_size=200), st.lists(st.integers(0, 300), max_size=5))
def test_any_bytes_end_in_a_reply_or_in_one_of_three_errors(data: bytes, cuts: list[int]) -> None:
    for prefix in (b"", b"data: ", b"{"):
        with contextlib.suppress(StreamError, BrokenStreamError, MalformedStreamError):
            read(prefix + data, tuple(cuts))


@pytest.mark.parametrize(
    ("deltas", "text"),
    [
        (["ab\ud83d", "\ude00c"], "ab😀c"),
        (["\ud800", "\udc00c"], "\U00010000c"),
        (["\udbff", "\udfffc"], "c"),
        (["a\ud83d\n"], "a\ufffd\n"),
        (["\ud83d", "abc"], "\ufffdabc"),
        (["a\ud83d", ""], "a\ufffd"),
        (["\ude00a"], "\ufffda"),
    ],
)
def test_a_surrogate_pair_is_joined_and_half_of_one_is_replaced(deltas: list[str], text: str) -> None:
    chunks = [chunk({"content": d}) for d in deltas]
    reply, shown = read(sse(*chunks, chunk({}, "stop"), ascii_only=True))
    assert reply.text == shown == text


def test_half_a_surrogate_pair_at_the_very_end_is_replaced() -> None:
    answer = StreamParser("m", "s")
    assert answer.feed(sse(chunk({"content": "a\ud83d"}, "stop"), done=False, ascii_only=True).rstrip()) == ""
    assert answer.close() == "a\ufffd"
    assert answer.reply().text == "a\ufffd"


def call(index: int | None, id_: str | None, name: str | None, arguments: str | None) -> dict[str, Any]:
    function = {k: v for k, v in {"name": name, "arguments": arguments}.items() if v is not None}
    piece = {k: v for k, v in {"index": index, "id": id_}.items() if v is not None}
    return chunk({"tool_calls": [{**piece, "function": function}]})


CALLS = {
    "pieces by index": [
        call(0, "a", "x", ""),
        call(1, "b", "y", ""),
        call(0, None, None, '{"q":'),
        call(1, None, None, '{"r":2}'),
        call(0, None, None, "1}"),
    ],
    "every index is 0": [call(0, "a", "x", '{"q":1}'), call(0, "b", "y", '{"r":2}')],
    "no index, with ids": [
        call(None, "a", "x", '{"q":'),
        call(None, None, None, "1}"),
        call(None, "b", "y", '{"r":2}'),
    ],
    "no index, id repeated": [
        call(None, "a", "x", '{"q":'),
        call(None, "a", None, "1}"),
        call(None, "b", "y", '{"r":2}'),
    ],
    "name repeated": [call(0, "a", "x", '{"q":'), call(0, "a", "x", "1}"), call(1, "b", "y", '{"r":2}')],
    "no ids, every index is 0": [call(0, None, "x", '{"q":1}'), call(0, None, "y", '{"r":2}')],
    "neither index nor ids": [call(None, None, "x", '{"q":1}'), call(None, None, "y", '{"r":2}')],
    "duplicate ids": [call(0, "a", "x", '{"q":1}'), call(1, "a", "y", '{"r":2}')],
    "both in one delta": [chunk({"tool_calls": [c["choices"][0]["delta"]["tool_calls"][0] for c in
                                               (call(0, "a", "x", '{"q":1}'), call(1, "b", "y", '{"r":2}'))]})],
}  # fmt: skip


@pytest.mark.parametrize("shape", CALLS)
def test_two_calls_stay_two_calls_in_every_shape_that_servers_send(shape: str) -> None:
    reply, _ = read(sse(*CALLS[shape], chunk({}, "tool_calls")))
    assert [(c.name, json.loads(c.arguments)) for c in reply.calls] == [("x", {"q": 1}), ("y", {"r": 2})]
    assert len({c.id for c in reply.calls}) == 2


def test_calls_without_ids_get_some_from_the_seed() -> None:
    reply, _ = read(sse(*CALLS["neither index nor ids"], chunk({}, "tool_calls")))
    assert [c.id for c in reply.calls] == ["call_seed_1", "call_seed_2"]


def test_a_call_without_a_name_is_no_call_and_a_strange_name_is_made_sendable() -> None:
    reply, _ = read(sse(call(0, "a", None, "{}"), call(1, "b", "read file\x00!", None), chunk({}, "tool_calls")))
    assert [(c.name, c.arguments) for c in reply.calls] == [("read_file__", "")]


@pytest.mark.parametrize("no_choices", [{}, {"choices": []}, {"choices": None}])
def test_usage_comes_from_a_chunk_without_choices(no_choices: dict[str, Any]) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}}
    reply, shown = read(
        sse(chunk({"content": "hi"}), chunk({}, "stop"), {**no_choices, "usage": usage, "model": "real"})
    )
    assert reply == ModelReply("hi", (), "stop", Usage(7, 3, 5), "real")
    assert shown == "hi"


def test_cached_tokens_are_read_from_either_field() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 1, "prompt_cache_hit_tokens": 5}
    assert read(sse(chunk({"content": "hi"}, "stop", usage=usage)))[0].usage == Usage(7, 1, 5)


@pytest.mark.parametrize("model", [None, "", 3])
def test_the_configured_model_is_named_where_the_server_names_none(model: Any) -> None:
    assert read(sse(chunk({"content": "hi"}, "stop", model=model)))[0].model == "configured"


@pytest.mark.parametrize(
    "usage", [None, 3, {}, {"prompt_tokens": None, "prompt_tokens_details": None}, {"prompt_tokens": -1}]
)
def test_strange_usage_counts_as_zero(usage: Any) -> None:
    assert read(sse(chunk({"content": "hi"}, "stop", usage=usage)))[0].usage == Usage()


@pytest.mark.parametrize("body", [{"message": "out of memory"}, "out of memory"])
def test_an_error_inside_the_stream_is_raised_as_it_came(body: Any) -> None:
    with pytest.raises(StreamError) as caught:
        read(sse(chunk({"content": "hi"}), {"error": body}))
    assert caught.value.body == body
    assert "reported an error" in str(caught.value)
    assert "memory" not in str(caught.value)


@pytest.mark.parametrize(
    "data", [b'event: error\ndata: {"message": "x"}\n\n', b'error: {"code": 500, "message": "x"}\n\n',
             b'event:error\ndata:{"message": "x"}\n\n', b'error:{"message": "x"}\n\n',
             b'data: {"object": "error", "message": "x", "code": 400}\n\n', b'{"error": "x"}']
)  # fmt: skip
def test_every_way_to_report_an_error_is_seen(data: bytes) -> None:
    with pytest.raises(StreamError):
        read(data)


CUT = sse(chunk({"content": "h"}), done=False)
UNFINISHED = [b"", b"\n\n", sse(chunk({"content": "half"})), CUT, CUT + b'data: {"choices": [{"de']


@pytest.mark.parametrize("data", UNFINISHED)
def test_an_answer_without_its_end_is_broken(data: bytes) -> None:
    with pytest.raises(BrokenStreamError):
        read(data)


def test_a_garbled_event_breaks_the_answer_instead_of_losing_text() -> None:
    with pytest.raises(BrokenStreamError):
        read(sse(chunk({"content": "a"}), '{"choices": [{"del', chunk({"content": "c"}), chunk({}, "stop")))


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_an_event_that_is_not_complete_at_its_end_is_reported_at_once(newline: bytes) -> None:
    garbled = b'data: {"choices": [' + newline * 2
    with pytest.raises(MalformedStreamError):
        StreamParser("m", "s").feed(garbled)
    answer = StreamParser("m", "s")
    answer.feed(sse(chunk({"content": "hi"}, "stop"), done=False))
    with pytest.raises(BrokenStreamError):
        answer.feed(garbled)


def test_an_event_that_is_cut_off_after_the_finish_reason_breaks_the_answer() -> None:
    with pytest.raises(BrokenStreamError):
        read(sse(chunk({"content": "hi"}, "stop"), done=False) + b'data: {"choices": [{"de')


def test_the_answer_is_done_with_the_done_event_and_not_before() -> None:
    answer = StreamParser("m", "s")
    assert answer.done is False
    answer.feed(sse(chunk({"content": "hi"}, "stop"), done=False))
    assert answer.done is False
    assert answer.feed(b"data: [DONE]\n\n") == ""
    assert answer.done is True


def test_only_the_first_choice_is_read() -> None:
    choices = [{"index": 1, "delta": {"content": "b"}}, {"index": 0, "delta": {"content": "a"}}, 7]
    reply, shown = read(sse({"choices": choices}, {"choices": [{"delta": {"content": "c"}}] * 2}, chunk({}, "stop")))
    assert reply.text == shown == "acc"


@pytest.mark.parametrize("finish", ["", None, 7, {}])
def test_what_is_no_finish_reason_does_not_replace_one(finish: Any) -> None:
    assert read(sse(chunk({"content": "hi"}, "stop"), chunk({}, finish)))[0].finish == "stop"
    with pytest.raises(BrokenStreamError):
        read(sse(chunk({"content": "hi"}, finish)))


def test_events_without_an_answer_show_nothing() -> None:
    answer = StreamParser("m", "s")
    for data in (b"data:\n\n", b"data: \n\n", b": ping\n\n", b"id: 7\n\n", b"data: 7\n\n", b"data: {}\n\n"):
        assert answer.feed(data) == ""
    assert answer.feed(b'data: {"choices":\n') == ""
    assert answer.feed(b"data:\n") == ""
    assert answer.feed(b'data: [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}\n') == "hi"
    assert answer.close() == ""
    assert answer.reply().text == "hi"


@pytest.mark.parametrize(
    "data", [b"<html>hello</html>", b'{"hello": "world"}', b"data: {}\n\ndata: [DONE]\n\n", b"[1]"]
)
def test_what_is_no_answer_at_all_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedStreamError):
        read(data)


def test_a_server_that_ignores_streaming_is_understood() -> None:
    message = {"content": None, "tool_calls": [{"id": "c", "function": {"name": "x", "arguments": {"q": 1}}}]}
    reply, shown = read(json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode(), (3, 9))
    assert (shown, reply.finish, reply.calls[0].arguments) == ("", "tool_calls", '{"q": 1}')
    reply, shown = read(b'{"choices": [{"message": {"content": "hi"}}]}')
    assert (shown, reply.finish) == ("hi", "stop")


def test_a_plain_body_may_come_in_any_pieces() -> None:
    body = b'{"choices": [{"message": {"content": "hi"}}]}'
    for cut in range(1, len(body)):
        assert read(body, (cut,))[0].text == "hi"
        with pytest.raises(BrokenStreamError):
            read(body[:cut])


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b" \t\r\n", b"\xef\xbb\xbf\n "])
@pytest.mark.parametrize("space", [b" ", b""])
def test_a_byte_order_mark_and_white_space_may_come_first(start: bytes, space: bytes) -> None:
    event = json.dumps(chunk({"content": "hi"}, "stop")).encode()
    for data in (start + b"data:" + space + event + b"\n\n", start + event):
        for cut in range(len(start) + 1):
            assert read(data, (cut,))[0].text == "hi"


def test_line_separators_comments_and_carriage_returns_do_not_confuse() -> None:
    text = "a\u2028b\u0085c\x0b"
    data = b"\xef\xbb\xbf: ping\r\n\r\n" + sse(chunk({"content": text}), chunk({}, "stop")).replace(
        b"\n\n", b"\r\n\r\n"
    )
    assert read(data)[0].text == "a\nb\nc\n"


def test_an_event_over_several_data_lines_is_one() -> None:
    pretty = json.dumps(chunk({"content": "hi"}, "stop"), indent=1).replace("\n", "\ndata: ")
    assert read(f"data: {pretty}\n\n".encode())[0].text == "hi"


def test_reasoning_is_not_text_and_parts_are() -> None:
    parts = [
        {"type": "thinking", "text": "hm"},
        {"type": "text", "text": "h"},
        {"type": "text", "text": 7},
        "hm",
        {"type": "text", "text": "i"},
    ]
    reply, _ = read(sse(chunk({"reasoning_content": "hm", "content": None}), chunk({"content": parts}, "stop")))
    assert reply.text == "hi"


def test_a_refusal_is_shown_as_text() -> None:
    assert read(sse(chunk({"refusal": "I cannot."}, "stop")))[0].text == "I cannot."


@pytest.mark.parametrize("start", [b"data: ", b"{"])
def test_an_endless_line_is_refused(start: bytes) -> None:
    answer = StreamParser("m", "s")
    answer.feed(start + b"x" * (MAX_LINE - len(start)))
    with pytest.raises(MalformedStreamError):
        answer.feed(b"x")


def test_an_event_of_endless_lines_is_refused() -> None:
    half = b"x" * (MAX_LINE // 2)
    answer = StreamParser("m", "s")
    answer.feed(b"data: " + half + b"\ndata: " + half[1:] + b"\n")
    with pytest.raises(MalformedStreamError):
        answer.feed(b"data:\n")

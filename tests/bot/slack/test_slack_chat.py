"""SlackChat in the simulator: posts, ephemeral messages, cards, statuses, look-ups."""

import asyncio
from dataclasses import replace

import pytest

from bot.ports import ApprovalCard
from bot.simulator.server import Simulator
from bot.slack.slack_chat import SlackChat
from storage.records import Approval, ApprovalRule, Place, Thread
from tests.bot.slack.slack_setup import Stage
from tools.context import ChatError


def approval(thread: Thread) -> Approval:
    return Approval(
        id="ap1", session="s", call="c", kind="approval", tool="write_file", arguments={"path": "a.txt"},
        arguments_hash="h", requester="U0ANA", rule=ApprovalRule(), status="open", thread=thread, message_ts=None,
        created=0.0, expires=1_900_000_000.0,
    )  # fmt: skip


async def test_a_wrong_token_is_said_at_once(sim: Simulator) -> None:
    with pytest.raises(ChatError, match="invalid_auth"):
        await SlackChat.open("xoxb-wrong", sim.api_url)


async def test_nobody_at_the_address_is_unreachable_and_certain() -> None:
    with pytest.raises(ChatError) as caught:
        await SlackChat.open("xoxb-x", "http://127.0.0.1:9/api/")
    assert (caught.value.code, caught.value.uncertain) == ("unreachable", False)


async def test_an_unknown_host_is_unreachable() -> None:
    with pytest.raises(ChatError, match="unreachable"):
        await SlackChat.open("xoxb-x", "http://no-such-host.invalid/api/")


async def test_a_post_bears_its_key_and_pings_nobody(stage: Stage) -> None:
    (ts,) = await stage.chat.post(stage.thread, "Hello @channel", key="k")
    (seen,) = await stage.chat.read_thread(stage.thread, limit=1)
    assert (seen.ts, seen.key, seen.ours, seen.bot) == (ts, "k", True, True)
    assert seen.text == "Hello @\u200bchannel"


async def test_45_000_characters_are_posted_whole(stage: Stage) -> None:
    text = "\n\n".join(f"Paragraph {i} " + "of words " * 100 for i in range(50))
    assert len(text) > 45_000
    assert len(await stage.chat.post(stage.thread, text, key="k")) == 5
    assert stage.whole() == " ".join(text.split())


@pytest.mark.parametrize("fault", [{"status": 500}, {"status": 503}, {"drop": True}, {"error": "internal_error"}])
@pytest.mark.parametrize("effect", [False, True])
async def test_a_lost_answer_posts_neither_twice_nor_never(stage: Stage, fault: dict, effect: bool) -> None:
    await stage.sim.fail_next("chat.postMessage", **fault, effect=effect)
    (ts,) = await stage.chat.post(stage.thread, "Once", key="k")
    assert [(m.ts, m.text) for m in stage.answers()] == [(ts, "Once")]


async def test_a_429_is_waited_for(stage: Stage) -> None:
    await stage.sim.fail_next("chat.postMessage", status=429, retry_after=1)
    await stage.chat.post(stage.thread, "Once", key="k")
    assert stage.texts() == ["Once"]


async def test_a_refusal_is_raised_with_slacks_word(stage: Stage) -> None:
    with pytest.raises(ChatError, match="not_in_channel"):
        await stage.chat.post(replace(stage.thread, channel="C0QUIET"), "Hello", key="k")


async def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    sim: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    chat = await SlackChat.open(sim.settings.bot_token, sim.api_url)
    assert chat.me.user == "U0HERMES"
    await chat.close()


async def test_a_thread_without_a_root_is_the_channel_itself(stage: Stage) -> None:
    await stage.sim.fail_next("chat.postMessage", status=500, effect=True)
    (ts,) = await stage.chat.post(replace(stage.thread, root=""), "To everybody", key="k")
    (seen,) = [m for m in stage.sim.messages("C0GENERAL") if m.text == "To everybody"]
    assert (seen.ts, seen.thread_ts) == (ts, None)


async def test_an_ephemeral_message_is_seen_by_one(stage: Stage) -> None:
    await stage.chat.post_ephemeral(stage.thread, "U0BEN", "Only you, **Ben**")
    assert [m.text for m in stage.sim.ephemerals("U0BEN")] == ["Only you, **Ben**"]
    assert stage.sim.ephemerals("U0ANA") == []


async def test_a_card_is_posted_clicked_at_and_settled(stage: Stage) -> None:
    card = ApprovalCard(approval(stage.thread), "write")
    ts = await stage.chat.post_card(card, key="k")
    (seen,) = stage.answers()
    assert seen.ts == ts
    assert [(b.action_id, b.text, b.value) for b in seen.buttons] == [
        ("hermes_approve", "Approve", "ap1"),
        ("hermes_deny", "Deny", "ap1"),
    ]
    assert '"path": "a.txt"' in seen.text
    await stage.chat.update_card(
        replace(card, approval=replace(card.approval, status="approved", decided_by=("U0ANA",))), ts
    )
    (seen,) = stage.answers()
    assert seen.buttons == []
    assert "Approved by <@U0ANA>" in seen.text


async def test_a_card_with_a_huge_call_is_accepted_by_slack(stage: Stage) -> None:
    rule = ApprovalRule(tuple(f"U{i:09}" for i in range(100)), quorum=3)
    huge = replace(approval(stage.thread), arguments={"text": "x y " * 20_000, "n": 1}, rule=rule)
    ts = await stage.chat.post_card(ApprovalCard(huge, "danger", note="n" * 3_000), key="k")
    await stage.chat.update_card(ApprovalCard(replace(huge, status="expired"), "danger"), ts)
    assert "too long to show in full" in stage.texts()[0]


async def test_the_latest_status_wins(stage: Stage) -> None:
    await asyncio.gather(
        stage.chat.set_status(stage.thread, "processing"),
        stage.chat.set_status(stage.thread, "suspended"),
        stage.chat.set_status(stage.thread, "active"),
    )
    assert stage.status() == "active"


async def test_a_slow_older_status_cannot_overwrite_a_newer_one(stage: Stage) -> None:
    await stage.sim.fail_next("agents.sessions.setStatus", delay=0.2)
    older = asyncio.create_task(stage.chat.set_status(stage.thread, "processing"))
    await asyncio.sleep(0)
    await stage.chat.set_status(stage.thread, "active")
    await older
    assert stage.status() == "active"


@pytest.mark.parametrize(("error", "calls"), [("unknown_method", 1), ("internal_error", 3), ("invalid_arguments", 2)])
async def test_a_status_failure_is_never_felt(stage: Stage, error: str, calls: int) -> None:
    await stage.sim.fail_next("agents.sessions.setStatus", error=error, count=2)
    await stage.chat.set_status(stage.thread, "processing")
    await stage.chat.set_status(stage.thread, "active")
    assert len(stage.sim.calls("agents.sessions.setStatus")) == calls


async def test_a_status_shown_already_costs_no_call(stage: Stage) -> None:
    for _ in range(3):
        await stage.chat.set_status(stage.thread, "processing")
    assert len(stage.sim.calls("agents.sessions.setStatus")) == 1


async def test_people_are_read_with_their_locale_and_standing(chat: SlackChat) -> None:
    ana, cho = await chat.person("T0SIM", "U0ANA"), await chat.person("T0SIM", "U0CHO")
    assert (ana.name, ana.guest, ana.external, ana.bot) == ("ana", False, False, False)
    assert (cho.locale, cho.timezone) == ("zh-CN", "Asia/Shanghai")
    assert (await chat.person("T0SIM", "U0GUEST")).guest
    assert (await chat.person("T0SIM", "U0EXT")).external
    assert (await chat.person("T0SIM", "U0OTHERBOT")).bot
    with pytest.raises(ChatError, match="user_not_found"):
        await chat.person("T0SIM", "U0NOBODY")


async def test_places_are_read_with_their_kind(chat: SlackChat) -> None:
    kinds = {c: (await chat.place("T0SIM", c)).kind for c in ("C0GENERAL", "G0PRIVATE", "G0TRIO", "D0ANA")}
    assert kinds == {"C0GENERAL": "public", "G0PRIVATE": "private", "G0TRIO": "mpim", "D0ANA": "im"}
    assert await chat.place("T0SIM", "C0SHARED") == Place("T0SIM", "C0SHARED", "public", shared=True)


async def test_a_look_up_survives_a_server_error(stage: Stage) -> None:
    await stage.sim.fail_next("users.info", status=500, count=2)
    assert (await stage.chat.person("T0SIM", "U0BEN")).name == "ben"


async def test_a_thread_is_read_newest_last_and_from_a_point_on(stage: Stage) -> None:
    for n in range(5):
        await stage.sim.say("U0BEN", "C0GENERAL", f"m{n}", thread_ts=stage.thread.root)
    messages = await stage.chat.read_thread(stage.thread, limit=3)
    assert [m.text for m in messages] == ["m2", "m3", "m4"]
    later = await stage.chat.read_thread(stage.thread, limit=50, after=messages[1].ts)
    assert [m.text for m in later] == ["m4"]


async def test_a_long_thread_is_read_over_several_pages(stage: Stage) -> None:
    for n in range(230):
        await stage.sim.say("U0BEN", "C0GENERAL", f"m{n}", thread_ts=stage.thread.root)
    assert [m.text for m in await stage.chat.read_thread(stage.thread, limit=2)] == ["m228", "m229"]


async def test_a_permalink_is_given_or_none(stage: Stage) -> None:
    assert stage.thread.root.replace(".", "") in (await stage.chat.permalink("C0GENERAL", stage.thread.root) or "")
    assert await stage.chat.permalink("C0GENERAL", "1.0") is None


async def test_a_stream_of_an_earlier_process_is_closed_with_a_word(stage: Stage) -> None:
    reply = stage.reply()
    reply.text("A text that was begun before the crash came.")
    seen = await stage.streaming()
    await stage.chat.close_stream("C0GENERAL", seen.ts, "interrupted")
    assert stage.texts()[0].endswith("_— interrupted —_")
    await reply.close()


async def test_a_call_that_was_at_work_in_an_earlier_process_does_not_stand_at_work_for_ever(stage: Stage) -> None:
    reply = stage.reply()
    reply.task("c_1", "look", "in_progress")
    seen = await stage.streaming()
    await stage.chat.close_stream("C0GENERAL", seen.ts, "interrupted", [("c_1", "look")])
    assert [(t.title, t.status, t.output) for t in stage.answers()[0].tasks] == [("look", "error", "interrupted")]
    await reply.close()


async def test_closing_a_stream_twice_marks_it_once(stage: Stage) -> None:
    reply = stage.reply()
    reply.text("A text that was begun before the crash came.")
    seen = await stage.streaming()
    await stage.sim.fail_next("chat.stopStream", status=500, effect=True)
    await stage.chat.close_stream("C0GENERAL", seen.ts, "interrupted")
    await stage.chat.close_stream("C0GENERAL", seen.ts, "interrupted")
    assert stage.texts()[0].count("interrupted") == 1
    await reply.close()


async def test_an_ended_stream_of_an_earlier_process_is_marked_by_an_edit(stage: Stage) -> None:
    reply = stage.reply()
    reply.text("A text that was begun before the crash came.")
    seen = await stage.streaming()
    await stage.sim.expire_stream(seen.ts)
    await stage.chat.close_stream("C0GENERAL", seen.ts, "interrupted")
    assert "A text that was" in stage.texts()[0]
    assert stage.texts()[0].endswith("— interrupted —")
    await reply.close()


@pytest.mark.parametrize("ended", ["by Slack", "by a person"])
async def test_a_stream_that_ended_before_it_is_marked_has_no_card_at_work(stage: Stage, ended: str) -> None:
    reply = stage.reply()
    reply.task("c_1", "look", "in_progress")
    seen = await stage.streaming()
    if ended == "by Slack":
        await stage.sim.expire_stream(seen.ts)
    else:
        await stage.sim.press_stop("U0ANA", stage.thread.channel, stage.thread.root)
    await stage.chat.close_stream("C0GENERAL", seen.ts, "interrupted", [("c_1", "look")])
    assert [(t.title, t.status) for t in stage.answers()[0].tasks] == [("look", "error")]
    assert stage.texts()[0].endswith("— interrupted —")
    await reply.close()

"""SlackChat in the simulator: posts, ephemeral messages, cards, statuses, lookups."""

import asyncio
from dataclasses import replace

import pytest

from bot.ports import ApprovalCard
from bot.simulator.server import Simulator
from bot.slack.rate_limited_client import Identity
from bot.slack.slack_chat import SlackChat, place_of
from storage.records import Approval, ApprovalRule, Place, Thread
from tests.bot.slack.slack_setup import SlackThread
from tools.tool_context import ChatError


def approval(thread: Thread) -> Approval:
    return Approval(
        id="ap1", session="s", call="c", kind="approval", tool="write_file", arguments={"path": "a.txt"},
        arguments_hash="h", requester="U0ANA", rule=ApprovalRule(), status="open", thread=thread, message_ts=None,
        created=0.0, expires=1_900_000_000.0,
    )  # fmt: skip


async def test_a_wrong_token_raises_invalid_auth(sim: Simulator) -> None:
    with pytest.raises(ChatError, match="invalid_auth"):
        await SlackChat.open("xoxb-wrong", sim.api_url)


async def test_a_refused_connection_is_unreachable_and_certain() -> None:
    with pytest.raises(ChatError) as caught:
        await SlackChat.open("xoxb-x", "http://127.0.0.1:9/api/")
    assert (caught.value.code, caught.value.uncertain) == ("unreachable", False)


async def test_an_unknown_host_is_unreachable() -> None:
    with pytest.raises(ChatError, match="unreachable"):
        await SlackChat.open("xoxb-x", "http://no-such-host.invalid/api/")


async def test_a_post_has_its_delivery_key_and_notifies_nobody(slack: SlackThread) -> None:
    (ts,) = await slack.chat.post(slack.thread, "Hello @channel", key="k")
    (seen,) = await slack.chat.read_thread(slack.thread, limit=1)
    assert (seen.ts, seen.key, seen.ours, seen.bot) == (ts, "k", True, True)
    assert seen.text == "Hello @\u200bchannel"


async def test_45_000_characters_are_posted_completely(slack: SlackThread) -> None:
    text = "\n\n".join(f"Paragraph {i} " + "of words " * 100 for i in range(50))
    assert len(text) > 45_000
    assert len(await slack.chat.post(slack.thread, text, key="k")) == 5
    assert slack.all_text() == " ".join(text.split())


@pytest.mark.parametrize("fault", [{"status": 500}, {"status": 503}, {"drop": True}, {"error": "internal_error"}])
@pytest.mark.parametrize("effect", [False, True])
async def test_after_a_lost_response_the_message_is_posted_exactly_once(
    slack: SlackThread, fault: dict, effect: bool
) -> None:
    await slack.sim.fail_next("chat.postMessage", **fault, effect=effect)
    (ts,) = await slack.chat.post(slack.thread, "Once", key="k")
    assert [(m.ts, m.text) for m in slack.answers()] == [(ts, "Once")]


async def test_a_429_is_waited_for(slack: SlackThread) -> None:
    await slack.sim.fail_next("chat.postMessage", status=429, retry_after=1)
    await slack.chat.post(slack.thread, "Once", key="k")
    assert slack.texts() == ["Once"]


async def test_a_refusal_is_raised_with_slacks_error_code(slack: SlackThread) -> None:
    with pytest.raises(ChatError, match="not_in_channel"):
        await slack.chat.post(replace(slack.thread, channel="C0QUIET"), "Hello", key="k")


async def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    sim: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    chat = await SlackChat.open(sim.settings.bot_token, sim.api_url)
    assert chat.me.user == "U0HERMES"
    await chat.close()


async def test_a_thread_without_a_root_is_the_channel_itself(slack: SlackThread) -> None:
    await slack.sim.fail_next("chat.postMessage", status=500, effect=True)
    (ts,) = await slack.chat.post(replace(slack.thread, root=""), "To everybody", key="k")
    (seen,) = [m for m in slack.sim.messages("C0GENERAL") if m.text == "To everybody"]
    assert (seen.ts, seen.thread_ts) == (ts, None)


async def test_an_ephemeral_message_is_seen_by_one(slack: SlackThread) -> None:
    await slack.chat.post_ephemeral(slack.thread, "U0BEN", "Only you, **Ben**")
    assert [m.text for m in slack.sim.ephemerals("U0BEN")] == ["Only you, **Ben**"]
    assert slack.sim.ephemerals("U0ANA") == []


async def test_a_card_is_posted_and_updated_to_its_outcome(slack: SlackThread) -> None:
    card = ApprovalCard(approval(slack.thread), "write")
    ts = await slack.chat.post_card(card, key="k")
    (seen,) = slack.answers()
    assert seen.ts == ts
    assert [(b.action_id, b.text, b.value) for b in seen.buttons] == [
        ("hermes_approve", "Approve", "ap1"),
        ("hermes_deny", "Deny", "ap1"),
    ]
    assert '"path": "a.txt"' in seen.text
    await slack.chat.update_card(
        replace(card, approval=replace(card.approval, status="approved", decided_by=("U0ANA",))), ts
    )
    (seen,) = slack.answers()
    assert seen.buttons == []
    assert "Approved by <@U0ANA>" in seen.text


async def test_a_card_with_a_huge_call_is_accepted_by_slack(slack: SlackThread) -> None:
    rule = ApprovalRule(tuple(f"U{i:09}" for i in range(100)), quorum=3)
    huge = replace(approval(slack.thread), arguments={"text": "x y " * 20_000, "n": 1}, rule=rule)
    ts = await slack.chat.post_card(ApprovalCard(huge, "danger", note="n" * 3_000), key="k")
    await slack.chat.update_card(ApprovalCard(replace(huge, status="expired"), "danger"), ts)
    assert "too long for this message" in slack.texts()[0]


async def test_the_latest_status_wins(slack: SlackThread) -> None:
    await asyncio.gather(
        slack.chat.set_status(slack.thread, "processing"),
        slack.chat.set_status(slack.thread, "suspended"),
        slack.chat.set_status(slack.thread, "active"),
    )
    assert slack.status() == "active"


async def test_a_slow_older_status_cannot_overwrite_a_newer_one(slack: SlackThread) -> None:
    await slack.sim.fail_next("agents.sessions.setStatus", delay=0.2)
    older = asyncio.create_task(slack.chat.set_status(slack.thread, "processing"))
    await asyncio.sleep(0)
    await slack.chat.set_status(slack.thread, "active")
    await older
    assert slack.status() == "active"


@pytest.mark.parametrize(("error", "calls"), [("unknown_method", 1), ("internal_error", 3), ("invalid_arguments", 2)])
async def test_a_status_failure_is_not_raised(slack: SlackThread, error: str, calls: int) -> None:
    await slack.sim.fail_next("agents.sessions.setStatus", error=error, count=2)
    await slack.chat.set_status(slack.thread, "processing")
    await slack.chat.set_status(slack.thread, "active")
    assert len(slack.sim.calls("agents.sessions.setStatus")) == calls


async def test_a_status_shown_already_costs_no_call(slack: SlackThread) -> None:
    for _ in range(3):
        await slack.chat.set_status(slack.thread, "processing")
    assert len(slack.sim.calls("agents.sessions.setStatus")) == 1


async def test_people_are_read_with_their_locale_and_kind(chat: SlackChat) -> None:
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
    quiet = await chat.place("T0SIM", "C0QUIET")
    assert (quiet.name, quiet.may_post, quiet.archived) == ("quiet", False, False)


def test_hermes_may_post_unless_slack_says_that_it_is_no_member() -> None:
    outside = {"is_channel": True, "is_member": False}
    assert not place_of(outside, "T", "C", "chat:write").may_post
    assert place_of(outside, "T", "C", "chat:write,chat:write.public").may_post
    assert place_of({"is_channel": True}, "T", "C").may_post


async def test_a_lookup_survives_a_server_error(slack: SlackThread) -> None:
    await slack.sim.fail_next("users.info", status=500, count=2)
    assert (await slack.chat.person("T0SIM", "U0BEN")).name == "ben"


async def test_a_thread_is_read_newest_last_and_from_a_point_on(slack: SlackThread) -> None:
    for n in range(5):
        await slack.sim.say("U0BEN", "C0GENERAL", f"m{n}", thread_ts=slack.thread.root)
    messages = await slack.chat.read_thread(slack.thread, limit=3)
    assert [m.text for m in messages] == ["m2", "m3", "m4"]
    later = await slack.chat.read_thread(slack.thread, limit=50, after=messages[1].ts)
    assert [m.text for m in later] == ["m4"]


async def test_a_long_thread_is_read_over_several_pages(slack: SlackThread) -> None:
    for n in range(230):
        await slack.sim.say("U0BEN", "C0GENERAL", f"m{n}", thread_ts=slack.thread.root)
    assert [m.text for m in await slack.chat.read_thread(slack.thread, limit=2)] == ["m228", "m229"]


async def test_a_permalink_is_given_or_none(slack: SlackThread) -> None:
    assert slack.thread.root.replace(".", "") in (await slack.chat.permalink("C0GENERAL", slack.thread.root) or "")
    assert await slack.chat.permalink("C0GENERAL", "1.0") is None


async def test_a_stream_of_an_earlier_process_is_closed_with_a_note(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text("A text that was begun before the crash came.")
    seen = await slack.streaming()
    await slack.chat.close_stream("C0GENERAL", seen.ts, "interrupted")
    assert slack.texts()[0].endswith("_— interrupted —_")
    await reply.close()


async def test_the_cards_of_an_earlier_process_are_closed_as_failed(
    slack: SlackThread,
) -> None:
    reply = slack.reply()
    reply.task("c_1", "look", "in_progress")
    seen = await slack.streaming()
    await slack.chat.close_stream("C0GENERAL", seen.ts, "interrupted", [("c_1", "look")])
    assert [(t.title, t.status, t.output) for t in slack.answers()[0].tasks] == [("look", "error", "interrupted")]
    await reply.close()


async def test_closing_a_stream_twice_adds_one_note(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text("A text that was begun before the crash came.")
    seen = await slack.streaming()
    await slack.sim.fail_next("chat.stopStream", status=500, effect=True)
    await slack.chat.close_stream("C0GENERAL", seen.ts, "interrupted")
    await slack.chat.close_stream("C0GENERAL", seen.ts, "interrupted")
    assert slack.texts()[0].count("interrupted") == 1
    await reply.close()


async def test_an_ended_stream_of_an_earlier_process_gets_the_note_by_an_edit(slack: SlackThread) -> None:
    reply = slack.reply()
    reply.text("A text that was begun before the crash came.")
    seen = await slack.streaming()
    await slack.sim.expire_stream(seen.ts)
    await slack.chat.close_stream("C0GENERAL", seen.ts, "interrupted")
    assert "A text that was" in slack.texts()[0]
    assert slack.texts()[0].endswith("— interrupted —")
    await reply.close()


@pytest.mark.parametrize("ended", ["by Slack", "by a person"])
async def test_a_stream_that_ended_before_gets_its_cards_closed(slack: SlackThread, ended: str) -> None:
    reply = slack.reply()
    reply.task("c_1", "look", "in_progress")
    seen = await slack.streaming()
    if ended == "by Slack":
        await slack.sim.expire_stream(seen.ts)
    else:
        await slack.sim.press_stop("U0ANA", slack.thread.channel, slack.thread.root)
    await slack.chat.close_stream("C0GENERAL", seen.ts, "interrupted", [("c_1", "look")])
    assert [(t.title, t.status) for t in slack.answers()[0].tasks] == [("look", "error")]
    assert slack.texts()[0].endswith("— interrupted —")
    await reply.close()


def test_thread_links_lead_to_the_bots_workspace() -> None:
    me = Identity.from_auth_test({"team_id": "T1", "user_id": "U1", "bot_id": "B1", "url": "https://team.slack.com"})
    assert me.thread_link("C1", "12.000034", "here") == "[here](https://team.slack.com/archives/C1/p12000034)"


def test_an_org_wide_install_uses_its_enterprise_id_and_the_general_url() -> None:
    me = Identity.from_auth_test({"team_id": None, "enterprise_id": "E1", "user_id": "U1", "bot_id": "B1"})
    assert (me.team, me.url) == ("E1", "https://slack.com/")

"""What the bot may look up (slack.md §5.4, §5.5)."""

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.simulator.server import Simulator
from tests.bot.simulator.bolt_app import SCOPES, refused


async def test_auth_returns_the_bot_and_its_scopes(sim: Simulator, client: AsyncWebClient) -> None:
    answer = await client.auth_test()
    assert (answer["user_id"], answer["bot_id"], answer["team_id"]) == ("U0HERMES", "B0HERMES", "T0SIM")
    assert answer.headers["x-oauth-scopes"].split(",") == sorted(SCOPES)


async def test_a_thread_is_read_from_its_root(sim: Simulator, client: AsyncWebClient) -> None:
    root = await sim.say("U0ANA", "C0GENERAL", "root")
    replies = [await sim.say("U0BEN", "C0GENERAL", f"reply {i}", thread_ts=root) for i in range(5)]
    answer = await client.conversations_replies(channel="C0GENERAL", ts=root)
    assert [message["ts"] for message in answer["messages"]] == [root, *replies]
    only = await client.conversations_replies(channel="C0GENERAL", ts=replies[2])
    assert [message["ts"] for message in only["messages"]] == [replies[2]]
    await refused(client.conversations_replies(channel="C0GENERAL", ts="1.000001"), "thread_not_found")


async def test_a_long_thread_is_read_in_pages(sim: Simulator, client: AsyncWebClient) -> None:
    root = await sim.say("U0ANA", "C0GENERAL", "root")
    for i in range(5):
        await sim.say("U0BEN", "C0GENERAL", f"{i}", thread_ts=root)
    pages, cursor = [], ""
    while True:
        answer = await client.conversations_replies(channel="C0GENERAL", ts=root, limit=4, cursor=cursor)
        pages.append([message["text"] for message in answer["messages"]])
        cursor = answer["response_metadata"]["next_cursor"]
        if not answer["has_more"]:
            break
    assert pages == [["root", "0", "1", "2"], ["3", "4"]]
    await refused(client.conversations_replies(channel="C0GENERAL", ts=root, cursor="???"), "invalid_cursor")
    await refused(client.conversations_replies(channel="C0GENERAL", ts=root, limit=1_001), "invalid_limit")


async def test_history_is_limited_by_oldest_and_latest(sim: Simulator, client: AsyncWebClient) -> None:
    root = await sim.say("U0ANA", "C0GENERAL", "root")
    a, b, c = [await sim.say("U0BEN", "C0GENERAL", word, thread_ts=root) for word in "abc"]
    answer = await client.conversations_replies(channel="C0GENERAL", ts=root, oldest=a, latest=c)
    assert [message["text"] for message in answer["messages"]] == ["root", "b"]
    ends = await client.conversations_replies(channel="C0GENERAL", ts=root, oldest=b, inclusive=True)
    assert [message["text"] for message in ends["messages"]] == ["root", "b", "c"]


async def test_history_has_no_replies_and_starts_with_the_newest(sim: Simulator, client: AsyncWebClient) -> None:
    first = await sim.say("U0ANA", "C0GENERAL", "first")
    await sim.say("U0ANA", "C0GENERAL", "reply", thread_ts=first)
    await sim.say("U0ANA", "C0GENERAL", "second")
    answer = await client.conversations_history(channel="C0GENERAL")
    assert [message["text"] for message in answer["messages"]] == ["second", "first"]
    assert answer["messages"][1]["reply_count"] == 1


@pytest.mark.parametrize(
    ("channel", "error"),
    [("C0QUIET", "not_in_channel"), ("G0SECRET", "channel_not_found"), ("CX", "channel_not_found")],
)
async def test_the_bot_reads_only_its_channels(client: AsyncWebClient, channel: str, error: str) -> None:
    await refused(client.conversations_history(channel=channel), error)


async def test_a_distributed_app_reads_fifteen_messages_once_per_minute(sim: Simulator, client: AsyncWebClient) -> None:
    sim.switches.distributed = True
    for i in range(20):
        await sim.say("U0ANA", "C0GENERAL", f"{i}")
    assert len((await client.conversations_history(channel="C0GENERAL"))["messages"]) == 15
    await refused(client.conversations_history(channel="C0GENERAL"), "ratelimited")


async def test_channel_objects_have_their_type(client: AsyncWebClient) -> None:
    channels = {
        channel: (await client.conversations_info(channel=channel))["channel"]
        for channel in ("C0GENERAL", "G0PRIVATE", "G0TRIO", "D0ANA", "C0SHARED")
    }
    assert channels["G0PRIVATE"]["is_private"]
    assert channels["G0TRIO"]["is_mpim"]
    assert channels["D0ANA"]["user"] == "U0ANA"
    assert [name for name, channel in channels.items() if channel.get("is_ext_shared")] == ["C0SHARED"]
    await refused(client.conversations_info(channel="G0SECRET"), "channel_not_found")
    members = await client.conversations_members(channel="G0PRIVATE")
    assert members["members"] == ["U0ANA", "U0BEN", "U0HERMES"]


async def test_a_public_channel_says_whether_the_bot_is_a_member(sim: Simulator, client: AsyncWebClient) -> None:
    async def looked_up(channel: str) -> tuple[bool, bool]:
        found = (await client.conversations_info(channel=channel))["channel"]
        return found["is_member"], found["is_archived"]

    assert (await looked_up("C0GENERAL"), await looked_up("C0QUIET")) == ((True, False), (False, False))
    sim.workspace.channels["C0GENERAL"].is_archived = True
    assert await looked_up("C0GENERAL") == (False, True)


async def test_user_objects_have_their_type(client: AsyncWebClient) -> None:
    cho = (await client.users_info(user="U0CHO", include_locale=True))["user"]
    assert (cho["locale"], cho["tz"], cho["tz_offset"], cho["real_name"]) == (
        "zh-CN", "Asia/Shanghai", 28_800, "Cho 陈",
    )  # fmt: skip
    assert "locale" not in (await client.users_info(user="U0CHO"))["user"]
    assert (await client.users_info(user="U0GUEST"))["user"]["is_restricted"]
    stranger = (await client.users_info(user="U0EXT"))["user"]
    assert (stranger["is_stranger"], stranger["team_id"]) == (True, "T0OTHER")
    assert (await client.users_info(user="U0OTHERBOT"))["user"]["is_bot"]
    await refused(client.users_info(user="U0NOBODY"), "user_not_found")
    assert "U0EXT" not in [member["id"] for member in (await client.users_list())["members"]]


async def test_a_dm_and_a_group_are_looked_up(sim: Simulator, client: AsyncWebClient) -> None:
    assert (await client.conversations_open(users=["U0BEN"]))["channel"]["id"] == "D0BEN"
    await refused(client.usergroups_users_list(usergroup="S0OPS"), "no_such_subteam")
    sim.workspace.groups["S0OPS"] = ["U0ANA", "U0BEN"]
    assert (await client.usergroups_users_list(usergroup="S0OPS"))["users"] == ["U0ANA", "U0BEN"]


async def test_the_validator_needs_no_token(sim: Simulator) -> None:
    nobody = AsyncWebClient(base_url=sim.api_url)
    await nobody.blocks_validate(blocks=[{"type": "divider"}])
    await refused(nobody.blocks_validate(blocks=[{"type": "poem"}]), "invalid_blocks")
    await nobody.api_test()

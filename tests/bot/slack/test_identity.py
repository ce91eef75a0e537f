"""The bot's identity as auth.test returns it."""

from bot.slack.rate_limited_client import Identity


def test_thread_links_lead_to_the_bots_workspace() -> None:
    me = Identity.from_auth_test({"team_id": "T1", "user_id": "U1", "bot_id": "B1", "url": "https://team.slack.com"})
    assert me.thread_link("C1", "12.000034", "here") == "[here](https://team.slack.com/archives/C1/p12000034)"


def test_an_org_wide_install_uses_its_enterprise_id_and_the_general_url() -> None:
    me = Identity.from_auth_test({"team_id": None, "enterprise_id": "E1", "user_id": "U1", "bot_id": "B1"})
    assert (me.team, me.url) == ("E1", "https://slack.com/")

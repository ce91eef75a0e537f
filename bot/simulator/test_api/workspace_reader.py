"""What tests and the page can read."""

from collections.abc import Callable
from typing import TypeVar

from bot.simulator.api.simulated_web_api import LoggedCall, WebApi
from bot.simulator.people.visible_messages import VisibleMessage, visible_ephemeral, visible_message
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.slack_json import view_json
from bot.simulator.slack_records import AgentSession, Json

T = TypeVar("T")


class WorkspaceReader:
    """Reads the workspace; changes nothing."""

    def __init__(self, slack: SimulatedSlack, api: WebApi) -> None:
        self._slack = slack
        self._workspace = slack.workspace
        self._api = api

    def thread(self, channel: str, ts: str) -> list[VisibleMessage]:
        """Return the thread of this root as people see it, root first."""
        return [visible_message(self._workspace, message) for message in self._workspace.thread(channel, ts)]

    def message(self, channel: str, ts: str) -> VisibleMessage:
        """Return one message, or raise SimulatorError `message_not_found`."""
        return visible_message(self._workspace, self._workspace.message(channel, ts))

    def messages(self, channel: str) -> list[VisibleMessage]:
        """Return the top-level messages of the channel, oldest first."""
        return [visible_message(self._workspace, message) for message in self._workspace.top_level(channel)]

    def ephemerals(self, user: str, channel: str | None = None) -> list[VisibleMessage]:
        """Return what only this person sees, oldest first."""
        found = [one for one in self._workspace.ephemerals.values() if one.user == user]
        return [visible_ephemeral(one) for one in found if channel in (None, one.channel)]

    def modal(self, user: str) -> Json | None:
        """Return the top modal of a person in Slack's format, or None."""
        stack = self._workspace.modals.get(user)
        return view_json(self._workspace, stack[-1]) if stack else None

    def home(self, user: str) -> Json | None:
        """Return the person's home tab in Slack's format, or None."""
        view = self._workspace.homes.get(user)
        return view_json(self._workspace, view) if view else None

    def session(self, channel: str, thread_ts: str) -> AgentSession | None:
        """Return Slack's agent session of a thread with its `status` and `title`, or None."""
        list(self._workspace.thread(channel, thread_ts))  # an expired stream changes the session too
        return self._workspace.session(channel, thread_ts)

    def prompts(self, channel: str) -> Json | None:
        """Return the prompts suggested in a DM, or None."""
        return self._workspace.prompts.get(channel)

    def calls(self, method: str | None = None) -> list[LoggedCall]:
        """Return the Web API calls so far, oldest first; empty without the log."""
        return [call for call in self._api.log if method in (None, call.method)]

    async def wait_for(self, predicate: Callable[[], T], timeout: float = 30.0) -> T:
        """Return the first true value of `predicate`, called now and after each change, or raise TimeoutError."""
        return await self._slack.changes.until(predicate, timeout)

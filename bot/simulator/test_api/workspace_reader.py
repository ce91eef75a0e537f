"""What a test or the page may look at."""

from collections.abc import Callable
from typing import TypeVar

from bot.simulator.api.web_api import LoggedCall, WebApi
from bot.simulator.people.visible_messages import VisibleMessage, visible_ephemeral, visible_message
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.slack_json import view_json
from bot.simulator.slack_records import AgentSession, Json
from bot.simulator.workspace import BOT

T = TypeVar("T")


class WorkspaceReader:
    """Reads the workspace; changes nothing."""

    def __init__(self, slack: SimulatedSlack, api: WebApi) -> None:
        self._slack = slack
        self._workspace = slack.workspace
        self._api = api

    def thread(self, channel: str, ts: str) -> list[VisibleMessage]:
        """The thread of this root, root first, as people see it."""
        return [visible_message(self._workspace, message) for message in self._workspace.thread(channel, ts)]

    def message(self, channel: str, ts: str) -> VisibleMessage:
        """One message; raises SlackError `message_not_found`."""
        return visible_message(self._workspace, self._workspace.message(channel, ts))

    def messages(self, channel: str) -> list[VisibleMessage]:
        """What stands in the channel itself, oldest first, replies left out."""
        found = self._workspace.channel(channel).messages.values()
        tops = [m for m in found if m.root == m.ts or m.subtype == "thread_broadcast"]
        return [visible_message(self._workspace, message) for message in tops]

    def ephemerals(self, user: str, channel: str | None = None) -> list[VisibleMessage]:
        """What only this person sees, oldest first."""
        found = [one for one in self._workspace.ephemerals.values() if one.user == user]
        return [visible_ephemeral(one, BOT) for one in found if channel in (None, one.channel)]

    def modal(self, user: str) -> Json | None:
        """The topmost modal of a person in Slack's shape, or None."""
        stack = self._workspace.modals.get(user)
        return view_json(self._workspace, stack[-1]) if stack else None

    def home(self, user: str) -> Json | None:
        """The person's home tab in Slack's shape, or None."""
        view = self._workspace.homes.get(user)
        return view_json(self._workspace, view) if view else None

    def session(self, channel: str, thread_ts: str) -> AgentSession | None:
        """Slack's agent session of a thread with its `status` and `title`, or None."""
        for message in self._workspace.thread(channel, thread_ts):
            self._workspace.expire_stream(message)  # a stream that ended takes the session with it
        return self._workspace.session(channel, thread_ts)

    def prompts(self, channel: str) -> Json | None:
        """The prompts suggested in a DM, or None."""
        return self._workspace.prompts.get(channel)

    def calls(self, method: str | None = None) -> list[LoggedCall]:
        """The Web API calls so far, oldest first; none when the log is off."""
        return [call for call in self._api.log if method in (None, call.method)]

    async def wait_for(self, predicate: Callable[[], T], timeout: float = 5.0) -> T:
        """The first true value of `predicate`, asked now and after every change; TimeoutError otherwise."""
        return await self._slack.changes.until(predicate, timeout)

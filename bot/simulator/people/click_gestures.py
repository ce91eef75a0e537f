"""What people press and command (slack.md §3.2, §6)."""

import contextlib

from bot.simulator.api.response_urls import ResponseUrls
from bot.simulator.events.slack_payloads import channel_of, interaction, slash_command
from bot.simulator.events.socket_mode import SocketMode
from bot.simulator.people.answers import GestureResult
from bot.simulator.people.interactive_elements import action_of, find_element, find_target
from bot.simulator.people.visible_messages import VisibleMessage, visible_ephemeral, visible_message
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.slack_errors import SlackError
from bot.simulator.slack_json import message_json, view_json
from bot.simulator.slack_records import Channel, Json, Person, ResponseUrl
from bot.simulator.workspace import BOT


class ClickGestures:
    """Gestures that ask the app for an answer; each raises SlackError when Slack would not offer it."""

    def __init__(self, slack: SimulatedSlack, sockets: SocketMode, responses: ResponseUrls) -> None:
        self._slack = slack
        self._workspace = slack.workspace
        self._sockets = sockets
        self._responses = responses
        self._team = {"id": slack.settings.team_id, "domain": slack.settings.team_domain}

    async def click(
        self,
        user: str,
        message_ts: str,
        action_id: str,
        value: str | None = None,
        *,
        stale: bool = False,
        answers: int = 0,
        timeout: float = 5.0,
    ) -> GestureResult:
        """Press a button, or choose the option `value` of a menu, of a message or an ephemeral.

        Waits for the acknowledgement and then for `answers` answers through the response_url. `stale` clicks what the
        person's screen still showed: an element that is not there, or not any more.
        """
        target = find_target(self._workspace, user, message_ts)
        try:
            element, block_id = find_element(target.blocks, user, action_id, value)
        except SlackError:
            if not stale:
                raise
            element, block_id = {"type": "button", "action_id": action_id, "value": value or ""}, "stale"
        url = self._workspace.new_response_url(
            user,
            target.channel.id,
            thread_ts=target.thread_ts,
            message_ts=message_ts if target.message else None,
            ephemeral_ts=None if target.message else message_ts,
        )
        payload = interaction("block_actions", self._workspace.person(user), self._team) | {
            "container": target.container(),
            "channel": channel_of(target.channel),
            "state": {"values": {}},
            "actions": [action_of(element, block_id, self._workspace.next_ts())],
        }
        if target.message:
            payload["message"] = message_json(self._workspace, target.message, with_metadata=True)
        return await self._gesture("interactive", payload, url, (answers, timeout))

    async def command(
        self,
        user: str,
        channel: str,
        command: str,
        text: str = "",
        *,
        answers: int = 1,
        timeout: float = 5.0,
        thread_ts: str | None = None,
    ) -> GestureResult:
        """Type a slash command; waits for its acknowledgement, then up to `timeout` seconds for `answers` answers.

        Raises SlackError in a thread, where Slack knows no commands, and for a command the manifest does not list.
        """
        if thread_ts:
            raise SlackError("commands_do_not_work_in_threads")
        about = self._slack.app.commands.get(command)
        if about is None:
            raise SlackError("no_such_command", command)
        place, person = self._member(user, channel)
        if person.is_stranger:
            raise SlackError("no_such_command", "external people cannot use our commands")  # slack.md §5.5
        typed = self._escaped(text) if about.get("should_escape") else text
        url = self._workspace.new_response_url(user, channel)
        payload = slash_command(command, typed.strip(), person, place, self._team)
        return await self._gesture("slash_commands", payload, url, (answers, timeout))

    async def press_stop(self, user: str, channel: str, thread_ts: str) -> list[str]:
        """Press Slack's own Stop button: Slack ends the open streams of the thread, whose ts are returned."""
        place, _ = self._member(user, channel)
        session = self._workspace.session(channel, thread_ts)
        subscribed = self._slack.events.subscribed("agent_session_stopped")
        if not session or session.status != "processing" or not subscribed:
            raise SlackError("no_stop_button")
        stopped = []
        for message in self._workspace.thread(channel, thread_ts):
            if message.stream and message.stream.state == "open":
                message.stream.state = "stopped"
                stopped.append(message.ts)
                self._slack.changes.notify("message", channel, message.ts)
        event = {"type": "agent_session_stopped", "channel": place.id, "thread_ts": thread_ts, "user": user}
        event_ts = self._workspace.next_ts()
        self._slack.events.publish({**event, "streaming_message_ts": stopped, "event_ts": event_ts}, place.id)
        return stopped

    async def open_home(self, user: str, tab: str = "home") -> bool:
        """Look at the app's own place, tab `home` or `messages`; whether the app asked to hear of it."""
        place = self._workspace.dm(user)
        if not self._slack.events.subscribed("app_home_opened"):
            return False
        event: Json = {"type": "app_home_opened", "user": user, "channel": place.id, "tab": tab}
        if home := self._workspace.homes.get(user):
            event["view"] = view_json(self._workspace, home)
        self._slack.events.publish({**event, "event_ts": self._workspace.next_ts()}, place.id)
        return True

    def _member(self, user: str, channel: str) -> tuple[Channel, Person]:
        place, person = self._workspace.channel(channel), self._workspace.person(user)
        if user not in place.members:
            raise SlackError("not_in_channel")
        return place, person

    def _escaped(self, text: str) -> str:
        for person in self._workspace.people.values():
            text = text.replace(f"@{person.name}", f"<@{person.id}|{person.name}>")
        return text

    async def _gesture(self, kind: str, payload: Json, url: ResponseUrl, wanted: tuple[int, float]) -> GestureResult:
        """Send a gesture, show what its acknowledgement says, and wait for so many answers for so many seconds."""
        trigger = self._workspace.new_trigger(url.user)
        payload |= {"response_url": self._responses.address(url), "trigger_id": trigger.id}
        is_command = kind == "slash_commands"
        answer = await self._sockets.send_gesture(kind, payload, wants_answer=is_command)
        if answer and is_command:
            self._responses.show(url, answer)
        count, timeout = wanted
        if answer is not None and len(url.replies) < count:
            with contextlib.suppress(TimeoutError):
                await self._slack.changes.until(lambda: len(url.replies) >= count, timeout)
        return GestureResult(answer is not None, answer or {}, [self._see(url.channel, reply) for reply in url.replies])

    def _see(self, channel: str, reply: tuple[str, str]) -> VisibleMessage:
        kind, ts = reply
        if kind == "ephemeral":
            return visible_ephemeral(self._workspace.ephemerals[ts], BOT)
        return visible_message(self._workspace, self._workspace.message(channel, ts))

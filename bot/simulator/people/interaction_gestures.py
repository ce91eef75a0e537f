"""Clicks, slash commands, modals and Slack's own Stop button (slack.md §3.2, §6)."""

import contextlib

from bot.simulator.api.response_urls import ResponseUrls
from bot.simulator.events.simulated_socket_mode import SocketMode
from bot.simulator.events.slack_payloads import interaction, interaction_channel, slash_command
from bot.simulator.people.interactive_elements import action_payload, find_element, find_target, view_values
from bot.simulator.people.visible_messages import GestureResult, VisibleMessage, visible_ephemeral, visible_message
from bot.simulator.rules.block_rules import check_view
from bot.simulator.rules.slack_limits import VIEW_STACK
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.simulator_errors import SimulatorError
from bot.simulator.slack_json import message_json, view_json
from bot.simulator.slack_records import Json, ResponseUrl, View


class InteractionGestures:
    """Gestures that the app acknowledges; each raises SimulatorError if Slack would not offer it."""

    def __init__(self, slack: SimulatedSlack, sockets: SocketMode, response_urls: ResponseUrls) -> None:
        self._slack = slack
        self._workspace = slack.workspace
        self._sockets = sockets
        self._response_urls = response_urls
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
        """Click a button of a message, or choose the option `value` of a menu.

        Wait for the acknowledgement, then up to `timeout` seconds for `answers` answers through the response_url. With
        `stale` the message may lack the element: the person still sees an older version.
        """
        target = find_target(self._workspace, user, message_ts)
        try:
            element, block_id = find_element(target.blocks, user, action_id, value)
        except SimulatorError:
            if not stale:
                raise
            element, block_id = {"type": "button", "action_id": action_id, "value": value or ""}, "stale"
        url = self._workspace.new_response_url(
            user,
            target.channel.id,
            message_ts=message_ts if target.message else None,
            ephemeral_ts=None if target.message else message_ts,
        )
        payload = interaction("block_actions", self._workspace.person(user), self._team) | {
            "container": target.container(),
            "channel": interaction_channel(target.channel),
            "state": {"values": {}},
            "actions": [action_payload(element, block_id, self._workspace.next_ts())],
        }
        if target.message:
            payload["message"] = message_json(self._workspace, target.message, with_metadata=True)
        return await self._send("interactive", payload, url, (answers, timeout))

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
        """Type a slash command; wait for its acknowledgement, then up to `timeout` seconds for `answers` answers.

        Raise SimulatorError in a thread, where slash commands do not work, and for a command not in the manifest.
        """
        if thread_ts:
            raise SimulatorError("commands_do_not_work_in_threads")
        about = self._slack.app.commands.get(command)
        if about is None:
            raise SimulatorError("no_such_command", command)
        where, person = self._workspace.channel_of_member(user, channel), self._workspace.person(user)
        if person.is_stranger:
            raise SimulatorError("no_such_command", "external people cannot use our commands")  # slack.md §5.5
        typed = self._with_user_ids(text) if about.get("should_escape") else text
        url = self._workspace.new_response_url(user, channel)
        payload = slash_command(command, typed.strip(), person, where, self._team)
        return await self._send("slash_commands", payload, url, (answers, timeout))

    async def press_stop(self, user: str, channel: str, thread_ts: str) -> list[str]:
        """Press Slack's Stop button; return the ts of the open streams of the thread, which Slack ends."""
        self._workspace.channel_of_member(user, channel)
        session = self._workspace.session(channel, thread_ts)
        subscribed = self._slack.events.subscribed("agent_session_stopped")
        if not session or session.status != "processing" or not subscribed:
            raise SimulatorError("no_stop_button")
        stopped = []
        for message in self._workspace.thread(channel, thread_ts):
            if message.stream and message.stream.state == "open":
                message.stream.state = "stopped"
                stopped.append(message.ts)
                self._slack.changes.notify("message", channel, message.ts)
        event = {"type": "agent_session_stopped", "channel": channel, "thread_ts": thread_ts, "user": user}
        event_ts = self._workspace.next_ts()
        self._slack.events.publish({**event, "streaming_message_ts": stopped, "event_ts": event_ts}, channel)
        return stopped

    async def open_home(self, user: str, tab: str = "home") -> bool:
        """Open the app's `home` or `messages` tab; return True if the app subscribed to the event."""
        dm = self._workspace.dm(user)
        if not self._slack.events.subscribed("app_home_opened"):
            return False
        event: Json = {"type": "app_home_opened", "user": user, "channel": dm.id, "tab": tab}
        if home := self._workspace.homes.get(user):
            event["view"] = view_json(self._workspace, home)
        self._slack.events.publish({**event, "event_ts": self._workspace.next_ts()}, dm.id)
        return True

    async def submit_view(self, user: str, values: Json | None = None) -> GestureResult:
        """Submit the top modal; `values` are by block_id or action_id, other inputs keep their initial values.

        Raise SimulatorError `no_view_open`, or `missing_input` as Slack's client would.
        """
        view = self._top_view(user)
        state = {"state": {"values": view_values(view.content, values or {})}}
        payload = {"view": view_json(self._workspace, view) | state, "response_urls": []}
        result = await self._send_view("view_submission", user, payload)
        if result.acked:
            self._apply_response_action(user, view, result.payload)
        return result

    async def close_view(self, user: str) -> GestureResult:
        """Close the top modal; the app is notified if the view has `notify_on_close`."""
        view = self._top_view(user)
        self._workspace.modals[user].remove(view)
        self._slack.changes.notify("view", user, view.id)
        if not view.content.get("notify_on_close"):
            return GestureResult(acked=True)
        payload = {"view": view_json(self._workspace, view), "is_cleared": False}
        return await self._send_view("view_closed", user, payload)

    async def click_view(self, user: str, action_id: str, value: str | None = None) -> GestureResult:
        """Click a button or choose an option in the top modal; there is no response_url."""
        view = self._top_view(user)
        element, block_id = find_element(view.content["blocks"], user, action_id, value)
        payload = {
            "container": {"type": "view", "view_id": view.id},
            "view": view_json(self._workspace, view),
            "actions": [action_payload(element, block_id, self._workspace.next_ts())],
        }
        return await self._send_view("block_actions", user, payload)

    def _with_user_ids(self, text: str) -> str:
        for person in self._workspace.people.values():
            text = text.replace(f"@{person.name}", f"<@{person.id}|{person.name}>")
        return text

    def _top_view(self, user: str) -> View:
        stack = self._workspace.modals.get(user)
        if not stack:
            raise SimulatorError("no_view_open")
        return stack[-1]

    def _apply_response_action(self, user: str, view: View, answer: Json) -> None:
        """Change the modals as the answer to a submission says; without an action the modal closes."""
        stack, action = self._workspace.modals[user], answer.get("response_action")
        if action == "errors":
            return
        if action in ("update", "push"):
            check_view(answer["view"])
        if action == "update":
            view.content, view.hash = answer["view"], self._workspace.new_hash()
        elif action == "push":
            if len(stack) >= VIEW_STACK:
                raise SimulatorError("push_limit_reached")
            stack.append(self._workspace.new_view(user, answer["view"], stack[0].id))
        elif action == "clear":
            stack.clear()
        else:
            stack.remove(view)
        self._slack.changes.notify("view", user, view.id)

    async def _send_view(self, kind: str, user: str, payload: Json) -> GestureResult:
        payload = interaction(kind, self._workspace.person(user), self._team) | payload
        payload["trigger_id"] = self._workspace.new_trigger(user).id
        answer = await self._sockets.send_gesture("interactive", payload, wants_answer=kind == "view_submission")
        return GestureResult(answer is not None, answer or {})

    async def _send(self, kind: str, payload: Json, url: ResponseUrl, wanted: tuple[int, float]) -> GestureResult:
        """Send a gesture, show the answer in its acknowledgement, and wait for a number of answers, in seconds."""
        is_command, (count, timeout) = kind == "slash_commands", wanted
        payload["response_url"] = self._response_urls.address(url)
        payload["trigger_id"] = self._workspace.new_trigger(url.user).id
        answer = await self._sockets.send_gesture(kind, payload, wants_answer=is_command)
        if answer and is_command:
            self._response_urls.show(url, answer)
        if answer is not None and len(url.replies) < count:
            with contextlib.suppress(TimeoutError):
                await self._slack.changes.until(lambda: len(url.replies) >= count, timeout)
        replies = [self._reply(url.channel, *reply) for reply in url.replies]
        return GestureResult(answer is not None, answer or {}, replies)

    def _reply(self, channel: str, kind: str, ts: str) -> VisibleMessage:
        if kind == "ephemeral":
            return visible_ephemeral(self._workspace.ephemerals[ts])
        return visible_message(self._workspace, self._workspace.message(channel, ts))

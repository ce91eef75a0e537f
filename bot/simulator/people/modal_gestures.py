"""What people do in modals (slack.md §6.1)."""

from bot.simulator.events.slack_payloads import interaction
from bot.simulator.events.socket_mode import SocketMode
from bot.simulator.people.answers import GestureResult
from bot.simulator.people.interactive_elements import action_of, find_element
from bot.simulator.people.view_state import fill
from bot.simulator.rules.block_rules import check_view
from bot.simulator.rules.slack_limits import VIEW_STACK
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.slack_errors import SlackError
from bot.simulator.slack_json import view_json
from bot.simulator.slack_records import Json, View


class ModalGestures:
    """Gestures inside a modal; each raises SlackError `no_view_open` when there is none."""

    def __init__(self, slack: SimulatedSlack, sockets: SocketMode) -> None:
        self._slack = slack
        self._workspace = slack.workspace
        self._sockets = sockets
        self._team = {"id": slack.settings.team_id, "domain": slack.settings.team_domain}

    async def submit_view(self, user: str, values: Json | None = None) -> GestureResult:
        """Submit the topmost modal with these values, by block_id or action_id; others keep what stands in them.

        Raises SlackError `missing_input` as Slack's client would.
        """
        view = self._top(user)
        shape = view_json(self._workspace, view) | {"state": {"values": fill(view.content, values or {})}}
        payload = self._payload("view_submission", user) | {"view": shape, "response_urls": []}
        answer = await self._sockets.send_gesture("interactive", payload, wants_answer=True)
        if answer is not None:
            self._obey(user, view, answer)
        return GestureResult(answer is not None, answer or {})

    async def close_view(self, user: str) -> GestureResult:
        """Close the topmost modal; the app hears of it when it asked to (`notify_on_close`)."""
        view = self._top(user)
        self._workspace.modals[user].remove(view)
        self._slack.changes.notify("view", user, view.id)
        if not view.content.get("notify_on_close"):
            return GestureResult(acked=True)
        payload = self._payload("view_closed", user) | {"view": view_json(self._workspace, view), "is_cleared": False}
        answer = await self._sockets.send_gesture("interactive", payload, wants_answer=False)
        return GestureResult(answer is not None, answer or {})

    async def click_view(self, user: str, action_id: str, value: str | None = None) -> GestureResult:
        """Press a button or choose an option inside the topmost modal; there is no response_url."""
        view = self._top(user)
        element, block_id = find_element(view.content["blocks"], user, action_id, value)
        payload = self._payload("block_actions", user) | {
            "container": {"type": "view", "view_id": view.id},
            "view": view_json(self._workspace, view),
            "actions": [action_of(element, block_id, self._workspace.next_ts())],
        }
        answer = await self._sockets.send_gesture("interactive", payload, wants_answer=False)
        return GestureResult(answer is not None, answer or {})

    def _payload(self, kind: str, user: str) -> Json:
        payload = interaction(kind, self._workspace.person(user), self._team)
        return payload | {"trigger_id": self._workspace.new_trigger(user).id}

    def _top(self, user: str) -> View:
        stack = self._workspace.modals.get(user)
        if not stack:
            raise SlackError("no_view_open")
        return stack[-1]

    def _obey(self, user: str, view: View, answer: Json) -> None:
        """Do with the modal what the answer to its submission says."""
        stack = self._workspace.modals[user]
        action = answer.get("response_action")
        if action == "errors":
            return
        if action in ("update", "push"):
            check_view(answer["view"])
        if action == "update":
            view.content, view.hash = answer["view"], self._workspace.new_hash()
        elif action == "push":
            if len(stack) >= VIEW_STACK:
                raise SlackError("push_limit_reached")
            stack.append(self._workspace.new_view(user, answer["view"], stack[0].id))
        elif action == "clear":
            stack.clear()
        else:
            stack.remove(view)
        self._slack.changes.notify("view", user, view.id)

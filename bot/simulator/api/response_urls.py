"""The app's answers to a gesture, through a response_url or its acknowledgement (slack.md §6.1, §6.2)."""

import json

from aiohttp import web

from bot.simulator.api.api_method import Arguments
from bot.simulator.api.chat_methods import read_content, thread_of_post
from bot.simulator.api.faults_and_rate_limits import Faults
from bot.simulator.rules.slack_limits import RESPONSE_URL_USES
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.simulated_workspace import BOT, BOT_ID
from bot.simulator.simulator_errors import SimulatorError
from bot.simulator.slack_records import Ephemeral, Json, Message, ResponseUrl


class ResponseUrls:
    """Shows the answers to the person of the gesture, or to everybody in the channel."""

    def __init__(self, slack: SimulatedSlack, faults: Faults) -> None:
        self._slack = slack
        self._faults = faults

    def address(self, url: ResponseUrl) -> str:
        """Return the address for the app."""
        return f"{self._slack.base_url}/response/{url.token}"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a POST of the app. Faults for these requests are named `response_url`."""
        if fault := self._faults.take("response_url"):
            return web.json_response({"ok": False, "error": fault.error or "fault"}, status=fault.status or 500)
        url = self._slack.workspace.response_urls.get(request.match_info["token"])
        try:
            if url is None or url.expires < self._slack.workspace.now():
                raise SimulatorError("expired_url")
            if url.uses >= RESPONSE_URL_USES:
                raise SimulatorError("used_url")
            body = json.loads(await request.read())
            if not isinstance(body, dict):
                raise SimulatorError("invalid_payload")
            self.show(url, body)
        except ValueError:
            return web.json_response({"ok": False, "error": "invalid_payload"}, status=400)
        except SimulatorError as error:
            status = 404 if error.code in ("expired_url", "used_url") else 400
            return web.json_response(error.body(), status=status)
        url.uses += 1
        return web.Response(text="ok")

    def show(self, url: ResponseUrl, body: Json) -> None:
        """Show one answer; raise SimulatorError for content that Slack would refuse."""
        if body.get("delete_original"):
            self._delete_original(url)
            return
        args = Arguments(body)
        content = read_content(args)
        if body.get("replace_original") and (url.ephemeral_ts or url.message_ts):
            self._replace_original(url, content)
            return
        ts = self._slack.workspace.next_ts()
        if body.get("response_type") == "in_channel":
            thread_ts = thread_of_post(self._slack, self._slack.workspace.channel(url.channel), args)
            url.replies.append(("message", ts))
            self._slack.post(Message(url.channel, ts, BOT, bot_id=BOT_ID, thread_ts=thread_ts, **content))
            return
        url.replies.append(("ephemeral", ts))
        ephemeral = Ephemeral(url.channel, url.user, ts, thread_ts=body.get("thread_ts"), **content)
        self._slack.show_ephemeral(ephemeral)

    def _replace_original(self, url: ResponseUrl, content: Json) -> None:
        """Change the original message; an ephemeral one stays ephemeral (slack.md §6.1)."""
        if url.ephemeral_ts:
            original = self._slack.workspace.ephemerals.get(url.ephemeral_ts)
            if original is None:
                raise SimulatorError("message_not_found")
            original.text, original.format, original.blocks = content["text"], content["format"], content["blocks"]
            url.replies.append(("ephemeral", original.ts))
            self._slack.show_ephemeral(original)
            return
        message = self._slack.workspace.message(url.channel, url.message_ts or "")
        url.replies.append(("message", message.ts))
        with self._slack.changing(message):
            message.text, message.format, message.blocks = content["text"], content["format"], content["blocks"]
            message.edited = {"user": BOT, "ts": self._slack.workspace.next_ts()}

    def _delete_original(self, url: ResponseUrl) -> None:
        workspace = self._slack.workspace
        if url.ephemeral_ts:
            if workspace.ephemerals.pop(url.ephemeral_ts, None):
                self._slack.changes.notify("ephemeral", url.channel, url.ephemeral_ts)
        elif url.message_ts:
            self._slack.remove(workspace.message(url.channel, url.message_ts))

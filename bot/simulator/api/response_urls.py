"""What the app answers to a gesture: through its acknowledgement or a response_url (slack.md §6.1, §6.2)."""

import json

from aiohttp import web

from bot.simulator.api.api_method import Arguments
from bot.simulator.api.chat_methods import read_content, show
from bot.simulator.api.faults_and_rate_limits import Faults
from bot.simulator.rules.slack_limits import RESPONSE_URL_USES
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.slack_errors import SlackError
from bot.simulator.slack_json import message_json
from bot.simulator.slack_records import Ephemeral, Json, Message, ResponseUrl
from bot.simulator.workspace import BOT, BOT_ID


class ResponseUrls:
    """Shows answers to the person who clicked or typed, or to everybody."""

    def __init__(self, slack: SimulatedSlack, faults: Faults) -> None:
        self._slack = slack
        self._faults = faults

    def address(self, url: ResponseUrl) -> str:
        """The response_url of a gesture."""
        return f"{self._slack.base_url}/response/{url.token}"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a POST to a response_url: five within thirty minutes. Faults wait for it as method `response_url`."""
        if fault := self._faults.take("response_url"):
            return web.json_response({"ok": False, "error": fault.error or "fault"}, status=fault.status or 500)
        url = self._slack.workspace.response_urls.get(request.match_info["token"])
        try:
            if url is None or url.expires < self._slack.workspace.now():
                raise SlackError("expired_url")
            if url.uses >= RESPONSE_URL_USES:
                raise SlackError("used_url")
            body = json.loads(await request.read())
            if not isinstance(body, dict):
                raise SlackError("invalid_payload")
            self.show(url, body)
        except ValueError:
            return web.json_response({"ok": False, "error": "invalid_payload"}, status=400)
        except SlackError as refusal:
            status = 404 if refusal.code in ("expired_url", "used_url") else 400
            return web.json_response(refusal.body(), status=status)
        url.uses += 1
        return web.Response(text="ok")

    def show(self, url: ResponseUrl, body: Json) -> None:
        """Carry one answer out; raises SlackError for content Slack would not show."""
        if body.get("delete_original"):
            self._delete(url)
            return
        content = read_content(Arguments(body))
        if body.get("replace_original") and (url.ephemeral_ts or url.message_ts):
            self._replace(url, content)
            return
        if body.get("response_type") == "in_channel":
            self._post(url, content, body)
            return
        ts = self._slack.workspace.next_ts()
        ephemeral = Ephemeral(url.channel, url.user, ts, thread_ts=body.get("thread_ts"), **content)
        self._slack.workspace.add_ephemeral(ephemeral)
        url.replies.append(("ephemeral", ts))
        self._slack.changes.notify("ephemeral", url.channel, ts)

    def _post(self, url: ResponseUrl, content: Json, body: Json) -> None:
        ts, thread_ts = self._slack.workspace.next_ts(), body.get("thread_ts")
        if thread_ts:
            self._slack.workspace.thread_root(url.channel, thread_ts)
        url.replies.append(("message", ts))
        show(self._slack, Message(url.channel, ts, BOT, bot_id=BOT_ID, thread_ts=thread_ts, **content))

    def _replace(self, url: ResponseUrl, content: Json) -> None:
        """Change the original; an ephemeral one stays ephemeral (slack.md §6.1)."""
        if url.ephemeral_ts:
            original = self._slack.workspace.ephemerals.get(url.ephemeral_ts)
            if original is None:
                raise SlackError("message_not_found")
            original.text, original.format, original.blocks = content["text"], content["format"], content["blocks"]
            url.replies.append(("ephemeral", original.ts))
            self._slack.changes.notify("ephemeral", original.channel, original.ts)
            return
        message = self._slack.workspace.message(url.channel, url.message_ts or "")
        previous = message_json(self._slack.workspace, message)
        message.text, message.format, message.blocks = content["text"], content["format"], content["blocks"]
        message.edited = {"user": BOT, "ts": self._slack.workspace.next_ts()}
        url.replies.append(("message", message.ts))
        self._slack.events.message_changed(message, previous)
        self._slack.changes.notify("message", message.channel, message.ts)

    def _delete(self, url: ResponseUrl) -> None:
        workspace = self._slack.workspace
        if url.ephemeral_ts:
            if workspace.ephemerals.pop(url.ephemeral_ts, None):
                self._slack.changes.notify("ephemeral", url.channel, url.ephemeral_ts)
        elif url.message_ts:
            message = workspace.message(url.channel, url.message_ts)
            previous = message_json(workspace, message)
            workspace.remove_message(message)
            self._slack.events.message_deleted(message, previous)
            self._slack.changes.notify("message", message.channel, message.ts)

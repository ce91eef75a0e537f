"""Chat on Slack's Web API: messages, approval cards, statuses, lookups, and the replies of turns."""

import logging
import time
from collections.abc import Collection, Sequence
from typing import Any

from bot.ports import ApprovalCard, Button, PartRecorder, ReplySpec, SessionStatus
from bot.slack.rate_limited_client import Args, Identity, RateLimiter, SlackClient, with_retries
from bot.slack.render.approval_card import card_blocks, card_text, full_view
from bot.slack.render.block_kit import context
from bot.slack.render.reply_blocks import content_with_buttons
from bot.slack.render.slack_text import escape, neutralize_mentions
from bot.slack.render.split_markdown import split
from bot.slack.reply.live_reply import LiveReply
from bot.slack.reply.reply_content import Item, TaskCard, as_chunks, end_note
from bot.slack.reply.reply_services import ReplyContext, ReplyTiming
from bot.slack.sent_messages import SentMessages, as_posted
from bot.slack.session_status import SessionStatuses
from bot.slack.slack_errors import ENDED, STOPPED, is_lost, is_transient
from storage.records import Person, Place, PlaceKind, Thread
from tools.text_cleanup import storable
from tools.tool_context import ChatError, Posted
from tools.visible_text import visible, without_hidden

log = logging.getLogger("bot.slack")


class SlackChat:
    """Implements `bot.ports.Chat` for one workspace. Create it with `SlackChat.open(…)`, end it with `close()`."""

    def __init__(self, client: SlackClient, me: Identity, *, timing: ReplyTiming | None = None) -> None:
        self.client = client
        self.me = me
        self._timing = timing or ReplyTiming()
        self._messages = SentMessages(client, me, self._timing.backoff[:2])
        self._statuses = SessionStatuses(client)
        self._context = ReplyContext(client, self._messages, self._statuses, time.time, self._timing)

    @classmethod
    async def open(cls, token: str, base_url: str, *, timing: ReplyTiming | None = None) -> "SlackChat":
        """Check the token with auth.test and return the chat. Raise ChatError: "invalid_auth", "unreachable", …"""
        client = SlackClient(token, base_url, RateLimiter(time.monotonic))
        try:
            me = Identity.from_auth_test(await client.call("auth.test", {}))
            return cls(client, me, timing=timing)
        except BaseException:
            await client.close()
            raise

    async def close(self) -> None:
        """Close the connections. Call it after every reply was closed."""
        await self.client.close()

    def reply(self, spec: ReplySpec, recorder: PartRecorder) -> LiveReply:
        return LiveReply(self._context, spec, recorder)

    async def close_stream(self, channel: str, ts: str, note: str, open_calls: Sequence[tuple[str, str]] = ()) -> None:
        args: Args = {"channel": channel, "ts": ts}
        items: list[Item] = [TaskCard(key, name, "error", note or None) for key, name in open_calls]
        if note:
            items.append(end_note(note))
        if items:
            args["chunks"] = as_chunks(items)
        try:
            await with_retries(lambda: self.client.call("chat.stopStream", args), self._timing.backoff[:2], is_lost)
        except ChatError as error:
            if error.code == "message_not_found" or error.code not in ENDED | {STOPPED}:
                raise
            if note:
                await self._add_end_note(channel, ts, note)

    async def post(self, thread: Thread, markdown: str, *, key: str, sent_parts: Collection[int] = ()) -> list[str]:
        parts = enumerate(split(neutralize_mentions(without_hidden(markdown))))
        posted: list[str] = []
        for part, text in parts:
            if part in sent_parts:
                continue
            try:
                posted.append(await self._messages.post(thread, {"markdown_text": text}, key=key, part=part))
            except ChatError as error:
                raise ChatError(error.code, uncertain=error.uncertain, partial=bool(posted)) from None
        return posted

    async def post_ephemeral(self, thread: Thread, user: str, markdown: str, buttons: Sequence[Button] = ()) -> None:
        texts = split(neutralize_mentions(visible(markdown, keep_emoji=True)))
        where: Args = {"channel": thread.channel, "user": user} | ({"thread_ts": thread.root} if thread.root else {})
        for n, text in enumerate(texts, 1):
            is_last = n == len(texts)
            content = content_with_buttons(text, buttons) if buttons and is_last else {"markdown_text": text}
            await self.client.call("chat.postEphemeral", where | content, thread=thread.root)

    async def post_card(self, card: ApprovalCard, *, key: str) -> str:
        return await self._messages.post(card.approval.thread, card_content(card), key=key)

    async def update_card(self, card: ApprovalCard, ts: str) -> None:
        thread = card.approval.thread
        await self._messages.update(thread.channel, ts, card_content(card), root=thread.root)

    async def open_in_full(self, card: ApprovalCard, reader: str, trigger: str) -> None:
        args: Args = {"trigger_id": trigger, "view": full_view(card, reader)}
        await self.client.call("views.open", args, max_wait=2.0)  # Slack accepts a trigger for three seconds

    async def set_status(self, thread: Thread, status: SessionStatus) -> None:
        await self._statuses.set(thread, status)

    async def read_thread(self, thread: Thread, *, limit: int, after: str | None = None) -> list[Posted]:
        messages = await self._messages.read_raw(thread, after=after)
        return [as_posted(message, self.me) for message in messages][-limit:]

    async def find_sent(
        self, thread: Thread, keys: Collection[str], *, after: str | None, recorded: Collection[str] | None = None
    ) -> list[Posted]:
        return await self._messages.find(thread, keys, after=after, recorded=recorded)

    async def person(self, team: str, user: str, *, max_wait: float = 10.0) -> Person:
        params = {"user": user, "include_locale": True}
        response = await self.client.read("users.info", params, max_wait=max_wait)
        return person_of(response.get("user") or {}, team, user, time.time())

    async def place(self, team: str, channel: str) -> Place:
        response = await self.client.read("conversations.info", {"channel": channel})
        return place_of(response.get("channel") or {}, team, channel, self.client.scopes)

    async def permalink(self, channel: str, ts: str) -> str | None:
        try:
            response = await self.client.read("chat.getPermalink", {"channel": channel, "message_ts": ts}, max_wait=3.0)
        except ChatError as error:
            log.info("no permalink", extra={"reason": error.code})
            return None
        return str(response.get("permalink") or "") or None

    async def _add_end_note(self, channel: str, ts: str, note: str) -> None:
        """Add a note to a message that is not an open stream, below its blocks. Raise ChatError."""
        message = await self._messages.read_message(channel, ts)
        if message is None:
            raise ChatError("message_not_found")
        if as_posted(message, self.me).text.rstrip("_— \n").endswith(note):
            return  # an earlier call added it, but its response was lost
        try:
            await self._messages.update(channel, ts, with_end_note(message, note))
        except ChatError as error:
            if is_transient(error) or error.code == "streaming_state_conflict":
                raise
            log.info("interrupted message not marked", extra={"reason": error.code})


def card_content(card: ApprovalCard) -> Args:
    return {"text": card_text(card), "blocks": card_blocks(card)}


def with_end_note(message: dict[str, Any], note: str) -> Args:
    """Return the content of a message with a note at its end, without buttons, its open task cards marked as failed."""
    line = context(escape(f"— {note} —"))
    kept = [b for b in message.get("blocks") or () if b.get("type") != "actions"][:48]
    running = ("task_card", "in_progress")
    blocks = [b | {"status": "error"} if (b.get("type"), b.get("status")) == running else b for b in kept]
    text = str(message.get("text") or "")[:700]
    if not blocks:
        blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": text or " "}}]
    return {"text": f"{text}\n— {note} —", "blocks": [*blocks, line]}


def person_of(user: dict[str, Any], team: str, id_: str, now: float) -> Person:
    """Return the person of a users.info response. Who has no organization in it counts as external."""
    profile = user.get("profile") or {}
    name = profile.get("display_name") or user.get("real_name") or profile.get("real_name") or user.get("name") or id_
    enterprise = user.get("enterprise_user") or {}
    teams = [user.get("team_id"), enterprise.get("enterprise_id"), *(enterprise.get("teams") or ())]
    return Person(
        team=team,
        id=id_,
        name=storable(str(name)),
        locale=str(user.get("locale") or "en-US"),
        timezone=str(user.get("tz") or "UTC"),
        guest=bool(user.get("is_restricted") or user.get("is_ultra_restricted")),
        external=bool(user.get("is_stranger")) or not team or team not in teams,
        bot=bool(user.get("is_bot")),
        removed=bool(user.get("deleted")),
        fetched=now,
    )


def place_of(channel: dict[str, Any], team: str, id_: str, scopes: str = "") -> Place:
    """Return the place of a conversations.info response. A channel that is not certainly public counts as private."""
    public = channel.get("is_channel") and not channel.get("is_private")
    kind: PlaceKind = "public" if public else "private"
    if channel.get("is_im"):
        kind = "im"
    elif channel.get("is_mpim"):
        kind = "mpim"
    return Place(
        team,
        id_,
        kind,
        shared=bool(channel.get("is_ext_shared")),
        name=storable(str(channel.get("name") or "")),
        may_post=channel.get("is_member") is not False or "chat:write.public" in scopes,
        archived=bool(channel.get("is_archived")),
    )

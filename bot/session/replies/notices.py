"""Messages other than answers: notices in the thread, ephemeral messages, which only one person sees, direct ones."""

import logging
from collections.abc import Collection
from typing import Literal

from bot.ports import Button
from bot.session.engine_services import Services
from bot.session.slack_workspace import Workspace
from bot.texts import say
from storage import deliveries, turns
from storage.database import StorageError, Tx
from storage.records import Delivery, DeliveryState, Thread
from tools.tool_context import ChatError

log = logging.getLogger(__name__)
MAX_TRIES = 20  # about one a minute
MAX_UNCERTAIN_TRIES = 3  # of an ephemeral message: nobody can look up whether it was posted
# Nothing can be posted there again (Slack: errors of chat.postMessage, chat.postEphemeral, conversations.replies).
THREAD_GONE = {
    "thread_not_found", "channel_not_found", "is_archived", "not_in_channel", "cannot_reply_to_message",
    "messages_tab_disabled", "no_permission", "access_denied", "ekm_access_denied", "team_access_not_granted",
    "as_user_not_supported", "channel_is_limited_access", "user_not_in_channel",
}  # fmt: skip


async def send_ephemeral(services: Services, thread: Thread, user: str, key: str) -> None:
    """Send a person a text that only they see. Never raises: it is tried once, and a failure is logged."""
    try:
        locale = await services.db.read(services.workspace.people.locale, thread.team, user)
    except StorageError:
        locale = "en-US"
    try:
        await services.chat.post_ephemeral(thread, user, say(key, locale))
    except ChatError as error:
        log.info("ephemeral message not delivered", extra={"reason": error.code})


def is_refused_for_good(error: ChatError) -> bool:
    """Return True if no later attempt can post in that thread."""
    return error.code in THREAD_GONE or error.code.startswith("restricted_action")


async def deliver_notices(services: Services, session: str) -> None:
    """Deliver the session's pending messages other than answers, and those that this adds."""
    tried: set[str] = set()
    while True:
        unfinished = await services.db.read(deliveries.unfinished, session, services.workspace.team)
        pending = [(key, delivery) for key, delivery in unfinished if delivery.kind != "answer" and key not in tried]
        if not pending:
            return
        for key, delivery in pending:
            tried.add(key)
            await deliver_notice(services, key, delivery)


async def deliver_notice(services: Services, key: str, delivery: Delivery, sent_parts: Collection[int] = ()) -> bool:
    """Deliver one message, without the parts that Slack shows already (`sent_parts`). Return as `record_failure`."""
    text = delivery.content["text"]
    try:
        if delivery.kind == "direct" and not await services.db.write(deliveries.claim, key, services.now()):
            raise ChatError("interrupted", uncertain=True)  # an earlier process may have posted it
        if delivery.kind == "whisper":
            buttons = [Button(**b) for b in delivery.content.get("buttons", ())]
            await services.chat.post_ephemeral(delivery.thread, delivery.content["user"], text, buttons)
        else:
            await services.chat.post(delivery.thread, text, key=key, sent_parts=sent_parts)
    except ChatError as error:
        return await record_failure(services, key, delivery, error)
    # At once, not with the next commit: otherwise the next read would find it pending.
    await services.record_shown(deliveries.settle, key, DeliveryState.SENT, services.now())
    return False


async def record_failure(services: Services, key: str, delivery: Delivery, error: ChatError) -> bool:
    """Count a failed try; give up after the last one, or if the thread is gone. Return True if a message was added."""
    log.warning("delivery failed", extra={"session": delivery.session, "reason": error.code})
    unverifiable = error.uncertain and delivery.kind == "whisper"
    limit = 1 if delivery.kind == "direct" else MAX_UNCERTAIN_TRIES if unverifiable else MAX_TRIES
    if delivery.attempts + 1 >= limit or is_refused_for_good(error):
        return await give_up(services, delivery.session, key, error)
    services.db.write_soon(deliveries.record_failed_attempt, key, services.now(), error.code)
    return False


async def give_up(services: Services, session: str, key: str, error: ChatError) -> bool:
    """End a delivery as failed. Return True if a message about it was added."""
    services.metrics.delivery(DeliveryState.FAILED)
    return await services.db.write(_give_up, services.workspace, session, key, error)


def _give_up(tx: Tx, workspace: Workspace, session: str, key: str, error: ChatError) -> bool:
    """Where Slack refuses an answer for good, tell its asker in the channel, or else in a direct message."""
    team, now = workspace.team, workspace.now()
    given_up = dict(deliveries.unfinished(tx, session, team)).get(key)
    if given_up is None:
        return False
    deliveries.settle(tx, key, DeliveryState.FAILED, now, error.code)
    channel, turn = given_up.thread.channel, turns.get(tx, session, given_up.turn)
    kind: Literal["whisper", "direct"]
    if given_up.kind == "answer" and turn is not None and is_refused_for_good(error):
        locale = workspace.people.locale(tx, team, turn.requester)
        kind, content = "whisper", {"user": turn.requester, "text": say("reply.refused", locale)}
        if not channel.startswith("D"):
            content["direct"] = say("reply.refused_there", locale, channel=f"<#{channel}>")
    elif "direct" in given_up.content and not error.uncertain:
        kind, content = "direct", {"text": given_up.content["direct"]}
        channel = given_up.content["user"]
    else:
        return False
    thread, state = Thread(team, channel, ""), DeliveryState.PENDING
    added = Delivery(0, session, given_up.turn, kind, thread, 0, content, state, None, 0, now)
    deliveries.add(tx, added, f"{key}-{kind}")
    return True

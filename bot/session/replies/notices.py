"""Messages other than answers: notices in the thread, and ephemeral messages, which only one person sees."""

import logging
from collections.abc import Collection

from bot.ports import Button
from bot.session.engine_services import Services
from bot.texts import say
from storage import deliveries
from storage.database import StorageError
from storage.records import Delivery, DeliveryState, Thread
from tools.tool_context import ChatError

log = logging.getLogger(__name__)
MAX_TRIES = 20  # about one a minute
MAX_UNCERTAIN_TRIES = 3  # of an ephemeral message: nobody can look up whether it was posted
# Nothing can be posted there again (Slack: errors of chat.postMessage and conversations.replies).
THREAD_GONE = {
    "thread_not_found", "channel_not_found", "is_archived", "not_in_channel", "cannot_reply_to_message",
    "messages_tab_disabled", "no_permission", "access_denied", "ekm_access_denied", "team_access_not_granted",
    "as_user_not_supported", "channel_is_limited_access",
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


async def report_refusal(services: Services, thread: Thread, user: str) -> None:
    """Tell a person, outside of the thread, that Slack accepts no answer in it. Never raises."""
    await send_ephemeral(services, Thread(thread.team, thread.channel, ""), user, "reply.refused")


async def deliver_notices(services: Services, session: str) -> None:
    """Deliver the session's pending notices and ephemeral messages."""
    for key, delivery in await services.db.read(deliveries.unfinished, session, services.workspace.team):
        if delivery.kind in ("notice", "whisper"):
            await deliver_notice(services, key, delivery)


async def deliver_notice(services: Services, key: str, delivery: Delivery, sent_parts: Collection[int] = ()) -> None:
    """Deliver one message, without the parts that Slack shows already (`sent_parts`)."""
    text = delivery.content["text"]
    try:
        if delivery.kind == "whisper":
            buttons = [Button(**b) for b in delivery.content.get("buttons", ())]
            await services.chat.post_ephemeral(delivery.thread, delivery.content["user"], text, buttons)
        else:
            await services.chat.post(delivery.thread, text, key=key, sent_parts=sent_parts)
    except ChatError as error:
        record_failure(services, key, delivery, error)
        return
    # At once, not with the next commit: otherwise the next read would find it pending.
    await services.record_shown(deliveries.settle, key, DeliveryState.SENT, services.now())


def record_failure(services: Services, key: str, delivery: Delivery, error: ChatError) -> None:
    """Count a failed try; give up after the last one, or if the thread is gone."""
    log.warning("delivery failed", extra={"session": delivery.session, "reason": error.code})
    unverifiable = error.uncertain and delivery.kind == "whisper"
    limit = MAX_UNCERTAIN_TRIES if unverifiable else MAX_TRIES
    if delivery.attempts + 1 >= limit or is_refused_for_good(error):
        services.db.write_soon(deliveries.settle, key, DeliveryState.FAILED, services.now(), error.code)
        services.metrics.delivery(DeliveryState.FAILED)
    else:
        services.db.write_soon(deliveries.record_failed_attempt, key, services.now(), error.code)

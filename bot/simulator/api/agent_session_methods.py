"""agents.sessions.* and the older assistant.threads.* (slack.md §3.1, §3.3, §3.4)."""

from bot.simulator.api.api_method import ApiMethod, Arguments
from bot.simulator.api.chat_methods import CUSTOM, WRITE, check_custom, joined
from bot.simulator.rules import slack_limits as limits
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.slack_errors import SlackError
from bot.simulator.slack_records import AgentSession, Json

STATUSES = ("active", "processing", "suspended", "closed")
STOPPED = "agent_session_stopped"


def move_session(slack: SimulatedSlack, channel: str, thread_ts: str, status: str) -> AgentSession:
    """Change Slack's session of a thread and tell who watches."""
    session = slack.workspace.set_status(channel, thread_ts, status)
    if status == "processing":
        slack.first_responses.responded(channel, thread_ts)
    slack.changes.notify("session", channel, thread_ts)
    return session


def thread_of(slack: SimulatedSlack, args: Arguments) -> tuple[str, str]:
    """The thread a session belongs to; channels made for one session do not exist here (slack.md §2.1)."""
    if not slack.app.is_agent:
        raise SlackError("not_authorized")
    place = joined(slack, args.text("channel_id"))
    thread_ts = args.maybe("thread_ts")
    if thread_ts is None:
        raise SlackError("invalid_thread_ts")
    return place.id, slack.workspace.thread_root(place.id, thread_ts).ts


def set_status(slack: SimulatedSlack, args: Arguments) -> Json:
    """Set the status of a thread, creating its session."""
    check_custom(slack, args)
    channel, thread_ts = thread_of(slack, args)
    status = args.text("status")
    if status not in STATUSES:
        raise SlackError("invalid_arguments", f"unsupported status: {status}")
    title, initiator = args.text("title"), args.maybe("initiator_user_id")
    if len(title) > limits.SESSION_TITLE:
        raise SlackError("invalid_arguments", "title is too long")
    if initiator and initiator not in slack.workspace.channel(channel).members:
        raise SlackError("user_not_in_channel")
    is_new = slack.workspace.session(channel, thread_ts) is None
    session = move_session(slack, channel, thread_ts, status)
    if is_new:
        session.title, session.initiator = title, initiator
    return answer(slack, session)


def answer(slack: SimulatedSlack, session: AgentSession) -> Json:
    """The state of the session, with a warning when nobody could stop it (slack.md §3.2)."""
    body: Json = {"status": session.status, "agent_status": session.status, "title": session.title}
    if not slack.events.subscribed(STOPPED):
        warning = "missing_agent_session_stopped_event_subscription"
        body |= {"warning": warning, "response_metadata": {"warnings": [warning]}}
    return body


def rename(slack: SimulatedSlack, args: Arguments) -> Json:
    """Give a session a title."""
    channel, thread_ts = thread_of(slack, args)
    session = slack.workspace.session(channel, thread_ts)
    if session is None:
        raise SlackError("not_authorized")
    title = args.text("title")
    if not 1 <= len(title) <= limits.SESSION_TITLE:
        raise SlackError("invalid_arguments", f"title must have 1 to {limits.SESSION_TITLE} characters")
    session.title = title
    slack.changes.notify("session", channel, thread_ts)
    return answer(slack, session)


def legacy_status(slack: SimulatedSlack, args: Arguments) -> Json:
    """The older status with free text: processing while there is text."""
    check_custom(slack, args)
    place = joined(slack, args.text("channel_id"))
    thread_ts = slack.workspace.thread_root(place.id, args.text("thread_ts")).ts
    lines = args.items("loading_messages")
    too_long = any(not isinstance(line, str) or len(line) > limits.LOADING_MESSAGE_TEXT for line in lines)
    if len(lines) > limits.LOADING_MESSAGES or too_long:
        raise SlackError("invalid_arguments", "loading_messages: at most 10 of at most 50 characters")
    note = args.text("status")
    status = "processing" if note else "active"
    session = slack.workspace.set_status(place.id, thread_ts, status, limits.LEGACY_STATUS_SECONDS)
    session.note = note
    if note:
        slack.first_responses.responded(place.id, thread_ts)
    slack.changes.notify("session", place.id, thread_ts)
    return {}


def legacy_title(slack: SimulatedSlack, args: Arguments) -> Json:
    """The older way to name a thread."""
    place = joined(slack, args.text("channel_id"))
    thread_ts = slack.workspace.thread_root(place.id, args.text("thread_ts")).ts
    session = slack.workspace.session(place.id, thread_ts) or move_session(slack, place.id, thread_ts, "active")
    session.title = args.text("title")[: limits.SESSION_TITLE]
    return {}


def suggest_prompts(slack: SimulatedSlack, args: Arguments) -> Json:
    """Offer prompts in a DM; with a thread_ts an agent app's call does nothing (slack.md §3.3)."""
    place = joined(slack, args.text("channel_id"))
    prompts = args.items("prompts")
    good = all(isinstance(p, dict) and isinstance(p.get("title"), str) and p.get("message") for p in prompts)
    if not good or not 1 <= len(prompts) <= limits.PROMPTS:
        raise SlackError("invalid_arguments", "prompts: 1 to 4 objects with title and message")
    if "thread_ts" not in args:
        slack.workspace.prompts[place.id] = {"title": args.text("title"), "prompts": prompts}
        slack.changes.notify("prompts", place.id)
    return {}


ASSISTANT = ("assistant:write",)
METHODS = {
    "agents.sessions.setStatus": ApiMethod(
        set_status, WRITE, 3, ("channel_id", "status"), ("thread_ts", "title", "initiator_user_id", *CUSTOM)
    ),
    "agents.sessions.rename": ApiMethod(rename, WRITE, 3, ("channel_id", "title"), ("thread_ts",)),
    "assistant.threads.setStatus": ApiMethod(
        legacy_status, (*WRITE, *ASSISTANT), 4, ("channel_id", "thread_ts"), ("status", "loading_messages", *CUSTOM)
    ),
    "assistant.threads.setTitle": ApiMethod(legacy_title, ASSISTANT, 4, ("channel_id", "thread_ts", "title")),
    "assistant.threads.setSuggestedPrompts": ApiMethod(
        suggest_prompts, ASSISTANT, 4, ("channel_id", "prompts"), ("thread_ts", "title")
    ),
}

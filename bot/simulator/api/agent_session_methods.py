"""agents.sessions.* and the older assistant.threads.* (slack.md §3.1, §3.3, §3.4)."""

from bot.simulator.api.api_method import ApiMethod, Arguments
from bot.simulator.api.chat_methods import CUSTOM_AUTHOR, WRITE, check_custom_author, writable_channel
from bot.simulator.rules import slack_limits as limits
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.simulator_errors import SimulatorError
from bot.simulator.slack_records import AgentSession, Json

SESSION_STATUSES = ("active", "processing", "suspended", "closed")
STOPPED = "agent_session_stopped"


def session_thread(slack: SimulatedSlack, args: Arguments) -> tuple[str, str]:
    """Return channel and thread_ts of a session; channels made for one session are not simulated (slack.md §2.1)."""
    if not slack.app.is_agent:
        raise SimulatorError("not_authorized")
    channel = writable_channel(slack, args, "channel_id")
    thread_ts = args.maybe("thread_ts")
    if thread_ts is None:
        raise SimulatorError("invalid_thread_ts")
    return channel.id, slack.workspace.thread_root(channel.id, thread_ts).ts


def set_status(slack: SimulatedSlack, args: Arguments) -> Json:
    """Set the status of a thread's session; title and initiator apply only to a new session."""
    check_custom_author(slack, args)
    channel, thread_ts = session_thread(slack, args)
    status, title, initiator = args.text("status"), args.text("title"), args.maybe("initiator_user_id")
    if status not in SESSION_STATUSES:
        raise SimulatorError("invalid_arguments", f"unsupported status: {status}")
    if len(title) > limits.SESSION_TITLE:
        raise SimulatorError("invalid_arguments", "title is too long")
    if initiator and initiator not in slack.workspace.channel(channel).members:
        raise SimulatorError("user_not_in_channel")
    is_new = slack.workspace.session(channel, thread_ts) is None
    session = slack.set_session_status(channel, thread_ts, status)
    if is_new:
        session.title = title
    return session_answer(slack, session)


def session_answer(slack: SimulatedSlack, session: AgentSession) -> Json:
    """Return the session, with a warning if the app does not subscribe to stops (slack.md §3.2)."""
    body: Json = {"status": session.status, "agent_status": session.status, "title": session.title}
    if not slack.events.subscribed(STOPPED):
        warning = "missing_agent_session_stopped_event_subscription"
        body |= {"warning": warning, "response_metadata": {"warnings": [warning]}}
    return body


def rename_session(slack: SimulatedSlack, args: Arguments) -> Json:
    """Change the title of a session."""
    channel, thread_ts = session_thread(slack, args)
    session = slack.workspace.session(channel, thread_ts)
    if session is None:
        raise SimulatorError("not_authorized")
    title = args.text("title")
    if not 1 <= len(title) <= limits.SESSION_TITLE:
        raise SimulatorError("invalid_arguments", f"title must have 1 to {limits.SESSION_TITLE} characters")
    session.title = title
    slack.changes.notify("session", channel, thread_ts)
    return session_answer(slack, session)


def older_thread(slack: SimulatedSlack, args: Arguments) -> tuple[str, str]:
    """Return channel and thread_ts of a call to the older API."""
    channel = writable_channel(slack, args, "channel_id")
    return channel.id, slack.workspace.thread_root(channel.id, args.text("thread_ts")).ts


def older_set_status(slack: SimulatedSlack, args: Arguments) -> Json:
    """Set the status text of the older API; the session is processing while there is text."""
    check_custom_author(slack, args)
    channel, thread_ts = older_thread(slack, args)
    lines = args.items_of("loading_messages")
    too_long = any(not isinstance(line, str) or len(line) > limits.LOADING_MESSAGE_TEXT for line in lines)
    if len(lines) > limits.LOADING_MESSAGES or too_long:
        raise SimulatorError("invalid_arguments", "loading_messages: at most 10 of at most 50 characters")
    note = args.text("status")
    status = "processing" if note else "active"
    slack.set_session_status(channel, thread_ts, status, limits.LEGACY_STATUS_SECONDS).note = note
    return {}


def older_set_title(slack: SimulatedSlack, args: Arguments) -> Json:
    """Set the title of a thread by the older API."""
    channel, thread_ts = older_thread(slack, args)
    session = slack.workspace.session(channel, thread_ts) or slack.set_session_status(channel, thread_ts, "active")
    session.title = args.text("title")[: limits.SESSION_TITLE]
    return {}


def suggest_prompts(slack: SimulatedSlack, args: Arguments) -> Json:
    """Suggest prompts in a DM; with a thread_ts the call of an agent app changes nothing (slack.md §3.3)."""
    channel = writable_channel(slack, args, "channel_id")
    prompts = args.items_of("prompts")
    valid = all(isinstance(p, dict) and isinstance(p.get("title"), str) and p.get("message") for p in prompts)
    if not valid or not 1 <= len(prompts) <= limits.PROMPTS:
        raise SimulatorError("invalid_arguments", "prompts: 1 to 4 objects with title and message")
    if "thread_ts" not in args:
        slack.workspace.prompts[channel.id] = {"title": args.text("title"), "prompts": prompts}
        slack.changes.notify("prompts", channel.id)
    return {}


ASSISTANT = ("assistant:write",)
SET_STATUS = ("thread_ts", "title", "initiator_user_id", *CUSTOM_AUTHOR)
OLDER_STATUS = ("status", "loading_messages", *CUSTOM_AUTHOR)
THREAD = ("channel_id", "thread_ts")
METHODS = {
    "agents.sessions.setStatus": ApiMethod(set_status, WRITE, 3, ("channel_id", "status"), SET_STATUS),
    "agents.sessions.rename": ApiMethod(rename_session, WRITE, 3, ("channel_id", "title"), ("thread_ts",)),
    "assistant.threads.setStatus": ApiMethod(older_set_status, (*WRITE, *ASSISTANT), 4, THREAD, OLDER_STATUS),
    "assistant.threads.setTitle": ApiMethod(older_set_title, ASSISTANT, 4, (*THREAD, "title")),
    "assistant.threads.setSuggestedPrompts": ApiMethod(
        suggest_prompts, ASSISTANT, 4, ("channel_id", "prompts"), ("thread_ts", "title")
    ),
}

"""One request to the model: read the history, keep it within the budget, send it, review the reply's tool calls."""

import asyncio
import logging
import secrets
from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from bot.memory import recall
from bot.ports import ModelError, ModelReply, ModelRequest, Reply
from bot.session.engine_services import Services
from bot.session.machine.effects import AskModel
from bot.session.machine.events import RESULTS, ModelFailed, Proposed, Replied
from bot.session.model_call import compaction, prompt_builder, session_fields
from bot.session.slack_workspace import Workspace
from bot.session.token_estimate import calibrate
from bot.texts import say
from storage import ledger, sessions, transcripts, turns
from storage.database import Tx
from storage.records import Entry, Memory, Person, Place, Session, Turn
from storage.retention import REMOVED
from tools.call_outcome import is_failure
from tools.lenient_json import is_valid_json
from tools.proposed_call_checks import ReviewedCall, precheck, precheck_of, raw_hash, review
from tools.tool_context import ModelCall
from tools.tool_policy import REQUESTER

log = logging.getLogger(__name__)
COMPACT_TO = 0.6  # of the history budget, once it is full
SUMMARY_SHARE = 0.25  # of the history budget, at most
COMPACT_AFTER_OVERFLOW = 0.35  # of the history, after the server said that the request is too long
SAME_FAILURES = 3
TRUNCATED = {"length": "end.length", "content_filter": "end.filtered"}  # finish reasons of Chat Completions


@dataclass(frozen=True, slots=True)
class RequestData:
    """The rows that one request is built from."""

    session: Session
    context: dict[str, Any]  # summary, fields and their positions
    entries: list[Entry]
    turn: Turn
    person: Person | None
    place: Place | None
    memories: tuple[Memory, ...]
    unknown_calls: frozenset[str]


def read_request_data(tx: Tx, session: str, number: int, workspace: Workspace) -> RequestData:
    """Read the rows for a request of turn `number`."""
    state = sessions.load(tx, session)
    turn = turns.get(tx, session, number) or Turn(session, number, state.requester)
    return read_rest_of_request(tx, state, turn, workspace)


def read_rest_of_request(tx: Tx, state: Session, turn: Turn, workspace: Workspace) -> RequestData:
    """Read what a request needs besides its session and turn."""
    context = sessions.summary_and_fields(tx, state.id)
    team, people = state.thread.team, workspace.people
    person = people.person(tx, team, turn.requester)
    place = people.place(tx, team, state.thread.channel, workspace.now())
    memories = recall.again(tx, person, place, turn.memories) if turn.memories else ()
    entries = transcripts.read(tx, state.id, context["summary_seq"])
    calls = [call for call, of in prompt_builder.private_calls(entries).items() if of == turn.number]
    if calls:  # since they ran, others may have come to read this conversation
        may_be_read = partial(recall.may_be_read, tx, person, place)
        entries = prompt_builder.without_unreadable(entries, calls, may_be_read)
    return RequestData(state, context, entries, turn, person, place, memories, ledger.unknown_hashes(tx, state.id))


async def request_reply(
    services: Services, session: str, action: AskModel, reply: Reply, data: RequestData | None = None
) -> Replied | ModelFailed:
    """Send the request; if the server says that it is too long, compact the history and send it once more.

    `data`: the request's rows, if they have just been read.
    """
    if data is None:
        data = await services.db.read(read_request_data, session, action.turn, services.workspace)
    if _history_tokens(data) * services.tokens.factor > services.settings.history_tokens:
        data = await compact(services, data, services.settings.history_tokens * COMPACT_TO)
    try:
        try:
            return await _send(services, data, action, reply)
        except ModelError as error:
            if error.code != "overflow":
                raise
            keep = _history_tokens(data) * services.tokens.factor * COMPACT_AFTER_OVERFLOW
            data = await compact(services, data, keep)
            return await _send(services, data, action, reply)
    except ModelError as error:
        fields = {"session": session, "turn": action.turn, "code": error.code, "reason": str(error)}
        log.warning("model request failed", extra=fields)
        return ModelFailed(action.turn, action.step, error.code, reply.shown)


async def _send(services: Services, data: RequestData, action: AskModel, sink: Reply) -> Replied | ModelFailed:
    turn, step, is_last = action.turn, action.step, action.number >= services.settings.max_steps
    started = services.now()
    system = prompt_builder.system_prompt(services.settings.system_prompt, services.missing())
    tools, offered = services.registry.schemas(), services.registry.identities()
    request = ModelRequest(_messages(system, data), tools, tool_choice="none" if is_last and tools else "auto")
    reply = await services.model.ask(request, sink)
    estimated = services.tokens.prefix(system, tools) + _history_tokens(data)
    services.tokens.factor = calibrate(services.tokens.factor, estimated, reply.usage.prompt)
    _record_usage(services, data, action, reply, services.now() - started)
    if reply.calls and is_last:
        return ModelFailed(turn, step, "max_steps", reply.text)
    if (text_key := _truncation(reply)) is not None:
        note = say(text_key, data.person.locale if data.person else "en")
        return Replied(turn, step, f"{reply.text.rstrip()}\n\n_— {note} —_".lstrip())
    if not reply.calls and not reply.text.strip():
        return ModelFailed(turn, step, "empty", "")
    if _repeats_failure(data, reply.calls):
        return ModelFailed(turn, step, "stuck", reply.text)
    excluded = await _excluded_approvers(services, reply.calls)
    requester, unknown = data.turn.requester, data.unknown_calls
    reviewed = review(services.registry, services.policy, reply.calls, requester, unknown, excluded, offered)
    reviewed = await _prechecked(services, data, reviewed)
    for call in reviewed:
        services.metrics.arguments("invalid" if call.invalid else "repaired" if call.repaired else "valid")
    return Replied(turn, step, reply.text, tuple(Proposed(f"c_{secrets.token_hex(8)}", r) for r in reviewed))


async def _excluded_approvers(services: Services, calls: tuple[ModelCall, ...]) -> frozenset[str]:
    """Return the approvers of these calls whose approval does not count: guests, external and removed people."""
    rules = [services.policy.rule_for(call.name) for call in calls]
    named = {user for rule in rules for user in rule.approvers if user != REQUESTER}
    return await services.lookup.excluded(named) if named else frozenset()


async def _prechecked(
    services: Services, data: RequestData, calls: tuple[ReviewedCall, ...]
) -> tuple[ReviewedCall, ...]:
    """Return the calls, those refused that would ask people and certainly cannot succeed. Takes about 3 s at most."""
    if not any(precheck_of(services.registry, call) for call in calls):
        return calls
    session, turn = data.session, data.turn
    direct, channel = session.kind == "im", session.thread.channel
    caller = await services.db.read(services.workspace.caller, turn.requester, channel, direct=direct)
    context = services.tool_context(caller, session.thread, turn.number, source_ts=turn.source_ts, key="")
    return tuple(await asyncio.gather(*(precheck(services.registry, call, context) for call in calls)))


def _messages(system: str, data: RequestData) -> list[dict[str, Any]]:
    summary, turn = data.context["summary"] or {}, data.turn
    facts = session_fields.said_values(data.context["fields"])
    removed = REMOVED in summary
    earlier = prompt_builder.conversation_lines(compaction.shown_summary(summary), facts, removed=removed)
    ends = prompt_builder.turn_line(turn.requester, data.person, data.place, data.memories, turn.started)
    shed, direct = int(summary.get("shed", 0)), data.session.kind == "im"
    return prompt_builder.build_messages(
        system, data.entries, turn.number, ends, earlier=earlier, shed=shed, direct=direct
    )


def _truncation(reply: ModelReply) -> str | None:
    """Return the text key for a reply that the server cut off, in its text or in a call's arguments, else None."""
    complete = bool(reply.calls) and all(is_valid_json(call.arguments) for call in reply.calls)
    return None if complete else TRUNCATED.get(reply.finish)


def _record_usage(services: Services, data: RequestData, action: AskModel, reply: ModelReply, seconds: float) -> None:
    """Store the token usage of a request, with the next commit."""
    tokens = asdict(reply.usage)
    services.metrics.tokens(**tokens)
    row = {"turn": action.turn, "model": reply.model, **tokens, "seconds": seconds, "at": services.now()}
    services.db.write_later(turns.add_usage, data.session.id, action.step, row)


def _history_tokens(data: RequestData) -> int:
    """Return the estimated tokens of summary and entries. Entries were counted when they were written."""
    return compaction.summary_tokens(data.context["summary"]) + sum(e.tokens for e in data.entries)


async def compact(services: Services, data: RequestData, keep_tokens: float) -> RequestData:
    """Summarize the older part of the transcript and shorten old tool results; return the data read again."""
    scale, session = services.tokens.factor, data.session.id
    summary_tokens = services.settings.history_tokens * SUMMARY_SHARE / scale
    room = max(keep_tokens / scale - summary_tokens, summary_tokens)
    last = compaction.last_entry_to_compact(data.entries, room, services.settings.keep_turns)
    if not last:
        return data
    old = [e for e in data.entries if e.seq <= last]
    earlier, model = data.context["summary"], services.settings.reflection_model
    summary = await compaction.summarize(services.model, earlier, old, model, summary_tokens)
    summary["shed"] = max((e.seq for e in data.entries if e.turn < data.turn.number), default=0)
    summary |= {REMOVED: earlier[REMOVED]} if earlier and REMOVED in earlier else {}
    await services.db.write(sessions.set_columns, session, summary=summary, summary_seq=last)
    log.info("transcript compacted", extra={"session": session, "last_entry": last, "entries": len(old)})
    return await services.db.read(read_request_data, session, data.turn.number, services.workspace)


def _repeats_failure(data: RequestData, calls: tuple[ModelCall, ...]) -> bool:
    """Return True if a call that failed twice with the same error in this turn is proposed a third time."""
    results = {e.content["call"]: e.content["text"] for e in data.entries if e.role == "tool"}
    failures: Counter[tuple[str, str, str]] = Counter()
    for entry in data.entries:
        if entry.role == "assistant" and entry.turn == data.turn.number:
            for call in entry.content["calls"]:
                result = results.get(call["id"], "")
                if is_failure(result) and result != RESULTS["awaiting"]:
                    arguments = call.get("raw") or prompt_builder.canonical_json(call["arguments"])
                    failures[call["name"], arguments, result] += 1
    repeated = {(name, text) for (name, text, _), n in failures.items() if n >= SAME_FAILURES - 1}
    forms = (raw_hash, prompt_builder.canonical_arguments)
    return any((call.name, form(call.arguments)) in repeated for call in calls for form in forms)

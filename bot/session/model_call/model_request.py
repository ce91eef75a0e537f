"""One request to the model: read what it needs, keep it within the budget, review what comes back."""

import logging
import secrets
from dataclasses import dataclass
from typing import Any

from bot.memory import recall
from bot.ports import ModelError, ModelReply, ModelRequest, Reply
from bot.session.machine.call_lifecycle import RESULTS
from bot.session.machine.effects import AskModel
from bot.session.machine.events import ModelFailed, Proposed, Replied
from bot.session.model_call import compaction, prompt_messages, session_fields, system_prompt
from bot.session.people_cache import PeopleCache
from bot.session.services import Deps
from bot.session.token_estimate import count
from bot.texts import say
from storage import ledger, sessions, transcripts, turns
from storage.database import Tx
from storage.records import Entry, Memory, Person, Place, Session, Turn
from tools.argument_validation import is_whole
from tools.call_review import review
from tools.context import ModelCall
from tools.declaration import is_failure

log = logging.getLogger(__name__)
COMPACT_TO = 0.6  # of the history budget, once it is full
SUMMARY_SHARE = 0.25  # of the history budget, at most
COMPACT_HARD = 0.35  # after the endpoint said that the request does not fit
SAME_FAILURES = 3
CUT_OFF = {"length": "end.length", "content_filter": "end.filtered"}  # finish reasons of Chat Completions


@dataclass(frozen=True, slots=True)
class Packet:
    """What one request is made of."""

    session: Session
    beside: dict[str, Any]  # summary, fields…
    entries: list[Entry]
    turn: Turn
    person: Person | None
    place: Place | None
    memories: tuple[Memory, ...]
    unknown: frozenset[str]


def read_packet(tx: Tx, session: str, number: int, known: PeopleCache) -> Packet:
    """Read what a request for turn `number` needs."""
    state = sessions.load(tx, session)
    return packet_of(tx, state, turns.get(tx, session, number) or Turn(session, number, state.requester), known)


def packet_of(tx: Tx, state: Session, turn: Turn, known: PeopleCache) -> Packet:
    """Read what a request needs beside a session and a turn that are at hand."""
    beside = sessions.summary_and_fields(tx, state.id)
    person = known.person(tx, state.thread.team, turn.requester)
    where = known.place(tx, state.thread.team, state.thread.channel)
    memories = recall.again(tx, person, where, turn.memories) if turn.memories else ()
    entries = transcripts.read(tx, state.id, beside["summary_seq"])
    return Packet(state, beside, entries, turn, person, where, memories, ledger.unknown_hashes(tx, state.id))


async def ask(
    deps: Deps, session: str, act: AskModel, sink: Reply, packet: Packet | None = None
) -> Replied | ModelFailed:
    """Make the request; an endpoint that says it does not fit is asked once more after compaction.

    `packet` is what was read a moment ago, None if it must be read.
    """
    if packet is None:
        packet = await deps.db.read(read_packet, session, act.turn, deps.world.known)
    if _estimate(packet) * deps.ruler.factor > deps.settings.history_tokens:
        packet = await compact(deps, packet, deps.settings.history_tokens * COMPACT_TO)
    try:
        try:
            return await _ask(deps, packet, act, sink)
        except ModelError as error:
            if error.code != "overflow":
                raise
            packet = await compact(deps, packet, _estimate(packet) * deps.ruler.factor * COMPACT_HARD)
            return await _ask(deps, packet, act, sink)
    except ModelError as error:
        log.warning("the model gave no reply", extra={"session": session, "turn": act.turn, "code": error.code})
        return ModelFailed(act.turn, act.step, error.code, sink.shown)


async def _ask(deps: Deps, packet: Packet, act: AskModel, sink: Reply) -> Replied | ModelFailed:
    last = act.number >= deps.settings.max_steps
    began = deps.now()
    system = system_prompt.system(deps.settings.system_prompt, deps.missing())
    offered = deps.registry.schemas()
    reply = await deps.model.ask(
        ModelRequest(
            messages=_messages(system, packet),
            tools=offered,
            tool_choice="none" if last and offered else "auto",
        ),
        sink,
    )
    deps.ruler.learn(deps.ruler.fixed(system, offered) + _estimate(packet), reply.usage.prompt)
    _account(deps, packet, act, reply, deps.now() - began)
    if reply.calls and last:
        return ModelFailed(act.turn, act.step, "max_steps", reply.text)
    if (why := _cut_off(reply)) is not None:  # said below what there is, and known to the model in the next turn
        word = say(why, packet.person.locale if packet.person else "en")
        return Replied(act.turn, act.step, f"{reply.text.rstrip()}\n\n_— {word} —_".lstrip())
    if not reply.calls and not reply.text.strip():
        return ModelFailed(act.turn, act.step, "empty", "")
    if _stuck(packet, reply.calls):
        return ModelFailed(act.turn, act.step, "stuck", reply.text)
    reviewed = review(deps.registry, deps.policy, reply.calls, packet.turn.requester, packet.unknown)
    for one in reviewed:
        deps.watch.arguments("invalid" if one.invalid else "repaired" if one.repaired else "valid")
    return Replied(act.turn, act.step, reply.text, tuple(Proposed(f"c_{secrets.token_hex(8)}", r) for r in reviewed))


def _messages(system: str, packet: Packet) -> list[dict[str, Any]]:
    summary = packet.beside["summary"] or {}
    history = prompt_messages.History(
        packet.entries,
        summary=compaction.written(summary),
        fields=session_fields.written(packet.beside["fields"]),
        shed=int(summary.get("shed", 0)),
        direct=packet.session.kind == "im",
    )
    note = system_prompt.turn_note(packet.person, packet.place, packet.memories, packet.turn.started)
    return prompt_messages.build(system, history, packet.turn.number, note)


def _cut_off(reply: ModelReply) -> str | None:
    """Return the sentence for a reply that its server ended before its end: in its text or in a call's arguments."""
    why = CUT_OFF.get(reply.finish)
    whole = bool(reply.calls) and all(is_whole(call.arguments) for call in reply.calls)
    return None if whole else why


def _account(deps: Deps, packet: Packet, act: AskModel, reply: ModelReply, seconds: float) -> None:
    """Store what the request cost, with the next commit."""
    use = reply.usage
    deps.watch.tokens(use.prompt, use.completion, use.cached)
    row = {"turn": act.turn, "model": reply.model, "prompt": use.prompt, "completion": use.completion}
    more = {"cached": use.cached, "seconds": seconds, "at": deps.now()}
    deps.db.write_later(turns.add_usage, packet.session.id, act.step, {**row, **more})


def _estimate(packet: Packet) -> int:
    """Return the tokens of the history block by our own rule; entries were counted when they were written."""
    return count(compaction.written(packet.beside["summary"])) + sum(e.tokens for e in packet.entries)


async def compact(deps: Deps, packet: Packet, keep_tokens: float) -> Packet:
    """Sum up the older part of the transcript and store the summary; old long results are shown shortened."""
    scale = deps.ruler.factor
    room = deps.settings.history_tokens * SUMMARY_SHARE / scale
    upto = prompt_messages.cut(packet.entries, max(keep_tokens / scale - room, room), deps.settings.keep_turns)
    if not upto:
        return packet
    earlier = packet.beside["summary"]
    old = [e for e in packet.entries if e.seq <= upto]
    summary = await compaction.summarise(deps.model, earlier, old, deps.settings.reflection_model, room)
    summary["shed"] = max((e.seq for e in packet.entries if e.turn < packet.turn.number), default=0)
    await deps.db.write(sessions.set_columns, packet.session.id, summary=summary, summary_seq=upto)
    log.info("a transcript was compacted", extra={"session": packet.session.id, "upto": upto, "entries": len(old)})
    return await deps.db.read(read_packet, packet.session.id, packet.turn.number, deps.world.known)


def _stuck(packet: Packet, calls: tuple[ModelCall, ...]) -> bool:
    """Tell whether a call that failed twice in the same way in this turn is proposed a third time."""
    results = {e.content["call"]: e.content["text"] for e in packet.entries if e.role == "tool"}
    failures: dict[tuple[str, str, str], int] = {}
    for entry in packet.entries:
        if entry.role == "assistant" and entry.turn == packet.turn.number:
            for call in entry.content["calls"]:
                result = results.get(call["id"], "")
                if is_failure(result) and result != RESULTS["awaiting"]:
                    known = (call["name"], call.get("raw") or prompt_messages.dumps(call["arguments"]), result)
                    failures[known] = failures.get(known, 0) + 1
    again = {(name, text) for (name, text, _), n in failures.items() if n >= SAME_FAILURES - 1}
    return any((c.name, text) in again for c in calls for text in (c.arguments, prompt_messages.canonical(c.arguments)))

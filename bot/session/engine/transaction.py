"""One transaction of the session engine: load, decide, apply, and take the inbox or go to rest, all or nothing."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from bot.session.engine import apply_effects
from bot.session.engine.read_inbox import read_waiting
from bot.session.lookups.people_lookup import Needs
from bot.session.machine.effects import Act, Append, AskModel, Effect, RunTool
from bot.session.machine.events import Decided, Event, InboxTaken, Resumed, Stopped
from bot.session.machine.transition import at_rest, transition
from bot.session.model_call.model_request import Packet, packet_of
from bot.session.tool_calls.run_tool_call import Dispatch, read_dispatch
from bot.session.workspace import Spoken, World
from bot.texts import say
from storage import approvals, deliveries, inbox, sessions, turns
from storage.database import Tx
from storage.records import CallState, Delivery, DeliveryState, InboxRow, Session


@dataclass(frozen=True, slots=True)
class Advanced:
    """What was committed and is to be done now. `needs` must be learnt before a waiting message can open a turn."""

    session: Session
    acts: tuple[Act, ...]
    cards: bool
    answer_key: str | None
    needs: Needs
    worked: float  # seconds that the turn was at work before
    successor: str | None  # the session that `!new` opened
    notices: bool  # messages other than answers are owed
    ended: tuple[tuple[str, float], ...]  # outcome and seconds at work of turns that ended
    packet: Packet | None  # of the request that is to be made, where it may be read before
    dispatches: Mapping[str, Dispatch]  # of the calls that are to be run, by id


class _Transaction:
    """The state of one `advance`: a session, and what applying its effects left over."""

    def __init__(self, tx: Tx, world: World, session: Session) -> None:
        self.tx, self.world = tx, world
        self.session = self.before = session
        self.done = apply_effects.Applied()
        self.notices = False

    def feed(self, event: Event) -> None:
        self.done.asked_in |= {c.id: (c.turn, c.step) for c in self.session.calls}
        self.session, effects = transition(self.session, event)
        for effect in _entries_first(effects):
            apply_effects.write(self.tx, self.world, self.session, effect, self.done)

    def owe(self, row: InboxRow, spoken: Spoken) -> None:
        """Owe the answer to a command; what is private only its author sees."""
        session, now = self.session, self.world.now()
        kind: Literal["whisper", "notice"] = "whisper" if spoken.private else "notice"
        content = {"text": spoken.text, "user": row.user, "buttons": [asdict(b) for b in spoken.buttons]}
        owed = Delivery(
            0, session.id, session.turn, kind, session.thread, 0, content, DeliveryState.PENDING, None, 0, now
        )
        deliveries.add(self.tx, owed, f"{session.id[:13]}-{kind}-{row.id}")
        self.notices = True

    def result(self, needs: Needs, successor: str | None) -> Advanced:
        """Return what is to be done after the commit."""
        done, session, known = self.done, self.session, self.world.known
        runs = [act.call for act in done.acts if isinstance(act, RunTool)]
        return Advanced(
            session,
            acts=tuple(done.acts),
            cards=done.cards,
            answer_key=done.answer_key,
            needs=needs,
            worked=done.worked,
            successor=successor,
            notices=self.notices,
            ended=tuple(done.ended),
            packet=self._packet(),
            dispatches={call: read_dispatch(self.tx, call, session, known) for call in runs},
        )

    def _packet(self) -> Packet | None:
        """Read what the request is made of; with memories it is read when it is made, for one may be forgotten."""
        for act in self.done.acts:
            if isinstance(act, AskModel):
                turn = self.done.opened or turns.get(self.tx, self.session.id, act.turn)
                if turn is not None and not turn.memories:
                    return packet_of(self.tx, self.session, turn, self.world.known)
        return None

    def store(self) -> None:
        apply_effects.finish(self.tx, self.world, self.session, self.done)
        if self.session != self.before:
            sessions.save(self.tx, self.session, self.world.now())


def advance(
    tx: Tx,
    world: World,
    session: str | Session,
    event: Event | None = None,
    *,
    tried: frozenset[str] = frozenset(),
    partial: str = "",
    opening: bool = True,
) -> Advanced:
    """Feed `event`, then what is waiting and cannot wait, then the inbox if the session rests or stands at a boundary.

    `session` may be the state that the last `advance` returned: only its actor changes it.
    `tried` are people and things that could not be learnt; `partial` is the text shown so far of the current step;
    without `opening` (shutdown) no turn is opened and no model is asked.
    """
    work = _Transaction(tx, world, sessions.load(tx, session) if isinstance(session, str) else session)
    if isinstance(event, Resumed):
        deliveries.mark_interrupted(tx, work.session.id)
    if event is not None:
        work.feed(event)
    waiting = read_waiting(tx, world, work.session, tried)
    successor = _immediate(work, waiting.immediate, partial)
    work.done.cards |= event is None and _cards_are_stale(work)
    if waiting.immediate:  # a verdict may have left an outcome
        waiting = read_waiting(tx, world, work.session, tried)
    needs = waiting.needs
    if successor is None and opening and not (at_rest(work.session) and needs.urgent):
        work.feed(InboxTaken(waiting.items))
    work.store()
    return work.result(needs, successor)


def _cards_are_stale(work: _Transaction) -> bool:
    """Tell whether a vote was cast that no card shows yet."""
    asked = any(c.state in (CallState.AWAITING_APPROVAL, CallState.UNKNOWN) for c in work.session.calls)
    return asked and bool(approvals.with_outdated_card(work.tx, work.session.id, work.session.thread.team))


def _entries_first(effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """Collect a turn's first words before the turn is opened: recall looks them up."""
    return tuple(sorted(effects, key=lambda e: not isinstance(e, Append)))


def _immediate(work: _Transaction, rows: tuple[InboxRow, ...], partial: str) -> str | None:
    successor = None
    for row in rows:
        if successor is not None and row.kind != "verdict":
            continue  # it went on to the new conversation with what waits: there is never more than one open
        inbox.mark(work.tx, [row.id], "taken", work.session.turn)
        if row.kind == "verdict":
            work.feed(Decided(row.data["call"], row.data["verdict"], tuple(row.data["by"])))
            work.done.cards = True
        elif row.kind == "stop":
            _stop(work, row, partial)
        else:
            successor = _obey(work, row, partial)
    return successor


def _stop(work: _Transaction, row: InboxRow, partial: str) -> None:
    before = work.session
    reason: Literal["deleted", "stopped"] = "deleted" if row.data.get("deleted") else "stopped"
    work.feed(Stopped(_meant(work, row), row.user, reason, partial))
    if work.session == before and row.data.get("word"):
        locale = work.world.known.locale(work.tx, before.thread.team, row.user)
        work.owe(row, Spoken(say("command.stop_none", locale), private=True))


def _meant(work: _Transaction, row: InboxRow) -> int:
    """Return the turn that a stop was meant for, 0 for none: a late one never touches a later turn."""
    session = work.session
    if "turn" in row.data:
        return int(row.data["turn"])
    if streams := set(row.data.get("streams") or ()):
        sent = deliveries.of_turn(work.tx, session.id, session.turn, session.thread.team)
        if any(d.ts in streams for d in sent):
            return session.turn
    turn = turns.get(work.tx, session.id, session.turn)
    if turn is None:
        return 0
    # Slack's clock against Slack's, ours against ours.
    after = row.data["at"] > float(turn.source_ts) and row.received >= turn.started
    return session.turn if after else 0


def _obey(work: _Transaction, row: InboxRow, partial: str) -> str | None:
    spoken = work.world.obey(work.tx, work.world, work.session, row)
    work.owe(row, spoken)
    if not spoken.closes:
        return None
    session, now = work.session, work.world.now()
    work.feed(Stopped(session.turn, row.user, "stopped", partial, closing=True))
    sessions.save(work.tx, work.session, now)
    successor = sessions.open_new(work.tx, session.thread, session.kind, session.shared, now, hydrated=True)
    inbox.move(work.tx, session.id, successor.id)
    if said := row.data["rest"]:  # "!new and now tell me …": the rest is the first message of the new one
        about = {"new": True}
        inbox.put_internal(
            work.tx, successor, "message", "", about, now, user=row.user, text=said, addressed=True, ts=row.ts
        )
    return successor.id

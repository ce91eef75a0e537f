"""Reading the inbox for the session machine: rows become items, and what must be learnt first is named."""

from dataclasses import dataclass, replace
from typing import Any

from bot.session.lookups.people_lookup import Needs
from bot.session.machine.events import Happened, Item, Said
from bot.session.workspace import World
from storage import inbox, transcripts, turns
from storage.database import Tx
from storage.records import InboxRow, Person, Session
from tools.slack_markup import mentioned_users, readable


@dataclass(frozen=True, slots=True)
class Waiting:
    immediate: tuple[InboxRow, ...]
    items: tuple[Item, ...]
    needs: Needs


def read_waiting(tx: Tx, world: World, session: Session, tried: frozenset[str]) -> Waiting:
    """Return what waits in the session's inbox, sorted into what cannot wait and what can."""
    rows = inbox.waiting(tx, session.id)
    at_once = [r for r in rows if r.kind in ("verdict", "stop", "command")]
    immediate = tuple(r for r in at_once if r.access == "granted")
    askers = {r.user for r in at_once if r.access == "unknown"} - tried
    known: dict[str, Person | None] = {}
    said = [r for r in rows if r.kind in ("message", "context")]
    for row in said:
        for user in (row.user, *mentioned_users(row.text)):
            if not user or user in known or user == world.rules.me or (user == row.user and "name" in row.data):
                continue
            known[user] = world.known.person(tx, session.thread.team, user)
    needs = _needs(tx, world, session, said, known, tried)
    if askers:
        needs = replace(needs, people=tuple(sorted({*needs.people, *askers})), now=True)
    newest = transcripts.newest_source_ts(tx, session.id) if said else None
    items: list[Item] = []
    for row in rows:
        if row.kind == "outcome":
            items.append(_happened(tx, session, row))
        elif row.kind in ("message", "context"):
            opens = row.kind == "message" and row.addressed
            if opens and row.access != "granted":
                continue  # not settled yet: it keeps its place
            items.append(Said(row.id, row.user, row.ts, _content(world, row, known, newest), opens))
    return Waiting(immediate, tuple(items), needs)


def _needs(
    tx: Tx,
    world: World,
    session: Session,
    said: list[InboxRow],
    known: dict[str, Person | None],
    tried: frozenset[str],
) -> Needs:
    opening = [r for r in said if r.kind == "message" and r.addressed]
    if not opening:
        return Needs()
    unsettled = {r.user for r in opening if r.access == "unknown"}
    strangers = {user for user, person in known.items() if person is None}
    thread = session.thread
    place = "place" not in tried and world.known.unknown_place(tx, thread.team, thread.channel, world.now())
    history = session.last_turn == 0 and "history" not in tried and not session.hydrated
    return Needs(tuple(sorted((unsettled | strangers) - tried)), place, history)


def _happened(tx: Tx, session: Session, row: InboxRow) -> Happened:
    asked = turns.get(tx, session.id, row.data["turn"])
    requester = asked.requester if asked else session.requester
    steps = asked.steps_used if asked else 0
    return Happened(row.id, row.data["call"], row.data["turn"], requester, steps, row.text, row.data["quiet"])


def _content(world: World, row: InboxRow, known: dict[str, Person | None], newest: str | None) -> dict[str, Any]:
    names = {user: person.name for user, person in known.items() if person is not None}
    text = readable(row.text, names, me=world.rules.me)
    change = row.data.get("change")
    if change == "edit":
        text = f"(edited their earlier message; it now reads:) {text}"
    elif change == "delete":
        text = "(deleted an earlier message)"
    content: dict[str, Any] = {
        "text": text or "(a message without text)",
        "user": row.user,
        "name": row.data.get("name") or names.get(row.user, row.user),
        "ts": row.ts,
    }
    if newest is not None and row.kind == "message" and float(row.ts) < float(newest):
        content["late"] = True
    return content

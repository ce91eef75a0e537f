"""The scheduled maintenance of one person's memories. Each call is one short transaction and is safe to repeat."""

from collections.abc import Sequence
from dataclasses import replace

from bot.memory import vital
from bot.memory.audience import WORKSPACE, covers
from bot.memory.memory_actions import PROPOSED_SECONDS, latest_end, store
from bot.memory.memory_format import has_ended
from bot.memory.ranking import DAY, STANDING
from storage import memories
from storage.database import Tx
from storage.records import Memory

BATCH = 200  # memories of one transaction, which keeps it well below 50 ms


def consolidate(tx: Tx, team: str, owner: str) -> int:
    """Merge the person's exact duplicates; return how many memories were merged into others."""
    merged, actor = 0, "consolidate"
    for group in memories.duplicates(tx, team, owner):
        plan = merge_plan(group)
        if plan is None or merged >= BATCH:
            continue
        kept, duplicates = plan
        for memory in duplicates:
            # Deleted, not superseded: the content is the same, and forgetting the kept one must leave no copy.
            memories.forget(tx, memory, actor=actor, now=kept.updated, event="merged")
        store(tx, kept, "consolidated", actor)
        merged += len(duplicates)
    return merged


def merge_plan(group: Sequence[Memory]) -> tuple[Memory, tuple[Memory, ...]] | None:
    """Return the memory to keep, with its new values, and the duplicates to delete; None if nothing can be merged.

    Only memories covered by the widest audience are merged, so no content becomes visible in another place. The kept
    memory has the oldest one's id and date, and the widest one's audience and source.
    """
    covered = {wide.id: tuple(m for m in group if covers(wide.audience, m.audience)) for wide in group}
    wide = max(group, key=lambda m: (len(covered[m.id]), m.audience == WORKSPACE))
    same = covered[wide.id]
    if len(same) < 2:
        return None
    oldest = min(same, key=lambda m: (m.created, m.id))
    kept = replace(
        oldest,
        audience=wide.audience,
        type=next((m.type for m in same if m.type != "fact"), oldest.type),
        source_channel=wide.source_channel,
        source_ts=wide.source_ts,
        permalink=wide.permalink,
        tags=tuple(sorted({tag for m in same for tag in m.tags})),
        confidence=max(m.confidence for m in same),
        importance=max(m.importance for m in same),
        valid_until=latest_end(same),
        updated=max(m.updated for m in same),
        last_used=max((m.last_used for m in same if m.last_used is not None), default=None),
        hits=sum(m.hits for m in same),
    )
    return kept, tuple(m for m in same if m.id != oldest.id)


def archive(tx: Tx, team: str, owner: str, now: float, after_days: float) -> int:
    """Archive at most one batch of memories that have ended or were unused for `after_days`; return how many.

    Standing memories (`ranking.STANDING`) and vital ones are archived only when they have ended: they are used without
    being found.
    """

    def candidates() -> tuple[Memory, ...]:
        since, types = now - after_days * DAY, tuple(STANDING)
        return memories.unused(
            tx, team, owner, since=since, now=now, keep_types=types, keep_importance=vital.KEPT, limit=BATCH
        )

    while found := candidates():
        rated = {m.id: vital.importance(m.content, m.type) for m in found if not has_ended(m, now)}
        for level in (vital.KEPT, vital.ALWAYS):  # stored before importance was: not found again
            if these := [i for i, value in rated.items() if value == level]:
                memories.rate(tx, team, owner, these, level)
        idle = [m.id for m in found if rated.get(m.id, 0.0) < vital.KEPT]
        if idle:
            return memories.archive(tx, team, owner, idle, actor="prune", now=now)
    return 0


def drop_unanswered(tx: Tx, team: str, owner: str, now: float) -> int:
    """Delete the proposed memories whose owner did not answer in time; return how many."""
    late = [m for m in memories.proposed(tx, team, owner) if m.created < now - PROPOSED_SECONDS]
    for memory in late:
        memories.forget(tx, memory, actor="prune", now=now, event="unanswered")
    return len(late)


def delete(tx: Tx, team: str, owner: str, now: float, retention_days: float) -> int:
    """Delete at most one batch of memories not touched for `retention_days`; return how many."""
    old = memories.untouched(tx, team, owner, since=now - retention_days * DAY, limit=BATCH)
    for memory in old:
        memories.forget(tx, memory, actor="prune", now=now, event="outlived")
    return len(old)

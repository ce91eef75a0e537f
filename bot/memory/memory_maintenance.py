"""The scheduled care for one person's memories. Each call is one short transaction and can be repeated at will."""

from bot.memory import policy, search_terms
from storage import memories
from storage.database import Tx

BATCH = 200  # memories of one transaction, so that none comes near 50 ms


def consolidate(tx: Tx, team: str, owner: str) -> int:
    """Merge the person's exact duplicates; return how many memories went into others."""
    gone = 0
    for group in memories.duplicates(tx, team, owner):
        plan = policy.merged(group)
        if plan is None or gone >= BATCH:
            continue
        kept, double = plan
        for memory in double:
            # Deleted, not superseded: it says the same, and forgetting the one that stays must leave nothing behind.
            memories.forget(tx, memory, actor="consolidate", now=kept.updated, event="merged")
        memories.change(
            tx,
            kept,
            words=search_terms.for_index(kept.content),
            content_hash=policy.content_hash(kept.content),
            event="consolidated",
            actor="consolidate",
        )
        gone += len(double)
    return gone


def archive(tx: Tx, team: str, owner: str, now: float, after_days: float) -> int:
    """Archive what was not used for so long and what has ended; return how many, at most a batch."""
    since = now - after_days * policy.DAY
    idle = memories.unused(tx, team, owner, since=since, now=now, but=tuple(policy.STANDING), limit=BATCH)
    due = [m.id for m in idle if policy.prunable(m, now, after_days)]
    return memories.archive(tx, team, owner, due, actor="prune", now=now)


def delete(tx: Tx, team: str, owner: str, now: float, retention_days: float) -> int:
    """Delete what was not touched for the retention time; return how many, at most a batch."""
    since = now - retention_days * policy.DAY
    old = memories.untouched(tx, team, owner, since=since, limit=BATCH)
    for memory in old:
        memories.forget(tx, memory, actor="prune", now=now, event="outlived")
    return len(old)

"""The tools that were ever offered: the name of each for the model, and its definition as people accepted it."""

from typing import Any

from sqlalchemy import insert, select, update

from storage.database import Tx
from storage.records import KnownTool, ToolIdentity
from storage.tables import known_tools as table

_ADD = insert(table)


def identity_columns(identity: ToolIdentity | None) -> dict[str, str]:
    """Return the columns of a ledger or approval row that say which tool it is about."""
    source, own_name, fingerprint = ("", "", "") if identity is None else _fields(identity)
    return {"tool_source": source, "tool_own_name": own_name, "tool_fingerprint": fingerprint}


def identity_of(row: Any) -> ToolIdentity | None:
    """Return which tool a ledger or approval row is about, or None for a row of an earlier version."""
    if not row.tool_source:
        return None
    return ToolIdentity(row.tool_source, row.tool_own_name, row.tool_fingerprint)


def of_source(tx: Tx, source: str) -> dict[str, KnownTool]:
    """Return the known tools of a source by their own names."""
    found = tx.execute(select(table).where(table.c.source == source))
    return {row.own_name: _known(row) for row in found}


def by_name(tx: Tx, name: str) -> KnownTool | None:
    """Return the tool that has this name for the model, or None."""
    row = tx.execute(select(table).where(table.c.name == name)).one_or_none()
    return None if row is None else _known(row)


def names(tx: Tx) -> set[str]:
    """Return every name that was ever given to a tool."""
    return set(tx.execute(select(table.c.name)).scalars())


def every(tx: Tx) -> list[KnownTool]:
    """Return all known tools in a stable order."""
    return [_known(row) for row in tx.execute(select(table).order_by(table.c.source, table.c.name))]


def add(tx: Tx, tool: KnownTool, now: float) -> None:
    """Add a tool that is offered for the first time."""
    source, own_name, fingerprint = _fields(tool.identity)
    row = {"source": source, "own_name": own_name, "name": tool.name, "fingerprint": fingerprint}
    tx.execute(_ADD, {**row, "definition": tool.definition, "created": now, "updated": now})


def set_changed(tx: Tx, identity: ToolIdentity, definition: dict[str, Any] | None, now: float) -> None:
    """Record a definition that waits for a decision; None: the accepted definition is back."""
    fingerprint = None if definition is None else identity.fingerprint
    values = {"changed_fingerprint": fingerprint, "changed_definition": definition, "updated": now}
    tx.execute(update(table).where(*_is(identity)).values(**values))


def accept(tx: Tx, identity: ToolIdentity, definition: dict[str, Any], now: float) -> None:
    """Make a definition the accepted one."""
    values = {"fingerprint": identity.fingerprint, "definition": definition, "updated": now}
    tx.execute(update(table).where(*_is(identity)).values(**values, changed_fingerprint=None, changed_definition=None))


def _is(identity: ToolIdentity) -> tuple[Any, Any]:
    return table.c.source == identity.source, table.c.own_name == identity.own_name


def _fields(identity: ToolIdentity) -> tuple[str, str, str]:
    return identity.source, identity.own_name, identity.fingerprint


def _known(row: Any) -> KnownTool:
    changed = row.changed_fingerprint and ToolIdentity(row.source, row.own_name, row.changed_fingerprint)
    return KnownTool(
        identity=ToolIdentity(row.source, row.own_name, row.fingerprint),
        name=row.name,
        definition=row.definition,
        changed=changed or None,
        changed_definition=row.changed_definition,
    )

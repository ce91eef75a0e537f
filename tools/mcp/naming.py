"""What MCP tools are called here: `<server>_<tool>`, the same name at every start, never two tools under one name."""

import re
from collections.abc import Collection, Iterable
from hashlib import sha256

MAX_NAME = 64
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")


def tool_names(server: str, tools: Iterable[str], others: Collection[str], reserved: Collection[str]) -> dict[str, str]:
    """Map each of a server's tools to its name: ^[a-zA-Z0-9_-]{1,64}$.

    A name ends with the hash of what it stands for where it is cut, where another tool of the server has it, where it
    is `reserved` (the built-in ones), or where it could also belong to one of the `others` (servers `a` and `a_b`).
    None of this depends on which server answers first, so a stored approval never meets another tool.
    """
    named: dict[str, str] = {}
    taken: set[str] = set()
    # tools whose name needs no change come first: they keep it
    for tool in sorted(set(tools), key=lambda tool: (bool(_ILLEGAL.search(tool)), tool)):
        name = _ILLEGAL.sub("_", f"{server}_{tool}")
        longer = any(len(other) > len(server) and name.startswith(f"{other}_") for other in others)
        if longer or len(name) > MAX_NAME or name in taken or name in reserved:
            name = f"{name[: MAX_NAME - 9]}_{sha256(f'{server}/{tool}'.encode()).hexdigest()[:8]}"
        taken.add(name)
        named[tool] = name
    return named

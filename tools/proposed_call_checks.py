"""The review of a model's tool calls: they are parsed, validated and checked against policy before anything runs."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from storage.records import ApprovalRule, Decision, Effect, ToolCall, ToolIdentity
from tools.call_outcome import failed
from tools.lenient_json import ArgumentsError, ParsedArguments
from tools.shown_arguments import fits_view
from tools.text_cleanup import brief, storable, storable_data
from tools.tool_context import ModelCall, ToolContext
from tools.tool_definition import Precheck, Tool, ToolError
from tools.tool_identity import identity_of, is_same
from tools.tool_policy import Policy
from tools.tool_registry import Registry

TOOL_CHANGED = "tool_changed"  # code of the error: the tool is not the one that a call was proposed for
MAX_CALLS = 20  # of one reply
PRECHECK_SECONDS = 3.0

log = logging.getLogger(__name__)

_TOO_MANY = failed(
    "too_many_calls",
    f"At most {MAX_CALLS} tools can be called in one reply; this call was not made.",
    suggestion="Read the results of the others, then call it again if it is still needed.",
)
_TOO_LONG = failed(
    "too_long_to_approve",
    "The arguments are too long for a person to read and approve. The call was not made.",
    suggestion="Send less, or split it over several calls.",
)


@dataclass(frozen=True, slots=True)
class ReviewedCall:
    """One proposed call after parsing, validation and policy.

    `refusal` is the result of a call that will not run (unknown tool, bad arguments, denied by policy, too few
    approvers); `decision` is then deny. `rule` is set if `decision` is ask.
    """

    provider_id: str
    name: str
    arguments: dict[str, Any]
    arguments_hash: str
    effect: Effect
    decision: Decision
    repeatable: bool
    repaired: bool = False
    refusal: str | None = None
    invalid: bool = False  # the refusal is about the arguments: the model may correct them
    rule: ApprovalRule | None = None
    raw_hash: str = ""  # of the arguments as the model wrote them, if the call was refused
    identity: ToolIdentity | None = None  # of the tool, None if it is unknown


def arguments_hash(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a call: the tool's name and its arguments as canonical JSON, where 5.0 is 5."""
    canonical = json.dumps([name, _plain_numbers(arguments)], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _plain_numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def raw_hash(arguments: str) -> str:
    """Return the SHA-256 of arguments as a model wrote them: it tells a repetition, and keeps no words."""
    return hashlib.sha256(arguments.encode("utf-8", "surrogatepass")).hexdigest()


def review(
    registry: Registry,
    policy: Policy,
    calls: Sequence[ModelCall],
    requester: str,
    unresolved: Collection[str] = (),
    excluded: Collection[str] = (),
    offered: Mapping[str, ToolIdentity] | None = None,
) -> tuple[ReviewedCall, ...]:
    """Review the calls of one model reply, in their order; those after the first MAX_CALLS are refused.

    `unresolved`: hashes of the session's calls with an unknown outcome; an identical call needs an approval.
    `excluded`: people whose approval does not count. `offered`: the tools as the model saw them.
    """
    offered = registry.identities() if offered is None else offered
    first = [_review(registry, policy, c, requester, unresolved, excluded, offered) for c in calls[:MAX_CALLS]]
    return (*first, *(_refused(call, brief(call.name, 64), _TOO_MANY) for call in calls[MAX_CALLS:]))


def precheck_of(registry: Registry, call: ReviewedCall) -> Precheck | None:
    """Return the precheck of a call that would ask people, if its tool has one."""
    tool = registry.get(call.name)
    return tool.precheck if tool is not None and call.decision == "ask" else None


async def precheck(registry: Registry, call: ReviewedCall, context: ToolContext) -> ReviewedCall:
    """Return the call, refused if it would ask people and certainly cannot succeed. Takes at most 3 s."""
    check = precheck_of(registry, call)
    if check is None:
        return call
    try:
        async with asyncio.timeout(PRECHECK_SECONDS):
            await check(context, call.arguments)
    except ToolError as error:
        code, message, suggestion = storable_data([error.code, error.message, error.suggestion])
        return replace(call, decision="deny", rule=None, refusal=failed(code, message, suggestion=suggestion))
    except Exception as error:  # it could not find out: people are asked
        reason = getattr(error, "code", type(error).__name__)
        log.warning("call not prechecked", extra={"tool": call.name, "reason": reason})
    return call


def is_changed(registry: Registry, call: ToolCall) -> bool:
    """Return True if the tool of a stored call is known and is not the one that the call was proposed for."""
    now = registry.identities().get(call.name)
    return registry.blocked(call.name) is not None or (now is not None and not is_same(call.identity, now))


def refusal_before_run(registry: Registry, policy: Policy, call: ToolCall) -> str | None:
    """Check a stored call again just before it runs. Return the refusal as a result for the model, or None.

    A call that needed no approval when it was reviewed, but needs one now, is refused too.
    """
    if is_changed(registry, call):
        return _changed(registry, call.name)
    tool = registry.get(call.name)
    if tool is None:
        return _unknown_tool(registry, call.name)
    if arguments_hash(call.name, call.arguments) != call.arguments_hash:
        return failed("changed", "The arguments are not the ones that were reviewed; the call was not made.")
    problem = registry.validator(tool.name).problem(call.arguments) or _own_check(tool, call.arguments)
    if problem:
        return _bad_arguments(problem)
    if reason := policy.forbids(tool, call.requester):
        return failed("denied_by_policy", reason)
    if call.decision == "allow" and policy.configured(tool) != "allow" and not tool.asks_itself:
        return failed("denied_by_policy", f"The tool {call.name} needs an approval now; call it again.")
    return None


def _review(
    registry: Registry,
    policy: Policy,
    call: ModelCall,
    requester: str,
    unresolved: Collection[str],
    excluded: Collection[str],
    offered: Mapping[str, ToolIdentity],
) -> ReviewedCall:
    tool, identity = registry.get(call.name), registry.identities().get(call.name)
    blocked = registry.blocked(call.name)
    if blocked is not None and (reason := policy.forbids(blocked, requester)):
        return _refused(call, blocked.name, failed("denied_by_policy", reason))
    if blocked is not None or identity != offered.get(call.name, identity):
        return _refused(call, brief(call.name, 64), _changed(registry, call.name), blocked)
    if tool is None:
        return _refused(call, brief(call.name, 64), _unknown_tool(registry, call.name))
    try:
        parsed = _parse(registry, tool, call.arguments)
    except ArgumentsError as error:
        return _refused(call, tool.name, _bad_arguments(str(error)), tool, invalid=True)
    digest = arguments_hash(tool.name, parsed.arguments)
    again = digest in unresolved
    ruling = policy.decide(tool, requester, repaired=parsed.repaired, unresolved=again, excluded=excluded)
    if ruling.decision == "ask" and not fits_view(parsed.arguments):
        return _refused(call, tool.name, _TOO_LONG, tool, invalid=True)
    return ReviewedCall(
        provider_id=call.id,
        name=tool.name,
        arguments=parsed.arguments,
        arguments_hash=digest,
        effect=tool.effect,
        decision=ruling.decision,
        repeatable=tool.repeatable,
        repaired=parsed.repaired,
        refusal=failed("denied_by_policy", ruling.reason) if ruling.decision == "deny" else None,
        rule=ruling.rule,
        identity=identity,
    )


def _refused(
    call: ModelCall, name: str, refusal: str, tool: Tool | None = None, *, invalid: bool = False
) -> ReviewedCall:
    """Return a call that will not run: its tool is unknown or has changed, or (`invalid`) its arguments are wrong."""
    return ReviewedCall(
        provider_id=call.id,
        name=name,
        arguments={},
        arguments_hash=arguments_hash(name, {}),
        effect=tool.effect if tool else "danger",
        decision="deny",
        repeatable=tool.repeatable if tool else False,
        refusal=refusal,
        invalid=invalid,
        raw_hash=raw_hash(call.arguments),
        identity=identity_of(tool) if tool else None,
    )


def _parse(registry: Registry, tool: Tool, raw: str) -> ParsedArguments:
    """Return the arguments as the tool takes them. Raise ArgumentsError."""
    parsed = registry.validator(tool.name).parse(raw)
    if problem := _own_check(tool, parsed.arguments):
        raise ArgumentsError(problem)
    return parsed


def _own_check(tool: Tool, arguments: dict[str, Any]) -> str | None:
    return tool.check(arguments) if tool.check else None


def _bad_arguments(problem: str) -> str:
    suggestion = "Correct the arguments and call the tool again."
    return failed("bad_arguments", storable(problem), suggestion=suggestion, retryable=True)


def _changed(registry: Registry, name: str) -> str:
    """Return the refusal of a call to a tool that is not the one it was proposed for."""
    message = f"The tool {brief(name, 64)!r} changed since it was offered. The call was not made."
    if registry.blocked(name) is None:
        return failed(TOOL_CHANGED, message, suggestion="Read its definition again, then call it again if it fits.")
    return failed(
        TOOL_CHANGED,
        f"{message} It is blocked until a person accepts its new definition; a card shows them what changed.",
        suggestion="Say so. Do not call it again before a person says that they accepted it.",
    )


def _unknown_tool(registry: Registry, name: str) -> str:
    near = get_close_matches(name, registry.names(), n=3)
    suggestion = f"Did you mean {' or '.join(near)}?" if near else "Use only the tools that are offered."
    return failed("unknown_tool", f"There is no tool named {brief(name, 64)!r}.", suggestion=suggestion)

"""The review of a model's tool calls: the words between registry, policy and the session engine."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from storage.records import ApprovalRule, CallState, Decision, Effect, ToolCall
from tools.argument_validation import ArgumentsError, Parsed, arguments_hash
from tools.context import ModelCall
from tools.text_cleanup import brief, storable
from tools.tool_definition import Tool, failed
from tools.tool_policy import Policy
from tools.tool_registry import Registry

RAW_KEPT = 4000  # characters of unreadable arguments that are kept, for the model to see what it wrote


@dataclass(frozen=True, slots=True)
class Reviewed:
    """One proposed call after parsing, validation and policy.

    `refusal` is the finished result when the call will not run (unknown tool, bad arguments, denied by policy, no
    one could approve it); then `decision` is deny. `rule` is set when `decision` is ask.
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
    invalid: bool = False  # the refusal is about the arguments: the model may try again (rethink)
    rule: ApprovalRule | None = None
    raw_arguments: str = ""  # as the model wrote them, when they could not be parsed


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended. `result` is what the model sees; `full_result` the whole, when it was cut."""

    state: CallState  # succeeded, failed, timed_out, cancelled, unknown
    result: str
    full_result: str | None = None
    error: str | None = None


def review(
    registry: Registry,
    policy: Policy,
    calls: Sequence[ModelCall],
    requester: str,
    unresolved: Collection[str] = (),
) -> tuple[Reviewed, ...]:
    """Review the calls of one model reply, in their order.

    `unresolved`: hashes (`arguments_hash`) of the session's calls whose outcome is unknown; an equal call asks.
    """
    return tuple(_review(registry, policy, call, requester, unresolved) for call in calls)


def recheck(registry: Registry, policy: Policy, call: ToolCall) -> str | None:
    """Check a stored call again before it runs; return the finished refusal, or None.

    A call that was allowed and would be asked for now is refused too; an approved one has been asked for.
    """
    tool = registry.get(call.name)
    if tool is None:
        return _unknown_tool(registry, call.name)
    if arguments_hash(call.name, call.arguments) != call.arguments_hash:
        return failed("changed", "The arguments are not the ones that were reviewed; the call was not made.")
    if problem := _problem(registry, tool, call.arguments):
        return _bad_arguments(problem)
    if reason := policy.forbids(tool, call.requester):
        return failed("denied_by_policy", reason)
    if call.decision == "allow" and policy.configured(tool) != "allow":
        return failed("denied_by_policy", f"The tool {call.name} needs an approval now; call it again.")
    return None


def _review(
    registry: Registry, policy: Policy, call: ModelCall, requester: str, unresolved: Collection[str]
) -> Reviewed:
    tool = registry.get(call.name)
    if tool is None:
        name, refusal = brief(call.name, 64), _unknown_tool(registry, call.name)
        return _refused(call, name, refusal)
    try:
        parsed = registry.checker(call.name).read(call.arguments)
        if tool.check and (problem := tool.check(parsed.arguments)):
            raise ArgumentsError(problem)
    except ArgumentsError as error:
        return _refused(call, tool.name, _bad_arguments(str(error)), tool)
    return _ruled(policy, tool, call, parsed, requester, unresolved)


def _ruled(
    policy: Policy, tool: Tool, call: ModelCall, parsed: Parsed, requester: str, unresolved: Collection[str]
) -> Reviewed:
    digest = arguments_hash(tool.name, parsed.arguments)
    ruling = policy.decide(tool, requester, repaired=parsed.repaired, unresolved=digest in unresolved)
    return Reviewed(
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
    )


def _refused(call: ModelCall, name: str, refusal: str, tool: Tool | None = None) -> Reviewed:
    """Return a call that will not run: its tool is unknown, or (with `tool`) its arguments are wrong."""
    return Reviewed(
        provider_id=call.id,
        name=name,
        arguments={},
        arguments_hash=arguments_hash(name, {}),
        effect=tool.effect if tool else "danger",
        decision="deny",
        repeatable=tool.repeatable if tool else False,
        refusal=refusal,
        invalid=tool is not None,
        raw_arguments=storable(call.arguments[:RAW_KEPT]),
    )


def _problem(registry: Registry, tool: Tool, arguments: dict[str, Any]) -> str | None:
    return registry.checker(tool.name).problem(arguments) or (tool.check(arguments) if tool.check else None)


def _bad_arguments(problem: str) -> str:
    return failed(
        "bad_arguments", storable(problem), suggestion="Correct the arguments and call the tool again.", retryable=True
    )


def _unknown_tool(registry: Registry, name: str) -> str:
    near = get_close_matches(name, registry.names(), n=3)
    suggestion = f"Did you mean {' or '.join(near)}?" if near else "Use only the tools that are offered."
    return failed("unknown_tool", f"There is no tool named {brief(name, 64)!r}.", suggestion=suggestion)

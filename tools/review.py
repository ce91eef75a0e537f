"""What the review of a model's tool calls found: the words between registry, policy and the session engine."""

from dataclasses import dataclass
from typing import Any

from storage.records import ApprovalRule, CallState, Decision, Effect


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

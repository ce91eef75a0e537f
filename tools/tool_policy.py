"""Tool policy: whether a call may run, who may approve it, and whether an approval has enough votes. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from storage.records import ApprovalRule, Decision, Effect
from tools.tool_definition import Tool

N = TypeVar("N", int, float)
Verdict = Literal["approve", "deny"]

_BY_EFFECT: dict[Effect, Decision] = {"read": "allow", "write": "ask", "danger": "ask"}
_ROLE = "role:"
REQUESTER = "requester"
ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a call: seconds per attempt, number of retries, characters of the result."""

    timeout_s: float = 15.0
    retries: int = 2
    result_limit: int = 4000


@dataclass(frozen=True, slots=True)
class ToolRule:
    """The configuration of one tool; None means not configured.

    `approvers`: "requester", "role:NAME", or a list of user ids and roles.
    """

    risk: Decision | None = None
    approvers: str | tuple[str, ...] = REQUESTER
    quorum: int = 1
    not_requester: bool = False
    expires_h: float = 24.0
    timeout_s: float | None = None
    retries: int | None = None
    result_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """The decision on one call. `rule` is set for ask, `reason` for deny."""

    decision: Decision
    rule: ApprovalRule | None = None
    reason: str = ""


_NO_RULE = ToolRule()


@dataclass(frozen=True, slots=True)
class Policy:
    """The configured rules by tool name, the roles by name, and the default limits."""

    rules: Mapping[str, ToolRule] = field(default_factory=dict)
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Limits = field(default_factory=Limits)

    def configured(self, tool: Tool) -> Decision:
        """Return the decision on the tool itself, before requester and arguments are known."""
        return self.rules.get(tool.name, _NO_RULE).risk or tool.default_decision or _BY_EFFECT[tool.effect]

    def decide(
        self,
        tool: Tool,
        requester: str,
        *,
        repaired: bool = False,
        unresolved: bool = False,
        excluded: Collection[str] = (),
    ) -> Ruling:
        """Return the ruling on one call: deny overrides ask, ask overrides allow.

        `repaired`: the model's arguments were not valid JSON, so a call with effects asks. `unresolved`: an identical
        call of the session has an unknown outcome, so this one asks. `excluded`: people whose approval does not count.
        """
        if reason := self.forbids(tool, requester):
            return Ruling("deny", reason=reason)
        must_ask = unresolved or (repaired and tool.effect != "read")
        if tool.asks_itself or (self.configured(tool) == "allow" and not must_ask):
            return Ruling("allow")
        rule = self.rule_for(tool.name)
        if lack := shortage(rule, requester, excluded):
            return Ruling("deny", reason=f"Nobody can approve the tool {tool.name}: {lack}.")
        return Ruling("ask", rule=rule)

    def forbids(self, tool: Tool, requester: str) -> str:
        """Return why this person may never use the tool, even with an approval, or an empty string."""
        if self.configured(tool) == "deny":
            return f"The configuration does not allow the tool {tool.name}."
        if tool.roles and not any(requester in self.roles.get(role, ()) for role in tool.roles):
            return f"The tool {tool.name} is only for people with the role {' or '.join(tool.roles)}."
        return ""

    def rule_for(self, name: str) -> ApprovalRule:
        """Return who may decide a tool's approvals and unknown outcomes now, with roles resolved to user ids."""
        rule = self.rules.get(name, _NO_RULE)
        return ApprovalRule(
            approvers=self._user_ids(rule.approvers),
            quorum=max(rule.quorum, 1),
            not_requester=rule.not_requester,
            expires_seconds=rule.expires_h * 3600.0,
        )

    def current(self, rule: ApprovalRule, name: str, requester: str) -> ApprovalRule:
        """Return an open approval's rule under the current configuration.

        Its approvers are those who were approvers when it was opened and still are; for a tool that is denied now there
        are none. The stricter quorum applies. Pass the result to `may_decide` and `tally`.
        """
        now = self.rule_for(name)
        then_ids, now_ids = _approver_ids(rule, requester), set(_approver_ids(now, requester))
        denied = self.rules.get(name, _NO_RULE).risk == "deny"
        return replace(
            rule,
            approvers=() if denied else tuple(user for user in then_ids if user in now_ids),
            quorum=max(rule.quorum, now.quorum),
            not_requester=rule.not_requester or now.not_requester,
        )

    def reviewers(self, name: str) -> ApprovalRule:
        """Return who may accept the changed definition of a tool: the role `admin`, else the tool's approvers."""
        rule = replace(self.rule_for(name), quorum=1)
        admins = self.roles.get(ADMIN)
        return replace(rule, approvers=admins, not_requester=False) if admins else rule

    def limits(self, tool: Tool) -> Limits:
        """Return the limits of one tool: configured, else the tool's own, else the defaults."""
        rule, defaults = self.rules.get(tool.name, _NO_RULE), self.defaults
        return Limits(
            timeout_s=_first_set(rule.timeout_s, tool.timeout_s, defaults.timeout_s),
            retries=_first_set(rule.retries, tool.retries, defaults.retries),
            result_limit=_first_set(rule.result_limit, tool.result_limit, defaults.result_limit),
        )

    def _user_ids(self, approvers: str | tuple[str, ...]) -> tuple[str, ...]:
        named = (approvers,) if isinstance(approvers, str) else approvers
        people: dict[str, None] = {}
        for name in named:
            members = self.roles.get(name.removeprefix(_ROLE), ()) if name.startswith(_ROLE) else (name,)
            people.update(dict.fromkeys(members))
        return tuple(people)


def shortage(rule: ApprovalRule, requester: str, excluded: Collection[str] = ()) -> str:
    """Return why too few people can approve, or an empty string."""
    named = _approver_ids(rule, requester)
    able = [user for user in named if user not in excluded and may_decide(rule, requester, user)]
    if len(able) >= rule.quorum:
        return ""
    others = " other than the requester" if rule.not_requester else ""
    return f"approvals needed: {rule.quorum}, people who can approve{others}: {len(able)}"


def may_decide(rule: ApprovalRule, requester: str, user: str, verdict: Verdict = "approve") -> bool:
    """Return True if a person may give this verdict. Every approver may deny, and the requester always may."""
    if verdict == "deny" and user == requester:
        return True
    if rule.not_requester and user == requester:
        return False
    return user in _approver_ids(rule, requester)


def tally(
    rule: ApprovalRule, requester: str, votes: Iterable[str], denials: Iterable[str] = ()
) -> Literal["open", "approved", "denied"]:
    """Return the state of an approval from the users who approved (`votes`) and denied (`denials`).

    Only people who may decide count, each once. One denial overrides any number of votes.
    """
    if any(may_decide(rule, requester, user, "deny") for user in denials):
        return "denied"
    agreed = {user for user in votes if may_decide(rule, requester, user)}
    return "approved" if len(agreed) >= max(rule.quorum, 1) else "open"


def _approver_ids(rule: ApprovalRule, requester: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(requester if name == REQUESTER else name for name in rule.approvers))


def _first_set(*values: N | None) -> N:
    return next(value for value in values if value is not None)

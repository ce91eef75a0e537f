"""Who may do what: the decision on a tool call, who may answer its approval, and when an approval is settled. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from storage.records import ApprovalRule, Decision, Effect
from tools.tool_definition import Tool

N = TypeVar("N", int, float)
Verdict = Literal["approve", "deny"]

_BY_EFFECT: dict[Effect, Decision] = {"read": "allow", "write": "ask", "danger": "ask"}
_ROLE = "role:"
REQUESTER = "requester"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long one attempt may take, how often it is tried again, how many characters its result may have."""

    timeout_s: float = 15.0
    retries: int = 2
    result_limit: int = 4000


@dataclass(frozen=True, slots=True)
class ToolRule:
    """What the configuration says about one tool; None means "not said".

    `approvers`: "requester", "role:NAME", or a list of user ids (roles may stand in it too).
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
    """The decision on one call: with `rule` when a person is asked, with `reason` when it is refused."""

    decision: Decision
    rule: ApprovalRule | None = None
    reason: str = ""


_SILENT = ToolRule()


@dataclass(frozen=True, slots=True)
class Policy:
    """The configured rules by tool name, the roles by name, and the default limits."""

    rules: Mapping[str, ToolRule] = field(default_factory=dict)
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Limits = field(default_factory=Limits)

    def configured(self, tool: Tool) -> Decision:
        """Return the decision on the tool as such, before a requester and arguments are known."""
        return self.rules.get(tool.name, _SILENT).risk or tool.default_decision or _BY_EFFECT[tool.effect]

    def decide(self, tool: Tool, requester: str, *, repaired: bool = False, unresolved: bool = False) -> Ruling:
        """Return the ruling on one call: deny beats ask beats allow.

        `repaired`: its arguments were not JSON as the model wrote them, so with effects it asks. `unresolved`: an
        equal call of the session has an unknown outcome, so it asks.
        """
        if reason := self.forbids(tool, requester):
            return Ruling("deny", reason=reason)
        must_ask = unresolved or (repaired and tool.effect != "read")
        if self.configured(tool) == "allow" and not must_ask:
            return Ruling("allow")
        rule = self.rule_for(tool.name)
        if lack := shortage(rule, requester):
            return Ruling("deny", reason=f"The tool {tool.name} needs an approval that nobody can give: {lack}.")
        return Ruling("ask", rule=rule)

    def forbids(self, tool: Tool, requester: str) -> str:
        """Return why the tool is closed to this person whatever anyone approves, or an empty string."""
        if self.configured(tool) == "deny":
            return f"The configuration does not allow the tool {tool.name}."
        if tool.roles and not any(requester in self.roles.get(role, ()) for role in tool.roles):
            return f"The tool {tool.name} is for people with the role {' or '.join(tool.roles)} only."
        return ""

    def rule_for(self, name: str) -> ApprovalRule:
        """Return who may answer for a tool now, with roles resolved to user ids; also for an `unknown` question."""
        rule = self.rules.get(name, _SILENT)
        return ApprovalRule(
            approvers=self._resolved(rule.approvers),
            quorum=max(rule.quorum, 1),
            not_requester=rule.not_requester,
            expires_seconds=rule.expires_h * 3600.0,
        )

    def current(self, rule: ApprovalRule, name: str, requester: str) -> ApprovalRule:
        """Return a card's rule as it stands today: who was an approver then and is one still; the stricter quorum.

        A tool that is denied meanwhile has no approvers left. Pass the result to `may_decide` and `tally`.
        """
        now = self.rule_for(name)
        then_ids, now_ids = (_people(r, requester) for r in (rule, now))
        left = () if self.rules.get(name, _SILENT).risk == "deny" else tuple(u for u in then_ids if u in set(now_ids))
        return replace(
            rule,
            approvers=left,
            quorum=max(rule.quorum, now.quorum),
            not_requester=rule.not_requester or now.not_requester,
        )

    def limits(self, tool: Tool) -> Limits:
        """Return the limits of one tool: the configuration's, else the tool's own, else the defaults."""
        rule, defaults = self.rules.get(tool.name, _SILENT), self.defaults
        return Limits(
            timeout_s=_first(rule.timeout_s, tool.timeout_s, defaults.timeout_s),
            retries=_first(rule.retries, tool.retries, defaults.retries),
            result_limit=_first(rule.result_limit, tool.result_limit, defaults.result_limit),
        )

    def _resolved(self, approvers: str | tuple[str, ...]) -> tuple[str, ...]:
        named = (approvers,) if isinstance(approvers, str) else approvers
        people: dict[str, None] = {}
        for name in named:
            members = self.roles.get(name.removeprefix(_ROLE), ()) if name.startswith(_ROLE) else (name,)
            people.update(dict.fromkeys(members))
        return tuple(people)


def shortage(rule: ApprovalRule, requester: str) -> str:
    """Return why too few people could approve, or an empty string."""
    able = [user for user in _people(rule, requester) if may_decide(rule, requester, user)]
    if len(able) >= rule.quorum:
        return ""
    others = " other than the requester" if rule.not_requester else ""
    return f"{rule.quorum} must agree and {len(able)} may{others}"


def may_decide(rule: ApprovalRule, requester: str, user: str, verdict: Verdict = "approve") -> bool:
    """Tell whether a person may give this verdict. Deny is open to every approver and always to the requester."""
    if verdict == "deny" and user == requester:
        return True
    if rule.not_requester and user == requester:
        return False
    return user in _people(rule, requester)


def tally(
    rule: ApprovalRule, requester: str, votes: Iterable[str], denials: Iterable[str] = ()
) -> Literal["open", "approved", "denied"]:
    """Return where an approval stands; `votes` are the users who approved, `denials` those who denied.

    Only people who may decide count, each once; one denial beats any number of votes.
    """
    if any(may_decide(rule, requester, user, "deny") for user in denials):
        return "denied"
    agreed = {user for user in votes if may_decide(rule, requester, user)}
    return "approved" if len(agreed) >= max(rule.quorum, 1) else "open"


def _people(rule: ApprovalRule, requester: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(requester if name == REQUESTER else name for name in rule.approvers))


def _first(*values: N | None) -> N:
    return next(value for value in values if value is not None)

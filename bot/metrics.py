"""What Prometheus sees. One registry per process, so that tests can have several."""

from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

TURN_BUCKETS = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600)
TOOL_BUCKETS = (0.01, 0.05, 0.1, 0.5, 1, 2, 5, 15, 60, 300)


class Metrics:
    """The engine's `Watch`, and the text for `/metrics`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.turns = 0  # ended so far
        beside: Any = {"registry": self.registry}
        self._turns = Counter("hermes_turns", "Turns by how they ended", ["outcome"], **beside)
        self._turn_seconds = Histogram("hermes_turn_seconds", "Seconds at work", buckets=TURN_BUCKETS, **beside)
        self._tool_seconds = Histogram(
            "hermes_tool_execution_duration_seconds", "Tool calls", ["tool", "state"], buckets=TOOL_BUCKETS, **beside
        )
        self._arguments = Counter("hermes_argument_validation", "Tool arguments", ["result"], **beside)
        self._approvals = Counter("hermes_approvals", "Settled approvals", ["verdict"], **beside)
        self._deliveries = Counter("hermes_deliveries", "Messages owed to Slack", ["state"], **beside)
        self._timeouts = Counter("hermes_state_timeout", "Turns ended by their time limit", **beside)
        self._tokens = Counter("hermes_model_tokens", "Tokens as the server counts", ["kind"], **beside)
        self._memory = Counter("hermes_memory", "Memory reads and writes", ["event"], **beside)
        self._depth = Gauge("hermes_inbox_depth", "Messages and outcomes that wait", **beside)
        self._mcp = Gauge("hermes_mcp_up", "Whether an MCP server is connected", ["server"], **beside)

    def turn_ended(self, outcome: str, seconds: float) -> None:
        self.turns += 1
        self._turns.labels(outcome).inc()
        self._turn_seconds.observe(seconds)

    def tool_ended(self, tool: str, state: str, seconds: float) -> None:
        self._tool_seconds.labels(tool, state).observe(seconds)

    def arguments(self, result: str) -> None:
        self._arguments.labels(result).inc()

    def approval(self, verdict: str) -> None:
        self._approvals.labels(verdict).inc()

    def delivery(self, state: str) -> None:
        self._deliveries.labels(state).inc()

    def tokens(self, prompt: int, completion: int, cached: int) -> None:
        for kind, count in (("prompt", prompt), ("completion", completion), ("cached", cached)):
            self._tokens.labels(kind).inc(count)

    def timed_out(self) -> None:
        self._timeouts.inc()

    def memory(self, event: str, count: int = 1) -> None:
        self._memory.labels(event).inc(count)

    def text(self, depth: int, servers: Iterable[tuple[str, bool]]) -> bytes:
        """Return the exposition text, with what is measured only when asked."""
        self._depth.set(depth)
        for name, up in servers:
            self._mcp.labels(name).set(up)
        return generate_latest(self.registry)

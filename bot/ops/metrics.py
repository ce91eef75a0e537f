"""What Prometheus sees. One registry per process, so that tests can have several."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

TURN_BUCKETS = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600)
TOOL_BUCKETS = (0.01, 0.05, 0.1, 0.5, 1, 2, 5, 15, 60, 300)


@dataclass(frozen=True, slots=True)
class Stored:
    """What the database counts, and which MCP servers are up: read when somebody asks."""

    depth: int = 0
    approvals: Mapping[str, int] = field(default_factory=dict)
    memories: Mapping[str, int] = field(default_factory=dict)
    servers: Mapping[str, bool] = field(default_factory=dict)


class _Tallies(Collector):
    """Counters that the database keeps, so that they outlive the process and miss nothing."""

    def __init__(self) -> None:
        self.stored = Stored()

    def collect(self) -> Iterable[Metric]:
        approvals = CounterMetricFamily("hermes_approvals", "Settled approvals", labels=["verdict"])
        for verdict, count in self.stored.approvals.items():
            approvals.add_metric([verdict], count)
        memories = CounterMetricFamily("hermes_memory", "What happened to memories", labels=["event"])
        for event, count in self.stored.memories.items():
            memories.add_metric([event], count)
        return approvals, memories


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
        self._deliveries = Counter("hermes_deliveries", "Messages owed to Slack", ["state"], **beside)
        self._timeouts = Counter("hermes_state_timeout", "Turns ended by their time limit", **beside)
        self._tokens = Counter("hermes_model_tokens", "Tokens as the server counts", ["kind"], **beside)
        self._depth = Gauge("hermes_inbox_depth", "Messages and outcomes that wait", **beside)
        self._mcp = Gauge("hermes_mcp_up", "Whether an MCP server is connected", ["server"], **beside)
        self._tallies = _Tallies()
        self.registry.register(self._tallies)

    def turn_ended(self, outcome: str, seconds: float) -> None:
        self.turns += 1
        self._turns.labels(outcome).inc()
        self._turn_seconds.observe(seconds)

    def tool_ended(self, tool: str, state: str, seconds: float) -> None:
        self._tool_seconds.labels(tool, state).observe(seconds)

    def arguments(self, result: str) -> None:
        self._arguments.labels(result).inc()

    def delivery(self, state: str) -> None:
        self._deliveries.labels(state).inc()

    def tokens(self, prompt: int, completion: int, cached: int) -> None:
        for kind, count in (("prompt", prompt), ("completion", completion), ("cached", cached)):
            self._tokens.labels(kind).inc(count)

    def timed_out(self) -> None:
        self._timeouts.inc()

    def text(self, stored: Stored) -> bytes:
        """Return the exposition text."""
        self._depth.set(stored.depth)
        self._tallies.stored = stored
        for name, up in stored.servers.items():
            self._mcp.labels(name).set(up)
        return generate_latest(self.registry)

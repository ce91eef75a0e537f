"""Metrics for Prometheus. Each `Metrics` has a registry of its own, so that tests can have several."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

TURN_BUCKETS = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600)
TOOL_BUCKETS = (0.01, 0.05, 0.1, 0.5, 1, 2, 5, 15, 60, 300)


@dataclass(frozen=True, slots=True)
class StoredCounts:
    """Counts of the database, and which MCP servers are connected; read at each request of `/metrics`."""

    depth: int = 0
    approvals: Mapping[str, int] = field(default_factory=dict)
    memories: Mapping[str, int] = field(default_factory=dict)
    servers: Mapping[str, bool] = field(default_factory=dict)


class _StoredCounters(Collector):
    """Counters kept in the database, so that a restart does not reset them."""

    def __init__(self) -> None:
        self.stored = StoredCounts()

    def collect(self) -> Iterable[Metric]:
        approvals = CounterMetricFamily("hermes_approvals", "Settled approvals", labels=["verdict"])
        for verdict, count in self.stored.approvals.items():
            approvals.add_metric([verdict], count)
        memories = CounterMetricFamily("hermes_memory", "Changes of memories", labels=["event"])
        for event, count in self.stored.memories.items():
            memories.add_metric([event], count)
        return approvals, memories


class Metrics:
    """Counts what the engine reports, and writes the text of `/metrics`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.turns = 0  # ended so far
        own: Any = {"registry": self.registry}
        self._turns = Counter("hermes_turns", "Turns by how they ended", ["outcome"], **own)
        self._turn_seconds = Histogram("hermes_turn_seconds", "Seconds of work per turn", buckets=TURN_BUCKETS, **own)
        self._tool_seconds = Histogram(
            "hermes_tool_execution_duration_seconds", "Tool calls", ["tool", "state"], buckets=TOOL_BUCKETS, **own
        )
        self._arguments = Counter("hermes_argument_validation", "Tool arguments", ["result"], **own)
        self._deliveries = Counter("hermes_deliveries", "Messages to Slack by state", ["state"], **own)
        self._timeouts = Counter("hermes_state_timeout", "Turns ended by their time limit", **own)
        self._tokens = Counter("hermes_model_tokens", "Tokens as counted by the server", ["kind"], **own)
        self._depth = Gauge("hermes_inbox_depth", "Waiting messages and outcomes", **own)
        self._mcp = Gauge("hermes_mcp_up", "Whether an MCP server is connected", ["server"], **own)
        self._stored = _StoredCounters()
        self.registry.register(self._stored)

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

    def text(self, stored: StoredCounts) -> bytes:
        """Return the metrics in Prometheus text format."""
        self._depth.set(stored.depth)
        self._stored.stored = stored
        for name, up in stored.servers.items():
            self._mcp.labels(name).set(up)
        return generate_latest(self.registry)

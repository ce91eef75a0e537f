"""How a test makes calls fail and time pass."""

from bot.simulator.api.faults_and_rate_limits import Fault, Faults
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.slack_errors import SlackError


class FailureControls:
    """Injects faults into the next calls, and advances the time."""

    def __init__(self, faults: Faults, slack: SimulatedSlack) -> None:
        self._faults = faults
        self._slack = slack

    async def fail_next(
        self,
        method: str,
        *,
        error: str | None = None,
        status: int | None = None,
        retry_after: float | None = None,
        drop: bool = False,
        delay: float = 0.0,
        effect: bool = False,
        count: int = 1,
    ) -> None:
        """Let the next `count` calls of `method` (`*` for any) fail.

        One of: `error` (the answer is `ok: false`), `status` (429 with `retry_after` seconds, or 5xx), `drop` (the
        connection is closed), or only `delay` seconds. With `effect` the call does its work and its answer is lost.
        """
        self._faults.add(method, Fault(error, status, retry_after, drop, delay, effect), count)

    async def heal(self) -> None:
        """Remove every fault that no call has met yet."""
        self._faults.clear()

    async def advance(self, seconds: float) -> None:
        """Advance Slack's time, for streams, triggers, response URLs and statuses."""
        self._slack.workspace.advance(seconds)
        self._slack.changes.notify("time")

    async def age_stream(self, ts: str, seconds: float) -> None:
        """Make one stream this many seconds older."""
        for channel in self._slack.workspace.channels.values():
            message = channel.messages.get(ts)
            if message and message.stream:
                message.stream.started -= seconds
                self._slack.workspace.expire_stream(message)
                self._slack.changes.notify("message", channel.id, ts)
                return
        raise SlackError("message_not_found")

    async def expire_stream(self, ts: str) -> None:
        """End one stream as Slack does after five minutes."""
        await self.age_stream(ts, 1e9)

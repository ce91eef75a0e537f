"""What a test lets go wrong."""

from bot.simulator.api.faults_and_rate_limits import Fault, Faults
from bot.simulator.change_notifier import ChangeNotifier
from bot.simulator.slack_errors import SlackError
from bot.simulator.workspace import Workspace


class FailureControls:
    """Faults of the next calls, and time that passes."""

    def __init__(self, faults: Faults, workspace: Workspace, changes: ChangeNotifier) -> None:
        self._faults = faults
        self._workspace = workspace
        self._changes = changes

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
        """Let the next `count` calls of `method` (`*` for any) go wrong.

        One of: `error` (an `ok: false`), `status` (429 with `retry_after` seconds, or 5xx), `drop` (the connection
        breaks), or only `delay` seconds. With `effect` the call does its work first and only the answer is lost.
        """
        fault = Fault(error, status, retry_after, drop, delay, effect)
        self._faults.add(method, fault, count)

    async def heal(self) -> None:
        """Forget every fault that has not happened yet."""
        self._faults.clear()

    async def advance(self, seconds: float) -> None:
        """Let time pass for Slack: streams, triggers, response addresses and statuses grow old."""
        self._workspace.advance(seconds)
        self._changes.notify("time")

    async def age_stream(self, ts: str, seconds: float) -> None:
        """Let one stream have begun so many seconds earlier."""
        for place in self._workspace.channels.values():
            message = place.messages.get(ts)
            if message and message.stream:
                message.stream.started -= seconds
                self._workspace.expire_stream(message)
                self._changes.notify("message", place.id, ts)
                return
        raise SlackError("message_not_found")

    async def expire_stream(self, ts: str) -> None:
        """End one stream as Slack does after its five minutes."""
        await self.age_stream(ts, 1e9)

"""Tools that a test holds in its hand: it sees what ran, and decides when a call ends."""

from tests.fakes.model_script import Gate
from tools.tool_decorator import tool
from tools.tool_definition import Tool


class Workshop:
    """`look` reads, `deploy` has an effect that cannot be repeated, `label` one that can. Each waits at its gate."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.begun: list[str] = []
        self.gates: dict[str, Gate] = {}
        self.broken = False

    def hold(self, name: str) -> Gate:
        """Let the calls of one tool wait from now on."""
        gate = self.gates[name] = Gate()
        return gate

    async def _work(self, name: str, detail: str) -> str:
        self.begun.append(f"{name} {detail}")
        if (gate := self.gates.get(name)) is not None:
            await gate.pass_through()
        if self.broken:
            raise RuntimeError("the workshop is closed")
        self.done.append(f"{name} {detail}")
        return f"{name} {detail}: done"

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools, for the bot."""

        @tool(effect="read", timeout_s=30, retries=0)
        async def look(at: str) -> str:
            """Look at something."""
            return await self._work("look", at)

        @tool(effect="danger", timeout_s=30)
        async def deploy(service: str, version: int = 1) -> str:
            """Deploy a service."""
            return await self._work("deploy", f"{service} {version}")

        @tool(effect="write", idempotent=True, timeout_s=30)
        async def label(name: str) -> str:
            """Put a label on something."""
            return await self._work("label", name)

        return look, deploy, label

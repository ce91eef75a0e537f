"""Tools that record their calls and can wait until a test releases them."""

from tests.fakes.model_scripts import Gate
from tools.tool_decorator import tool
from tools.tool_definition import Tool

DEPLOY = ("deploy", {"service": "shop", "version": 7})
LOOK = ("look", {"at": "the logs"})
# Configuration: two of three people other than the requester must approve a deployment.
TWO_OF_THREE = {
    "roles": {"lead": ["U0BEN", "U0CHO", "U0ANA"]},
    "tools": {"deploy": {"approvers": "role:lead", "quorum": 2, "not_requester": True}},
}


class FakeTools:
    """`look` reads, `deploy` has an effect that is not repeatable, `label` has a repeatable one."""

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.started: list[str] = []
        self.gates: dict[str, Gate] = {}
        self.broken = False

    def hold(self, name: str) -> Gate:
        """Make later calls of one tool wait until the gate is released."""
        gate = self.gates[name] = Gate()
        return gate

    async def _work(self, name: str, detail: str) -> str:
        self.started.append(f"{name} {detail}")
        if (gate := self.gates.get(name)) is not None:
            await gate.pass_through()
        if self.broken:
            raise RuntimeError("the tool is broken")
        self.finished.append(f"{name} {detail}")
        return f"{name} {detail}: done"

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools to register."""

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

"""The outside view: `/healthz`, `/readyz` and `/metrics` on loopback."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web

Check = Callable[[], Awaitable[dict[str, bool]]]

CHECK_SECONDS = 5.0

LEAST_FREE = 1024 * 1024  # bytes; below it the next commit may fail


def has_room(file: Path) -> bool:
    """Tell whether a database may grow where it stands; reads only."""
    try:
        return os.access(file, os.W_OK) and shutil.disk_usage(file.parent).free >= LEAST_FREE
    except OSError:
        return False


class OutsideView:
    """A small HTTP server. `checks` returns what readiness needs, by name; `metrics` the exposition text."""

    def __init__(
        self,
        port: int,
        checks: Check,
        metrics: Callable[[], Awaitable[bytes]],
        patience: float = CHECK_SECONDS,
    ) -> None:
        self._port = port
        self._checks = checks
        self._metrics = metrics
        self._patience = patience
        self._runner: web.AppRunner | None = None

    async def start(self) -> str:
        """Listen on 127.0.0.1; return the address. Raises OSError when the port is taken."""
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics_text)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        try:
            await site.start()
        except OSError:
            await self._runner.cleanup()
            raise
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}"

    async def stop(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    async def _readyz(self, _: web.Request) -> web.Response:
        try:
            async with asyncio.timeout(self._patience):
                found = await self._checks()
        except TimeoutError:
            found = {"answered_in_time": False}
        ready = all(found.values())
        return web.json_response({"ok": ready, **found}, status=200 if ready else 503)

    async def _metrics_text(self, _: web.Request) -> web.Response:
        return web.Response(body=await self._metrics(), headers={"Content-Type": "text/plain; version=0.0.4"})

"""`/healthz`, `/readyz` and `/metrics` on 127.0.0.1."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web

Checks = Callable[[], Awaitable[dict[str, bool]]]

CHECK_SECONDS = 5.0
MIN_FREE_BYTES = 1024 * 1024  # with less, the next commit could fail


def can_grow(file: Path) -> bool:
    """Return True if the database file is writable and its disk has space. Only reads."""
    try:
        return os.access(file, os.W_OK) and shutil.disk_usage(file.parent).free >= MIN_FREE_BYTES
    except OSError:
        return False


class HttpEndpoints:
    """An HTTP server. `checks` returns what readiness needs, by name; `metrics` returns Prometheus text."""

    def __init__(
        self, port: int, checks: Checks, metrics: Callable[[], Awaitable[bytes]], timeout: float = CHECK_SECONDS
    ) -> None:
        self._port = port
        self._checks = checks
        self._metrics = metrics
        self._timeout = timeout
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics_text)
        self._runner = web.AppRunner(app, access_log=None)

    async def start(self) -> str:
        """Listen, and return the address. Raise OSError if the port is taken."""
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        except OSError:
            await self._runner.cleanup()
            raise
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}"

    async def stop(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    async def _readyz(self, _: web.Request) -> web.Response:
        try:
            async with asyncio.timeout(self._timeout):
                results = await self._checks()
        except TimeoutError:
            results = {"answered_in_time": False}
        ready = all(results.values())
        return web.json_response({"ok": ready, **results}, status=200 if ready else 503)

    async def _metrics_text(self, _: web.Request) -> web.Response:
        return web.Response(body=await self._metrics(), headers={"Content-Type": "text/plain; version=0.0.4"})

"""The files of the page are served, and no other file."""

import aiohttp
import pytest

from bot.simulator.page_assets import FOLDER
from bot.simulator.server import Simulator


async def test_every_file_of_the_page_is_served_with_its_type(sim: Simulator) -> None:
    async with aiohttp.ClientSession() as session:
        for name in ["", *[f"page/{path.name}" for path in FOLDER.iterdir()]]:
            async with session.get(f"{sim.url}/{name}") as response:
                assert response.status == 200
                assert response.content_type in ("text/html", "text/css", "text/javascript")
                assert "default-src 'self'" in response.headers["Content-Security-Policy"]
                assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["page/..%2fserver.py", "page/nothing.js", "page/%2e%2e/server.py", "elsewhere"])
async def test_nothing_else_is_served(sim: Simulator, path: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{sim.url}/{path}") as response:
        assert response.status == 404


def test_no_asset_has_more_than_600_lines() -> None:
    assert not [path.name for path in FOLDER.iterdir() if len(path.read_text("utf-8").splitlines()) > 600]

"""The wheel contains what Hermes needs and nothing else, and runs from any folder."""

import subprocess
import sys
import zipfile
from pathlib import Path

import aiohttp
import pytest

from tests.browser.hermes_dev_process import HermesDev

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built without a network: hatchling is installed."""
    target = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return next(target.glob("*.whl"))


def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_contains_manifest_page_and_migrations(wheel: Path) -> None:
    found = contents(wheel)
    page = {str(p.relative_to(ROOT)) for p in (ROOT / "bot" / "simulator" / "page").iterdir()}
    migrations = {str(p.relative_to(ROOT)) for p in (ROOT / "storage" / "migrations").rglob("*.py")}
    assert {"bot/manifest.yaml", "bot/__main__.py", *page, *migrations} <= found
    assert any(name.endswith("licenses/LICENSE") for name in found)


def test_the_wheel_contains_only_our_packages(wheel: Path) -> None:
    packages = {name.split("/")[0] for name in contents(wheel)}
    assert {name for name in packages if not name.endswith(".dist-info")} == {"bot", "handlers", "tools", "storage"}
    assert not [name for name in contents(wheel) if "__pycache__" in name]


async def test_hermes_dev_runs_from_the_wheel_in_any_folder(wheel: Path, tmp_path: Path) -> None:
    home, folder = tmp_path / "unpacked", tmp_path / "anywhere"
    folder.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(home)
    async with (
        HermesDev(folder, sys.executable, "-P", "-m", "bot", PYTHONPATH=str(home)) as dev,
        aiohttp.ClientSession() as http,
    ):
        for path in ("", "/page/app.js", "/page/style.css"):
            async with http.get(dev.url + path) as answer:
                assert answer.status == 200
        async with http.post(f"{dev.url}/control/state", json={}) as answer:
            assert [c["command"] for c in (await answer.json())["result"]["commands"]] == ["/hermes", "/memory"]
    assert (folder / "data" / "dev" / "hermes.db").exists()

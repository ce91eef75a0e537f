"""Import contracts, code limits, ruff and mypy report planted violations.

The violations are planted in a temporary folder. No other test runs a linter.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
PACKAGES = ("bot", "handlers", "tools", "storage")
# The violations of each contract: a file and the import that is added to it.
FORBIDDEN_IMPORTS: dict[str, list[tuple[str, str]]] = {
    "imports point down": [
        ("storage/inbox.py", "tools.tool_policy"),
        ("tools/call_outcome.py", "bot.session.model_call.prompt_builder"),
        ("bot/memory/search_terms.py", "bot.session.engine.actor_pool"),
        ("bot/session/tool_calls/approval_card_delivery.py", "handlers.slack_events"),
        ("bot/slack/render/slack_text.py", "handlers.slack_interactions"),
        ("tools/tool_registry.py", "bot.texts"),
        ("storage/inbox.py", "bot.config.schema"),
        ("bot/config/yaml_file.py", "bot.ports"),
        ("bot/ports.py", "bot.memory.recall"),
        ("bot/simulator/test_api/control_api.py", "bot.ports"),
        ("bot/simulator/test_api/change_feed.py", "storage.records"),
    ],
    "only bot says texts to people": [("handlers/slack_events.py", "bot.texts")],
    "bot.session": [
        ("bot/session/machine/events.py", "bot.session.access_and_addressing"),
        ("bot/session/replies/turn_reply.py", "bot.session.engine.session_actor"),
        ("bot/session/engine/actor_pool.py", "bot.session.intake.event_intake"),
    ],
    "storage": [("storage/records.py", "storage.tables")],
    "tools.mcp is loaded only where MCP servers are configured": [
        ("tools/retrying_executor.py", "tools.mcp.server_tools")
    ],
    "decisions are pure": [
        ("bot/session/machine/transition.py", "asyncio"),
        ("bot/session/model_call/prompt_builder.py", "aiohttp"),
        ("bot/model/stream_parser.py", "asyncio"),
        ("bot/slack/render/split_markdown.py", "aiohttp"),
        ("bot/session/access_and_addressing.py", "slack_sdk"),
        ("bot/simulator/demo_model/demo_replies.py", "aiohttp"),
        ("tools/tool_policy.py", "subprocess"),
    ],
    "bot.simulator": [
        ("bot/simulator/events/event_publisher.py", "bot.simulator.people.visible_messages"),
        ("bot/simulator/api/chat_methods.py", "bot.simulator.test_api.control_api"),
    ],
    "no import cycles among siblings": [("tools/tool_context.py", "tools.proposed_call_checks")],
}


def run(folder: Path, *command: str) -> str:
    """Run a tool of this environment in a folder; return its output. It must report a violation."""
    done = subprocess.run([BIN / command[0], *command[1:]], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def sections(report: str) -> dict[str, str]:
    """Return the report of each broken contract by the name of the contract."""
    parts = re.split(r"\n([^\n]+)\n-{3,}\n", report.partition("Broken contracts")[2])
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def link(file: str, imported: str) -> str:
    """Return a pattern of the import in the report: full names, or the last parts of siblings."""
    source = file[:-3].replace("/", ".")
    full = rf"{re.escape(source)} -> {re.escape(imported)}\b"
    siblings = rf"\.{source.rpartition('.')[2]} -> \.{imported.rpartition('.')[2]}\b"
    return f"{full}|{siblings}"


def test_every_import_contract_reports_a_planted_violation(tmp_path: Path) -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert {contract["name"] for contract in contracts} == set(FORBIDDEN_IMPORTS)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "page"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for imports in FORBIDDEN_IMPORTS.values():
        for file, imported in imports:
            with (tmp_path / file).open("a") as code:
                code.write(f"\nimport {imported}\n")
    report = run(tmp_path, "lint-imports", "--no-logo", "--no-cache")
    named = sections(report)
    missed = [
        (contract, file, imported)
        for contract, imports in FORBIDDEN_IMPORTS.items()
        for file, imported in imports
        if not re.search(link(file, imported), named.get(contract, ""))
    ]
    assert not missed, report


LONG = "\n".join(f"VALUE_{n} = {n}" for n in range(401))
TALL = "def tall() -> None:\n" + "\n".join("    print()" for _ in range(40))
MANY = "class C:\n    def __init__(self, a, b, c, d, e, f, g, h) -> None: ..."
HOMES_TEST = "test_packages_of_others_are_imported_only_in_their_homes"
PATCH = 'def test_x(monkeypatch):\n    monkeypatch.setattr("bot.app.Hermes", 1)'
# Files that break a limit, and the test that must fail for them.
BROKEN_LIMITS = {
    "bot/long.py": (LONG, "test_no_file_is_longer_than_the_limit"),
    "bot/tall.py": (TALL, "test_no_function_is_longer_than_the_limit"),
    "bot/many.py": (MANY, "test_no_constructor_takes_more_than_seven_parameters"),
    "bot/mixed.py": ("class ToolMixin: ...", "test_there_are_no_mixins_and_no_catch_all_modules"),
    "bot/utils.py": ("", "test_there_are_no_mixins_and_no_catch_all_modules"),
    "bot/short.py": ("A = 1\n", "test_no_code_file_is_shorter_than_the_limit_without_a_reason"),
    "bot/twice.py": (LONG[:600], "test_no_two_files_have_the_same_name"),
    "tools/twice.py": (LONG[:600], "test_no_two_files_have_the_same_name"),
    "bot/homeless.py": ("import sqlalchemy\nfrom apscheduler.triggers import cron\n", HOMES_TEST),
    "storage/elsewhere.py": ("def late() -> None:\n    import sqlite3\n", HOMES_TEST),
    "handlers/client.py": ("from mcp import types\nimport openai\n", HOMES_TEST),
    "bot/unplaced.py": ("", "test_the_layers_contract_names_everything_in_bot"),
    "tests/test_patched.py": (PATCH, "test_no_test_patches_our_modules"),
}


def test_every_code_limit_fails_for_a_planted_violation(tmp_path: Path) -> None:
    for package in (*PACKAGES, "tests"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    for name in ("pyproject.toml", "tests/test_code_limits.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    for file, (text, _) in BROKEN_LIMITS.items():
        (tmp_path / file).write_text(text)
    said = run(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", "tests/test_code_limits.py")
    failed = set(re.findall(r"^FAILED tests/test_code_limits.py::(\w+)", said, re.MULTILINE))
    assert failed == {test for _, test in BROKEN_LIMITS.values()}
    assert not [file for file in BROKEN_LIMITS if Path(file).stem not in said]


RUFF = {
    "C901": "def knot(a: int) -> int:\n"
    + "\n".join(f"    if a == {n}:\n        return {n}" for n in range(11))
    + "\n    return a\n",
    "E501": "# " + "long " * 30,
    "PLC0415": "def late() -> object:\n    import json\n    return json\n",
    "T201": 'print("hello")',
    "S608": 'QUERY = "SELECT * FROM t WHERE a = %s" % input()',
    "ASYNC251": "import time\nasync def block() -> None:\n    time.sleep(1)\n",
    "DTZ005": "import datetime\nNOW = datetime.datetime.now()\n",
    "G004": 'import logging\nlogging.info(f"{1}")\n',
    "B006": "def trap(a: list[int] = []) -> list[int]:\n    return a\n",
}


def test_ruff_reports_planted_violations(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "bot").mkdir()
    for code, text in RUFF.items():
        (tmp_path / f"bot/plant_{code.lower()}.py").write_text(text)
    said = run(tmp_path, "ruff", "check", "--no-cache", "--output-format", "concise", "bot")
    missed = [code for code in RUFF if not re.search(rf"plant_{code.lower()}.py:\S+ {code}\b", said)]
    assert not missed, said


def test_mypy_reports_planted_violations(tmp_path: Path) -> None:
    plants = {
        "untyped": ("def f(a):\n    return a\n", "no-untyped-def"),
        "wrong": ("A: int = 'one'\n", "assignment"),
        "bare": ("def f(a: dict) -> None: ...\n", "type-arg"),
        "implicit": ("import json\ndef f() -> str:\n    return json.loads('1')\n", "no-any-return"),
    }
    for name, (text, _) in plants.items():
        (tmp_path / f"{name}.py").write_text(text)
    config = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    files = [str(tmp_path / f"{name}.py") for name in plants]
    said = run(tmp_path, "mypy", *config, *files)
    missed = [name for name, (_, code) in plants.items() if not re.search(rf"{name}.py:\d+: error: .*\[{code}\]", said)]
    assert not missed, said

"""A start that fails prints one line with the remedy and no traceback, and exits with the right code."""

import sqlite3
from pathlib import Path

from bot.simulator.server import Simulator
from tests.hermes_process import APP_TOKEN, BOT_TOKEN, KEY, HermesProcess, bot_environment, run_unprivileged
from tests.waiting import until

SECRETS = (BOT_TOKEN, APP_TOKEN, KEY, "xoxb-wrong-1", "xapp-wrong-1", "hunter2-hunter2")


async def refusal(hermes: HermesProcess) -> tuple[int, str]:
    """Return the exit code and the error, which is one line without a traceback or a secret."""
    async with hermes:
        code = await hermes.ends()
        said = [line for line in hermes.err.splitlines() if not line.startswith("{")]
        assert len(said) == 1, hermes.err
        assert "Traceback" not in hermes.err
        assert hermes.out == ""
        assert not [s for s in SECRETS if s in hermes.err]
        return code, said[0]


async def test_a_wrong_bot_token_stops_the_start(sim: Simulator, tmp_path: Path) -> None:
    hermes = HermesProcess(tmp_path, "run", **bot_environment(sim, SLACK_BOT_TOKEN="xoxb-wrong-1"))
    code, said = await refusal(hermes)
    assert (code, said[:57]) == (1, "hermes: SLACK_BOT_TOKEN is not accepted (invalid_auth): c")
    assert hermes.err.splitlines() == [said], "the error is printed once and not logged as well"


async def test_a_wrong_app_token_stops_the_start(sim: Simulator, tmp_path: Path) -> None:
    code, said = await refusal(HermesProcess(tmp_path, "run", **bot_environment(sim, SLACK_APP_TOKEN="xapp-wrong-1")))
    assert code == 1
    assert said.startswith("hermes: SLACK_APP_TOKEN does not open a socket (invalid_auth): ")
    assert "connections:write" in said


async def test_an_unreachable_slack_stops_the_start(sim: Simulator, tmp_path: Path) -> None:
    code, said = await refusal(
        HermesProcess(tmp_path, "run", **bot_environment(sim, SLACK_API_URL="http://127.0.0.1:9/api"))
    )
    assert (code, "Slack cannot be reached (unreachable)" in said, "http://127.0.0.1:9/api/" in said) == (1, True, True)


async def test_a_data_folder_that_is_not_writable_stops_the_start(sim: Simulator, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o500)
    code, said = await refusal(HermesProcess(tmp_path, "run", run=run_unprivileged, **bot_environment(sim)))
    assert (code, "cannot write data/hermes.db.lock (Permission denied)" in said) == (1, True)
    assert "HERMES_DATA_DIR" in said


async def test_a_data_folder_that_is_a_file_stops_the_start(sim: Simulator, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    code, said = await refusal(HermesProcess(tmp_path, "run", **bot_environment(sim)))
    assert (code, "cannot write data" in said) == (1, True)


async def test_a_read_only_database_stops_the_start(sim: Simulator, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    sqlite3.connect(tmp_path / "data/hermes.db").close()
    (tmp_path / "data/hermes.db").chmod(0o400)
    code, said = await refusal(HermesProcess(tmp_path, "run", run=run_unprivileged, **bot_environment(sim)))
    assert (code, said[:51]) == (1, "hermes: cannot open the database data/hermes.db: at")


async def test_a_file_that_is_not_a_database_stops_the_start(sim: Simulator, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/hermes.db").write_text("dear diary, " * 100)
    code, said = await refusal(HermesProcess(tmp_path, "run", **bot_environment(sim)))
    assert (code, said) == (1, "hermes: cannot open the database data/hermes.db: file is not a database")


async def test_a_database_of_a_newer_version_stops_the_start(sim: Simulator, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with sqlite3.connect(tmp_path / "data/hermes.db") as db:
        db.execute("CREATE TABLE alembic_version (version_num TEXT)")
        db.execute("INSERT INTO alembic_version VALUES ('9999')")
    db.close()
    code, said = await refusal(HermesProcess(tmp_path, "run", **bot_environment(sim)))
    assert (code, "revision 9999, newer than this Hermes" in said) == (1, True)


async def test_a_port_in_use_stops_the_start(sim: Simulator, tmp_path: Path) -> None:
    port = sim.url.rpartition(":")[2]
    code, said = await refusal(HermesProcess(tmp_path, "run", **bot_environment(sim, HERMES_HTTP_PORT=port)))
    assert (code, said.startswith(f"hermes: port {port} on 127.0.0.1 "), "HERMES_HTTP_PORT" in said) == (1, True, True)


async def test_a_second_process_on_the_same_database_is_refused(sim: Simulator, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with HermesProcess(tmp_path, "run", **bot_environment(sim)) as first:
        await first.ready()
        data = {"HERMES_DATA_DIR": str(tmp_path / "data")}
        second = await refusal(HermesProcess(tmp_path / "other", "run", **bot_environment(sim, **data)))
        assert second[0] == 2
        assert f"another Hermes (process {first.pid}) uses {tmp_path}/data/hermes.db;" in second[1]
        third = await refusal(HermesProcess(tmp_path / "other", "migrate", **data))
        assert (third[0], f"process {first.pid}" in third[1]) == (2, True)


async def test_a_bad_configuration_names_every_problem_and_exits_2(sim: Simulator, tmp_path: Path) -> None:
    (tmp_path / "hermes.yaml").write_text("bogus: 1\nmcp_servers: broken.json\n")
    (tmp_path / "broken.json").write_text('{"mcpServers": {"a": {}, "b": {"url": "${NOPE}"}}}')
    env = bot_environment(
        sim, HERMES_DATABASE_URL="postgresql+psycopg://u:hunter2-hunter2@h/db", OPENAI_API_KEY="k" * 9
    )
    async with HermesProcess(tmp_path, "run", **{k: v for k, v in env.items() if k != "HERMES_MODEL"}) as hermes:
        assert await hermes.ends() == 2
        said = hermes.err
    for part in ("HERMES_DATABASE_URL: ", "bogus", "broken.json: a: ", "broken.json: b: ", "set HERMES_MODEL"):
        assert part in said
    assert not [s for s in SECRETS if s in said]
    assert "Traceback" not in said
    assert not (tmp_path / "data").exists()


async def test_a_signal_ends_a_hanging_start(sim: Simulator, tmp_path: Path) -> None:
    await sim.fail_next("auth.test", delay=60)
    async with HermesProcess(tmp_path, "run", **bot_environment(sim)) as hermes:

        async def locked() -> bool:
            return (tmp_path / "data/hermes.db").exists()

        await until(locked, True)
        hermes.signal()
        assert await hermes.ends(10) == 0
        assert "Traceback" not in hermes.err

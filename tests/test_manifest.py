"""The manifest, which an operator pastes into Slack, says the same as the code, and Slack's own schema accepts it."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml

from bot.simulator import chat_methods, read_methods, session_methods, stream_methods
from handlers.register import COMMANDS, EVENTS

ROOT = Path(__file__).parent.parent
MANIFEST: dict[str, Any] = yaml.safe_load((ROOT / "manifest.yaml").read_text())
SCHEMA = json.loads((ROOT / "tests" / "data" / "manifest.schema.json").read_text())
METHODS = {**chat_methods.METHODS, **read_methods.METHODS, **session_methods.METHODS, **stream_methods.METHODS}
CALLED = re.compile(r'"((?:agents|assistant|chat|conversations|users|views)\.[a-z]+(?:\.?[A-Za-z]+)*)"')


def faults(manifest: dict[str, Any]) -> list[str]:
    return [error.message for error in jsonschema_rs.validator_for(SCHEMA).iter_errors(manifest)]


def test_slacks_schema_accepts_it() -> None:
    assert faults(MANIFEST) == []


def test_slacks_schema_would_refuse_a_misspelt_one() -> None:
    assert faults({**MANIFEST, "features": {**MANIFEST["features"], "slash_comands": []}}) != []


def test_it_declares_exactly_the_commands_that_are_registered() -> None:
    assert sorted(c["command"] for c in MANIFEST["features"]["slash_commands"]) == sorted(COMMANDS)


def test_it_subscribes_to_exactly_the_events_that_are_read() -> None:
    assert sorted(MANIFEST["settings"]["event_subscriptions"]["bot_events"]) == sorted(EVENTS)


def test_it_grants_what_the_called_methods_and_events_need() -> None:
    granted = set(MANIFEST["oauth_config"]["scopes"]["bot"])
    called = {name for path in (ROOT / "bot" / "slack").glob("*.py") for name in CALLED.findall(path.read_text())}
    assert {"chat.postMessage", "chat.startStream", "agents.sessions.setStatus", "users.info"} <= called
    for name in called & set(METHODS):
        assert not METHODS[name].scopes or granted & set(METHODS[name].scopes), name
    histories = {"channels:history", "groups:history", "im:history", "mpim:history"}
    assert histories | {"app_mentions:read", "commands", "assistant:write"} <= granted


def test_commands_escape_mentions_and_clicks_arrive() -> None:
    assert all(c["should_escape"] for c in MANIFEST["features"]["slash_commands"])
    assert MANIFEST["settings"]["interactivity"]["is_enabled"]
    assert MANIFEST["settings"]["socket_mode_enabled"]

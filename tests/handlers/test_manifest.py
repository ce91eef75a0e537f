"""manifest.yaml is what the code registers, calls and needs, no more and no less, and what Slack's schema allows."""

import ast
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from bot.simulator.api.simulated_web_api import METHODS
from handlers.slack_events import parse_event
from handlers.slack_interactions import COMMANDS, EVENTS, Buttons, SlashCommands, register

ROOT = Path(__file__).parents[2]
MANIFEST: dict[str, Any] = yaml.safe_load((ROOT / "manifest.yaml").read_text())
SCHEMA = json.loads((ROOT / "tests/data/manifest.schema.json").read_text())
PLACES = ("channels", "groups", "im", "mpim")
# Scopes by method and by event, for every kind of place (Slack: each method's and event's own page).
OF_METHOD = {
    "auth.test": set(),
    "agents.sessions.setStatus": {"chat:write"},
    "chat.appendStream": {"chat:write"},
    "chat.getPermalink": set(),
    "chat.postEphemeral": {"chat:write"},
    "chat.postMessage": {"chat:write"},
    "chat.startStream": {"chat:write"},
    "chat.stopStream": {"chat:write"},
    "chat.update": {"chat:write"},
    "conversations.history": {f"{place}:history" for place in PLACES},
    "conversations.info": {f"{place}:read" for place in PLACES},
    "conversations.replies": {f"{place}:history" for place in PLACES},
    "users.info": {"users:read"},
    "views.open": set(),
}
OF_EVENT = {
    "agent_session_stopped": set(),
    "app_mention": {"app_mentions:read"},
    "message.channels": {"channels:history"},
    "message.groups": {"groups:history"},
    "message.im": {"im:history"},
    "message.mpim": {"mpim:history"},
}
OF_FEATURE = {"agent_view": {"assistant:write"}, "slash_commands": {"commands"}}


class Recorder:
    """Stands where Bolt's app stands and notes what is registered."""

    def __init__(self) -> None:
        self.commands: list[str] = []
        self.actions: list[object] = []
        self.middleware: list[object] = []

    def use(self, middleware: object) -> None:
        self.middleware.append(middleware)

    def command(self, name: str) -> Any:
        self.commands.append(name)
        return lambda listener: listener

    def action(self, name: object) -> Any:
        self.actions.append(name)
        return lambda listener: listener

    def __getattr__(self, kind: str) -> Any:  # whatever else Bolt can register needs nothing in the manifest
        return lambda *_: lambda listener: listener


def methods_called() -> set[str]:
    """Return the Web API methods whose names stand in the code that talks to Slack."""
    found = set()
    for file in [*(ROOT / "bot/slack").rglob("*.py"), *(ROOT / "handlers").glob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in METHODS:
                found.add(node.value)
    return found


def test_slacks_schema_accepts_the_manifest_and_would_refuse_a_wrong_one() -> None:
    validator = jsonschema_rs.Draft7Validator(SCHEMA)
    assert [(error.message, list(error.instance_path)) for error in validator.iter_errors(MANIFEST)] == []
    assert not validator.is_valid({**MANIFEST, "features": {**MANIFEST["features"], "agent_views": {}}})
    assert not validator.is_valid({k: v for k, v in MANIFEST.items() if k != "display_information"})


def test_commands_are_those_that_are_registered() -> None:
    app = Recorder()
    register(app, None, Buttons(None, None, None), SlashCommands(None, None))  # type: ignore[arg-type]
    declared = [entry["command"] for entry in MANIFEST["features"]["slash_commands"]]
    assert sorted(declared) == sorted(app.commands) == sorted(COMMANDS)
    assert all(entry["should_escape"] for entry in MANIFEST["features"]["slash_commands"])  # else users are not ids


def test_interactivity_is_on_because_buttons_are_registered() -> None:
    app = Recorder()
    register(app, None, Buttons(None, None, None), SlashCommands(None, None))  # type: ignore[arg-type]
    assert bool(app.actions) is MANIFEST["settings"]["interactivity"]["is_enabled"] is True
    assert len(app.middleware) == 1


def test_events_are_those_that_intake_takes() -> None:
    declared = MANIFEST["settings"]["event_subscriptions"]["bot_events"]
    assert sorted(declared) == sorted(EVENTS)


@pytest.mark.parametrize("name", EVENTS)
def test_every_event_that_is_asked_for_brings_something(name: str) -> None:
    kind, _, place = name.partition(".")
    where = {"channels": "channel", "groups": "group"}.get(place, place)
    event = {"type": kind, "channel": "C1", "channel_type": where, "user": "U1", "ts": "1.1", "thread_ts": "1.1"}
    body = {"team_id": "T1", "event_id": "Ev1", "event_time": 1, "event": {**event, "text": "hi", "event_ts": "1.2"}}
    assert parse_event(body) is not None


def test_scopes_are_those_that_methods_events_and_features_need() -> None:
    called = methods_called()
    assert called - set(OF_METHOD) == set(), "say which scopes these need"
    needed = set().union(*(OF_METHOD[method] for method in called), *(OF_EVENT[event] for event in EVENTS))
    needed |= set().union(*(scopes for feature, scopes in OF_FEATURE.items() if feature in MANIFEST["features"]))
    assert set(MANIFEST["oauth_config"]["scopes"]["bot"]) == needed


def test_socket_mode_is_on_and_the_tokens_last() -> None:
    settings = MANIFEST["settings"]
    assert settings["socket_mode_enabled"] is True
    assert settings["token_rotation_enabled"] is False  # tokens would live 12 hours, and nobody renews them here

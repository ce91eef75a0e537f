"""manifest.yaml has exactly what the code registers, calls and needs, and follows Slack's schema."""

import ast
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from bot.simulator.api.simulated_web_api import METHODS
from handlers.slack_events import parse_event
from handlers.slack_interactions import COMMANDS, Buttons, SlashCommands, register

ROOT = Path(__file__).parents[2]
MANIFEST: dict[str, Any] = yaml.safe_load((ROOT / "manifest.yaml").read_text())
SCHEMA = json.loads((ROOT / "tests/data/manifest.schema.json").read_text())
PLACES = ("channels", "groups", "im", "mpim")
# Scopes by method and by event, for every kind of conversation (from Slack's page of each method and event).
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
    """Stands in for Bolt's app and records what is registered."""

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

    def __getattr__(self, kind: str) -> Any:  # other registrations need nothing in the manifest
        return lambda *_: lambda listener: listener


def methods_called() -> set[str]:
    """Return the Web API methods that the Slack code names."""
    found = set()
    for file in [*(ROOT / "bot/slack").rglob("*.py"), *(ROOT / "handlers").glob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in METHODS:
                found.add(node.value)
    return found


def test_slacks_schema_accepts_the_manifest_and_refuses_a_wrong_one() -> None:
    validator = jsonschema_rs.Draft7Validator(SCHEMA)
    assert [(error.message, list(error.instance_path)) for error in validator.iter_errors(MANIFEST)] == []
    assert not validator.is_valid({**MANIFEST, "features": {**MANIFEST["features"], "agent_views": {}}})
    assert not validator.is_valid({k: v for k, v in MANIFEST.items() if k != "display_information"})


def test_the_manifest_has_the_registered_commands() -> None:
    app = Recorder()
    register(app, None, Buttons(None, None, None), SlashCommands(None, None))  # type: ignore[arg-type]
    declared = [entry["command"] for entry in MANIFEST["features"]["slash_commands"]]
    assert sorted(declared) == sorted(app.commands) == sorted(COMMANDS)
    assert all(entry["should_escape"] for entry in MANIFEST["features"]["slash_commands"])  # else users are names


def test_the_manifest_enables_interactivity_for_the_registered_buttons() -> None:
    app = Recorder()
    register(app, None, Buttons(None, None, None), SlashCommands(None, None))  # type: ignore[arg-type]
    assert bool(app.actions) is MANIFEST["settings"]["interactivity"]["is_enabled"] is True
    assert len(app.middleware) == 1


def test_the_manifest_has_the_events_that_intake_handles() -> None:
    declared = MANIFEST["settings"]["event_subscriptions"]["bot_events"]
    assert sorted(declared) == sorted(OF_EVENT)


@pytest.mark.parametrize("name", OF_EVENT)
def test_every_event_in_the_manifest_is_handled(name: str) -> None:
    kind, _, place = name.partition(".")
    where = {"channels": "channel", "groups": "group"}.get(place, place)
    event = {"type": kind, "channel": "C1", "channel_type": where, "user": "U1", "ts": "1.1", "thread_ts": "1.1"}
    body = {"team_id": "T1", "event_id": "Ev1", "event_time": 1, "event": {**event, "text": "hi", "event_ts": "1.2"}}
    assert parse_event(body) is not None


def test_the_manifest_has_exactly_the_scopes_that_the_code_needs() -> None:
    called = methods_called()
    assert called - set(OF_METHOD) == set(), "add the scopes of these methods to OF_METHOD"
    needed = set().union(*(OF_METHOD[method] for method in called), *OF_EVENT.values())
    needed |= set().union(*(scopes for feature, scopes in OF_FEATURE.items() if feature in MANIFEST["features"]))
    assert set(MANIFEST["oauth_config"]["scopes"]["bot"]) == needed


def test_socket_mode_is_on_and_token_rotation_is_off() -> None:
    settings = MANIFEST["settings"]
    assert settings["socket_mode_enabled"] is True
    assert settings["token_rotation_enabled"] is False  # Hermes does not renew rotated tokens

"""Web API methods with arbitrary arguments: an answer or an error, never a crash, and no change after an error."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.simulator.api.api_method import FLAGS, LISTS, NUMBERS, OBJECTS
from bot.simulator.api.simulated_web_api import METHODS
from bot.simulator.app_manifest import parse_manifest
from bot.simulator.change_notifier import ChangeNotifier
from bot.simulator.events.event_publisher import EventPublisher
from bot.simulator.people.visible_messages import visible_message
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.simulated_workspace import BOT, Workspace, add_default_people_and_channels
from bot.simulator.simulator_errors import SimulatorError
from bot.simulator.simulator_settings import SimulatorSettings, Switches
from bot.simulator.slack_records import Message
from bot.simulator.traffic_statistics import FirstResponseTimes
from tests.bot.simulator.bolt_app import MANIFEST


def slack_with_a_thread() -> SimulatedSlack:
    """One thread: a person's root at 1.000000, the bot's reply at 2.000000."""
    configured, app, switches = SimulatorSettings(manifest=MANIFEST), parse_manifest(MANIFEST), Switches()
    workspace = Workspace("T0SIM", app.name, lambda: 1_000.0)
    add_default_people_and_channels(workspace)
    workspace.add_message(Message("C0GENERAL", "1.000000", "U0ANA", "root"))
    workspace.add_message(Message("C0GENERAL", "2.000000", BOT, "x", bot_id="B0HERMES", thread_ts="1.000000"))
    return SimulatedSlack(
        configured,
        app,
        workspace,
        switches,
        ChangeNotifier(),
        EventPublisher(workspace, app, switches, [].append),
        FirstResponseTimes(),
    )


IDS = ("C0GENERAL", "C0QUIET", "D0ANA", "U0ANA", "U0EXT", "T0SIM", "1.000000", "2.000000")
WORDS = st.sampled_from(["", "x", *IDS, "processing", "-1", "[]", "{}"])
JUNK = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "title", "blocks", "id", "status", "message"]), inner)
    ),
    max_leaves=8,
)


def arguments(name: str) -> st.SearchStrategy[dict[str, Any]]:
    method, some = METHODS[name], WORDS | JUNK
    return st.fixed_dictionaries(dict.fromkeys(method.required, some), optional=dict.fromkeys(method.optional, some))


@pytest.mark.parametrize("name", sorted(METHODS))
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_any_arguments_get_an_answer_or_an_error(name: str, data: st.DataObject) -> None:
    raw, slack = data.draw(arguments(name)), slack_with_a_thread()
    with contextlib.suppress(SimulatorError):
        answer = METHODS[name].call(slack, raw)
        json.dumps(answer)
        for message in slack.workspace.channels["C0GENERAL"].messages.values():
            visible_message(slack.workspace, message)
        return
    assert set(slack.workspace.channels["C0GENERAL"].messages) == {"1.000000", "2.000000"}


@pytest.mark.parametrize("name", sorted(METHODS))
def test_no_argument_has_two_types(name: str) -> None:
    known = (LISTS, OBJECTS, NUMBERS, FLAGS)
    for argument in (*METHODS[name].required, *METHODS[name].optional):
        assert sum(argument in kind for kind in known) <= 1

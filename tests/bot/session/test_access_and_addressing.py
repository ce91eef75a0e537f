"""Who may use Hermes, and which messages are meant for it."""

from dataclasses import replace

import pytest

from bot.session.access_and_addressing import (
    PROFILE_SECONDS,
    Access,
    check_access,
    is_addressed,
    is_follow_up,
    is_stale,
)
from bot.session.hermes_commands import parse_command
from storage.records import Incoming, Person

NOW = 1_790_000_000.0
ANN = Person("T1", "UANN", "Ann", fetched=NOW)
GUEST, EXTERNAL, BOT = replace(ANN, guest=True), replace(ANN, external=True), replace(ANN, bot=True)


@pytest.mark.parametrize(
    ("access", "person", "decision"),
    [
        (Access(), ANN, "granted"),
        (Access(), GUEST, "refused"),
        (Access(), EXTERNAL, "refused"),
        (Access(guests=True), GUEST, "granted"),
        (Access(guests=True), EXTERNAL, "refused"),
        (Access(external=True), EXTERNAL, "granted"),
        (Access(external=True), GUEST, "refused"),
        (Access(guests=True, external=True), BOT, "refused"),
        (Access(users=frozenset({"UANN"})), ANN, "granted"),
        (Access(users=frozenset({"UBEN"})), ANN, "refused"),
        (Access(users=frozenset({"UBEN"})), None, "unknown"),
        (Access(channels=frozenset({"C1"})), ANN, "granted"),
        (Access(channels=frozenset({"C2"})), ANN, "refused"),
        (Access(channels=frozenset({"C2"})), None, "refused"),
        (Access(users=frozenset({"UANN"}), channels=frozenset({"C1"})), GUEST, "refused"),
    ],
)
def test_a_person_is_let_in_by_profile_list_and_channel(access: Access, person: Person | None, decision: str) -> None:
    assert check_access(access, person, "C1", NOW) == decision


def test_a_profile_is_trusted_for_a_day() -> None:
    assert not is_stale(NOW - PROFILE_SECONDS, NOW)
    assert is_stale(NOW - PROFILE_SECONDS - 1, NOW)
    assert is_stale(None, NOW)
    assert check_access(Access(), replace(ANN, fetched=NOW - PROFILE_SECONDS), "C1", NOW) == "granted"
    for old in (replace(GUEST, fetched=NOW - PROFILE_SECONDS - 1), replace(ANN, fetched=None)):
        assert check_access(Access(), old, "C1", NOW) == "unknown"


def test_a_direct_message_and_a_mention_are_for_hermes() -> None:
    message = Incoming("T1", "C1", "1.0", "1.0", "message", "public", "Ev1", "UANN", text="hello")
    assert not is_addressed(message, "UBOT")
    assert not is_addressed(replace(message, text="<@UBEN> hello", place="mpim"), "UBOT")
    assert is_addressed(replace(message, text="hello <@UBOT>"), "UBOT")
    assert is_addressed(replace(message, place="im"), "UBOT")


@pytest.mark.parametrize(
    ("mode", "text", "authors", "answered"),
    [
        ("auto", "and then?", {"UANN"}, True),
        ("auto", "and then?", (), True),
        ("auto", "and then?", ["UANN", "UANN"], True),
        ("auto", "and then?", {"UANN", "UBEN"}, False),
        ("auto", "and then?", {"UBEN"}, False),
        ("auto", "and then?", None, False),
        ("auto", "<@UBEN> and then?", {"UANN"}, False),
        ("mention", "and then?", {"UANN"}, False),
        ("all", "and then?", {"UBEN"}, True),
        ("all", "<@UBEN> and then?", None, True),
    ],
)
def test_a_reply_without_a_mention_is_answered_if_nobody_else_could_be_meant(mode, text, authors, answered) -> None:
    assert is_follow_up(mode, text, authors, "UANN") is answered


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("!stop", ("stop", "")),
        ("  ！STOP  ", ("stop", "")),
        ("<@UBOT> !Memory  list all\nof them ", ("memory", "list all\nof them")),
        ("!new 你好", ("new", "你好")),
        ("<@UBEN> !stop", None),
        ("please !stop", None),
        ("!stopped", None),
        ("!dance", None),
        ("stop", None),
        ("", None),
    ],
)
def test_a_command_begins_the_message_or_follows_the_mention(text: str, command: tuple[str, str] | None) -> None:
    assert parse_command(text, "UBOT") == command

"""What counts as a secret, and its removal from text and data."""

from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from tools.mcp.mcp_secret_redaction import (
    REDACTED,
    Redactor,
    arg_secrets,
    env_secrets,
    header_secrets,
    looks_secret,
    named_secret,
    url_secrets,
)


def test_secrets_are_recognized_by_name_or_by_value() -> None:
    assert all(map(named_secret, ("GITHUB_TOKEN", "db-password", "OPENAI_API_KEY", "Authorization", "client_secret")))
    assert not any(map(named_secret, ("PATH", "LANG", "PORT", "MODE", "REGION")))
    assert looks_secret("ghp_abc")
    assert looks_secret("a1" * 15)
    assert not any(
        map(looks_secret, ("production", "/usr/local/share/some/long/path/1", "a sentence with 1 number in it"))
    )


def test_secrets_are_found_in_environment_headers_and_addresses() -> None:
    env = {"API_KEY": "k-e-y-1", "MODE": "fast", "DATABASE": "postgres://me:pa55word@db/x"}
    assert env_secrets(env) == ["k-e-y-1", "pa55word"]
    assert header_secrets({"Authorization": "Bearer abc123", "Accept": "text/plain"}) == ["Bearer abc123", "abc123"]
    assert url_secrets("https://h/x?access_token=abcdef&page=2") == ["abcdef"]
    assert url_secrets("no address") == url_secrets("http://[broken") == []


def test_secrets_are_found_on_a_command_line() -> None:
    args = [
        "run",
        "--token",
        "abc-one",
        "--api-key=abc-two",
        "--no-auth",
        "--verbose",
        "ghp_abcthree",
        "db://u:abcfour@h",
    ]
    assert set(arg_secrets(args)) == {"abc-one", "abc-two", "ghp_abcthree", "abcfour"}


def test_data_without_secrets_stays_as_it_is() -> None:
    data = {"a": [1, None, "x"]}
    assert Redactor([]).data(data) is data
    assert Redactor(["secret"]).data(data) == data


@given(
    st.lists(st.text(min_size=6, max_size=12), min_size=1, max_size=4),
    st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6),
)
def test_no_secret_is_left_in_text_keys_or_values(secrets: list[str], around: object) -> None:
    hidden = Redactor(secrets)
    noise = [around, *({s: [f"x{s}y", quote(s, safe="")]} for s in secrets)]
    text = str(hidden.data(noise)).replace(REDACTED, "\0")
    # a secret may reappear only where the brackets of str() or the mark itself spell it
    plain = [s for s in secrets if s.isalnum() and s not in str(around)]
    assert not [s for s in plain if s in text]


def test_a_secret_within_a_longer_one_leaves_no_part() -> None:
    assert Redactor(["abcdef", "abcdefghij"]).text("abcdefghij abcdef") == f"{REDACTED} {REDACTED}"

"""Finds the secrets in a server's settings and removes them from text and data."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

REDACTED = "[redacted]"
MIN_LENGTH = 6  # replacing shorter values would damage ordinary text

_SECRET_NAME = re.compile(
    r"token|secret|passw|pwd|passphrase|api_?key|apikey|[_-]key|^key|auth|credential|cookie|private|signature|dsn",
    re.IGNORECASE,
)
_KNOWN_PREFIX = re.compile(r"^(sk-|sk_|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|xapp-|AKIA|AIza|eyJ|npm_|hf_|pypi-)")
_TOKEN_LIKE = re.compile(r"^(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9_\-+=.]{24,}$")
_SCHEME = re.compile(r"^(bearer|basic|token|apikey|digest)\s+", re.IGNORECASE)
_PLAIN_HEADERS = {"accept", "accept-language", "content-type", "user-agent", "cache-control"}


def named_secret(name: str) -> bool:
    """Return True if a variable or key with this name usually contains a secret."""
    return bool(_SECRET_NAME.search(name))


def looks_secret(value: str) -> bool:
    """Return True if a value looks like a token."""
    return bool(_KNOWN_PREFIX.match(value) or _TOKEN_LIKE.match(value))


def env_secrets(env: Mapping[str, str]) -> list[str]:
    """Return the values of an environment that look like secrets, including passwords inside URLs."""
    found = [value for name, value in env.items() if named_secret(name) or looks_secret(value)]
    return found + [secret for value in env.values() for secret in url_secrets(value)]


def header_secrets(headers: Mapping[str, str]) -> list[str]:
    """Return the header values to hide, each also without its scheme ("Bearer")."""
    values = [value for name, value in headers.items() if name.lower() not in _PLAIN_HEADERS]
    return values + [bare for value in values if (bare := _SCHEME.sub("", value)) != value]


def arg_secrets(args: Sequence[str]) -> list[str]:
    """Return the arguments of a command line that look like secrets or follow a flag that names one."""
    found = [arg for arg in args if looks_secret(arg)]
    for flag, following in pairwise([*args, ""]):
        name, equals, value = flag.partition("=")
        if flag.startswith("-") and named_secret(name) and (equals or not following.startswith("-")):
            found.append(value if equals else following)
    return found + [secret for arg in args for secret in url_secrets(arg)]


def url_secrets(url: str) -> list[str]:
    """Return the password (or else the user) and the secret query values of a URL; nothing if it is not a URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return []
    if "//" not in url:
        return []
    given = [part for part in (parts.password, parts.username if parts.password is None else None) if part]
    return given + [value for name, value in parse_qsl(parts.query) if named_secret(name) or looks_secret(value)]


class Redactor:
    """Replaces the given secrets, also in URL-quoted form."""

    def __init__(self, secrets: Iterable[str]) -> None:
        kept = {s for s in secrets if len(s) >= MIN_LENGTH}
        forms = kept | {quote(s, safe="") for s in kept}
        # Longest first: a secret may contain a shorter one, and no part of it may remain.
        alternatives = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
        self._pattern = re.compile(alternatives) if alternatives else None

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        return self._pattern.sub(REDACTED, text) if self._pattern else text

    def data(self, data: Any) -> Any:
        """Return JSON-able data without secrets, keys included; the same object if there are no secrets."""
        if self._pattern is None:
            return data
        if isinstance(data, str):
            return self.text(data)
        if isinstance(data, dict):
            return {self.data(k): self.data(v) for k, v in data.items()}
        if isinstance(data, list):
            return [self.data(item) for item in data]
        return data

"""Logs as JSON lines, with session, turn and call ids and without secrets."""

import json
import logging
import re
import sys
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime

STANDARD = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {"message", "asctime", "taskName"}
TOKENS = re.compile(r"\b(xox[a-z]-|xapp-|sk-|Bearer\s+|ticket=)[A-Za-z0-9._\-]{6,}")
HIDDEN = "[secret]"
# Bolt and the SDK log complete bodies at DEBUG, and one at INFO after a bad signature.
NOISY = ("slack_bolt", "slack_sdk", "aiosqlite", "httpx2", "openai", "apscheduler", "mcp", "alembic")

_fields: ContextVar[Mapping[str, object]] = ContextVar("fields", default={})  # noqa: B039 - never changed in place

# Bolt reads SLACK_BOT_TOKEN itself, and logs at every start that it does not need the token.
IGNORED = ("As you gave `client` as well", "As `installation_store` or `authorize` has been used")


def add_fields(**ids: object) -> None:
    """Add ids (session, turn, call) to every line logged from now on by this task and the tasks it starts."""
    _fields.set({**_fields.get(), **ids})


class JsonLines(logging.Formatter):
    """One JSON object per record. Known secrets and everything that looks like a token are hidden."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__()
        known = [s for s in secrets if len(s) >= 6]
        escaped = (json.dumps(s, ensure_ascii=False)[1:-1] for s in known)
        self._secrets = tuple(sorted({*known, *escaped}, key=len, reverse=True))

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "log": record.name,
            "message": record.getMessage(),
            **_fields.get(),
            **{k: v for k, v in vars(record).items() if k not in STANDARD},
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return self.hide(json.dumps(line, ensure_ascii=False, default=str))

    def hide(self, text: str) -> str:
        """Return text with secrets replaced."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return TOKENS.sub(rf"\1{HIDDEN}", text)


def set_up(level: str, secrets: Iterable[str]) -> None:
    """Log to standard error at this level, with these secrets hidden."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(secrets))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    handler.addFilter(lambda record: not str(record.msg).startswith(IGNORED))
    logging.captureWarnings(True)
    for name in NOISY:
        logging.getLogger(name).setLevel(max(logging.getLevelName(level), logging.WARNING))

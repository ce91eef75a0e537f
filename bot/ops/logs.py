"""JSON lines with session, turn and call ids, and no secrets."""

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
# Bolt and the SDK log whole bodies at DEBUG, and one at INFO after a bad signature.
LOUD = ("slack_bolt", "slack_sdk", "aiosqlite", "httpx2", "openai", "apscheduler", "mcp", "alembic")

_about: ContextVar[Mapping[str, object]] = ContextVar("about", default={})  # noqa: B039 - never changed in place

# Bolt reads SLACK_BOT_TOKEN itself and then says at every start that it does not need it.
NOT_NEWS = ("As you gave `client` as well", "As `installation_store` or `authorize` has been used")


def about(**ids: object) -> None:
    """Put ids (session, turn, call) on every line that this task and those it starts write from now on."""
    _about.set({**_about.get(), **ids})


class JsonLines(logging.Formatter):
    """One JSON object per record; known secrets and anything shaped like a token are hidden."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__()
        known = [s for s in secrets if len(s) >= 6]
        written = {*known, *(json.dumps(s, ensure_ascii=False)[1:-1] for s in known)}  # as it stands inside JSON
        self._secrets = tuple(sorted(written, key=len, reverse=True))

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "log": record.name,
            "message": record.getMessage(),
            **_about.get(),
            **{k: v for k, v in vars(record).items() if k not in STANDARD},
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return self.hide(json.dumps(line, ensure_ascii=False, default=str))

    def hide(self, text: str) -> str:
        """Replace secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return TOKENS.sub(rf"\1{HIDDEN}", text)


def set_up(level: str, secrets: Iterable[str]) -> None:
    """Log to standard error from now on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(secrets))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    handler.addFilter(lambda record: not str(record.msg).startswith(NOT_NEWS))
    logging.captureWarnings(True)
    for name in LOUD:
        logging.getLogger(name).setLevel(max(logging.getLevelName(level), logging.WARNING))

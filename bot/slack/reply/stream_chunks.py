"""Words and task cards as Slack takes them: as chunks of a stream, or as blocks of a message that is edited."""

from collections.abc import Iterable, Sequence
from typing import Any

from bot.slack.reply.outbox import Item, Task, Words

MOST_CARDS = 40  # of the 50 blocks of a message


def chunks(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Return items as stream chunks (Slack: chat.appendStream). Never text beside chunks: a stream has one mode."""
    made: list[dict[str, Any]] = []
    for item in items:
        if isinstance(item, Words):
            made.append({"type": "markdown_text", "text": item.text})
            continue
        card = {"type": "task_update", "id": item.key[:256], "title": item.title, "status": item.status}
        made.append(card | {"output": item.output} if item.output else card)
    return made


def task_cards(tasks: Iterable[Task]) -> list[dict[str, Any]]:
    """Return the newest task cards as blocks, for a message that is edited."""
    return [_card(task) for task in list(tasks)[-MOST_CARDS:]]


def _card(task: Task) -> dict[str, Any]:
    card = {"type": "task_card", "task_id": task.key[:256], "title": task.title, "status": task.status}
    if not task.output:
        return card
    text = {"type": "rich_text_section", "elements": [{"type": "text", "text": task.output}]}
    return card | {"output": {"type": "rich_text", "elements": [text]}}

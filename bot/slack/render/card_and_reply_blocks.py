"""Block Kit blocks built from records, within Slack's limits (Slack: "Block Kit reference"). Pure."""

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from bot.ports import ApprovalCard, Button, CommandAnswer
from bot.slack.render.slack_text import escape, neutralize_mentions, shorten
from bot.texts import say
from storage.records import PRIVATE_TOOLS, Approval
from tools.slack_markup import ids_in
from tools.text_cleanup import storable
from tools.visible_text import quoted, visible

Block = dict[str, Any]
APPROVE, DENY = "hermes_approve", "hermes_deny"
RUN_AGAIN, WORKED, SKIP = "hermes_run_again", "hermes_worked", "hermes_skip"
ACCEPT, KEEP_BLOCKED = "hermes_accept_tool", "hermes_keep_blocked"
TITLES = {"approval": "card.title", "unknown": "card.title_unknown", "definition": "card.title_definition"}
STOP = "hermes_stop"

SECTION_LIMIT = 3_000
BLOCK_TEXT_LIMIT = 2_900  # of one preformatted block
ARGUMENTS_LIMIT = 9_000  # all blocks of a message together may have about 13,200 characters
VALUE_ROOMS = (2_000, 600, 200, 60)  # characters that are shown of each string of longer arguments
HEAD, TAIL = 5_000, 2_500  # characters that are shown of arguments that are too long even so
BUTTON_LIMIT = 75
FALLBACK_BYTES = 3_000  # of `text`: chat.update refuses more than about 4,000 bytes
OUTCOMES = {  # the text of each status, by the kind of the approval
    "approval": {"approved": "approved", "denied": "denied", "expired": "expired", "withdrawn": "withdrawn",
                 "changed": "changed"},
    "unknown": {"run_again": "ran_again", "worked": "did_work", "skipped": "skipped", "expired": "unknown_expired",
                "withdrawn": "unknown_withdrawn", "changed": "changed"},
    "definition": {"accepted": "accepted", "kept_blocked": "kept_blocked", "changed": "definition_changed",
                   "expired": "definition_expired"},
}  # fmt: skip


def card_blocks(card: ApprovalCard) -> list[Block]:
    """Return an approval card: open, with buttons, or settled, with its outcome."""
    approval, locale = card.approval, card.locale
    effect, requester = say(f"card.effect.{card.effect}", locale), user_mention(approval.requester)
    head = say(TITLES[approval.kind], locale, tool=escape(shorten(approval.tool, 200)))
    blocks = [section(f"{head}\n{say('card.facts', locale, effect=effect, requester=requester)}")]
    if approval.kind != "approval" and approval.status == "open":
        blocks.append(section(say(f"card.{approval.kind}", locale)))
    if note := shorten(card.note, 1_500):
        blocks.append(context(escape(note)))
    blocks += argument_blocks(approval, locale)
    lines = [] if approval.tool in PRIVATE_TOOLS else [id_line(one, card) for one in ids_in(approval.arguments)]
    blocks += [context("\n".join(lines[at : at + 10])) for at in range(0, len(lines), 10)]
    if approval.status != "open":
        return [*blocks, section(outcome(card))]
    blocks += [context(line) for line in decision_lines(approval, locale)]
    return [*blocks, buttons(approval, locale)]


def card_text(card: ApprovalCard) -> str:
    """Return the card as one line, for notifications and screen readers."""
    tool = escape(shorten(card.approval.tool, 200))
    if card.approval.status == "open":
        return say("card.fallback", card.locale, tool=tool)
    return f"{tool}: {outcome(card)}"


def argument_blocks(approval: Approval, locale: str) -> list[Block]:
    """Return the exact arguments; those that do not fit a message are shown as head, tail, size and hash."""
    if approval.tool in PRIVATE_TOOLS:
        return [context(say("card.private", locale))]
    if not approval.arguments:
        return [context(say("card.no_arguments", locale))]
    text = quoted(approval.arguments, indent=2)
    if len(text) <= ARGUMENTS_LIMIT:
        label = "card.difference" if approval.kind == "definition" else "card.arguments"
        return [context(say(label, locale)), *preformatted(text)]
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    head = section(say("card.too_long", locale, size=len(text), hash=digest))
    for room in VALUE_ROOMS:
        if len(short := with_short_values(approval.arguments, room, locale)) <= ARGUMENTS_LIMIT:
            return [head, *preformatted(short)]
    left_out = context(say("card.omitted", locale, size=len(text) - HEAD - TAIL))
    return [head, *preformatted(text[:HEAD]), left_out, *preformatted(text[-TAIL:])]


def id_line(slack_id: str, card: ApprovalCard) -> str:
    """Return an id with its name beside it. Slack shows a channel's name; a mention of a person would notify them."""
    if slack_id[0] in "CG":
        return f"`{slack_id}` <#{slack_id}>"
    name = card.names.get(slack_id)
    return f"`{slack_id}` {escape(shorten(visible(name), 30)) if name else say('card.unknown_id', card.locale)}"


def with_short_values(arguments: dict[str, Any], room: int, locale: str) -> str:
    """Return arguments as JSON with every key; of a string longer than `room` characters the middle is left out.

    What says so stands outside of the quotation marks, where no value can imitate it.
    """
    cut: list[str] = []

    def shortened(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key).replace("\0", "\ufffd"): shortened(one) for key, one in value.items()}
        if isinstance(value, list):
            return [shortened(one) for one in value]
        if not isinstance(value, str):
            return value
        if len(value) <= room:
            return value.replace("\0", "\ufffd")
        half = room // 2
        omitted = say("card.omitted", locale, size=len(value) - 2 * half)
        cut.append(f"{quoted(value[:half])} {omitted} {quoted(value[-half:])}")
        return f"\0{len(cut) - 1}"

    text = quoted(shortened(arguments), indent=2)
    return re.sub(r'"\\u0000(\d+)"', lambda match: cut[int(match[1])], text)


def decision_lines(approval: Approval, locale: str) -> list[str]:
    """Return who may decide, the votes so far, and when the approval expires."""
    rule = approval.rule
    names = [user_mention(approval.requester if one == "requester" else one) for one in rule.approvers[:50]]
    who = ", ".join(dict.fromkeys(names)) + (" …" if len(rule.approvers) > 50 else "")
    asks = approval.kind == "approval"  # the other kind needs one answer only: it permits nothing
    key = "card.who_quorum" if asks and rule.quorum > 1 else "card.who"
    lines = [say(key, locale, who=who, votes=len(approval.votes), quorum=rule.quorum)]
    if asks and approval.votes:
        lines.append(say("card.votes", locale, who=", ".join(user_mention(vote) for vote in approval.votes)))
    if rule.not_requester:
        lines.append(say("card.not_requester" if asks else "card.not_requester_unknown", locale))
    lines.append(say("card.expires", locale, when=date_token(approval.expires)))
    return lines


def outcome(card: ApprovalCard) -> str:
    """Return how a settled approval was decided, and by whom."""
    approval = card.approval
    people = ", ".join(user_mention(one) for one in approval.decided_by) or say("card.someone", card.locale)
    key = OUTCOMES[approval.kind].get(approval.status)
    if approval.status == "skipped" and not approval.decided_by:
        key = "unknown_expired"  # nobody skipped it, it expired
    return say(f"card.{key}", card.locale, who=people) if key else approval.status


def buttons(approval: Approval, locale: str) -> Block:
    """Return the buttons of an open card. Their value is the approval's opaque id, which grants nothing."""
    choices: list[tuple[str, str, str | None]] = [(APPROVE, "approve", "primary"), (DENY, "deny", "danger")]
    if approval.kind == "definition":
        choices = [(ACCEPT, "accept", None), (KEEP_BLOCKED, "keep_blocked", None)]
    if approval.kind == "unknown":
        choices = [(RUN_AGAIN, "run_again", None), (WORKED, "worked", None), (SKIP, "skip", None)]
    return actions([button(action, say(f"card.{key}", locale), approval.id, style) for action, key, style in choices])


def stop_button(root: str, locale: str) -> Block:
    """Return the Stop button for channels without streams; its value is the thread root."""
    return actions([button(STOP, say("reply.stop", locale), root, "danger")])


def reply_blocks(markdown: str, tasks: Sequence[str] = (), *, stop: Block | None = None) -> list[Block]:
    """Return the blocks of a reply that is edited: a line for each tool, the text, and a Stop button while it runs."""
    blocks = [context(escape(shorten(line, 600))) for line in tasks[-10:]]
    if markdown.strip():
        blocks.append({"type": "markdown", "text": markdown})
    return [*blocks, stop] if stop else blocks


def fallback_text(text: str, lines: Sequence[str]) -> str:
    """Return what a notification shows: the beginning of the text, within Slack's limit for edits."""
    plain = (text.strip() or "\n".join(lines)).encode("utf-8", "replace")[:FALLBACK_BYTES].decode("utf-8", "ignore")
    escaped = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped if len(escaped.encode()) < FALLBACK_BYTES + 900 else plain[:500]


def content_with_buttons(markdown: str, buttons: Sequence[Button]) -> dict[str, Any]:
    """Return the content of a message that has Markdown with buttons below it."""
    row = [button(b.action, b.label, b.value, None if b.style == "default" else b.style) for b in buttons]
    blocks = [{"type": "markdown", "text": markdown}, *([actions(row)] if row else [])]
    return {"text": shorten(markdown, 300), "blocks": blocks}


def command_response(answer: CommandAnswer) -> dict[str, Any]:
    """Return a command's answer as the content of a Slack response."""
    return content_with_buttons(neutralize_mentions(visible(answer.text, keep_emoji=True)), answer.buttons)


def section(mrkdwn: str) -> Block:
    return {"type": "section", "text": {"type": "mrkdwn", "text": mrkdwn[:SECTION_LIMIT]}, "expand": True}


def context(mrkdwn: str) -> Block:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": mrkdwn[:2_000]}]}


def actions(elements: list[Block]) -> Block:
    return {"type": "actions", "elements": elements}


def button(action: str, label: str, value: str, style: str | None = None) -> Block:
    text = {"type": "plain_text", "text": label[:BUTTON_LIMIT], "emoji": True}
    block = {"type": "button", "action_id": action, "text": text, "value": value}
    return {**block, "style": style} if style else block


def preformatted(text: str) -> list[Block]:
    """Return text unchanged in code blocks, as many as it needs: Slack interprets nothing in them."""
    pieces = [storable(text[at : at + BLOCK_TEXT_LIMIT]) for at in range(0, len(text), BLOCK_TEXT_LIMIT)]
    parts = [{"type": "rich_text_preformatted", "elements": [{"type": "text", "text": piece}]} for piece in pieces]
    return [{"type": "rich_text", "elements": [part]} for part in parts]


def user_mention(id_: str) -> str:
    """Return a mention of a user. The id must not come from the model."""
    return f"<@{escape(id_)}>"


def date_token(seconds: float) -> str:
    """Return a time that Slack shows in each reader's own time zone, and in UTC where it cannot."""
    utc = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"<!date^{int(seconds)}^{{date_short_pretty}} {{time}}|{utc}>"

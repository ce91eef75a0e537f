"""Approval cards, and the views that show in full what a card cannot. Pure."""

import hashlib
from typing import Any

from bot.ports import ApprovalCard
from bot.slack.render.block_kit import (
    Block,
    actions,
    button,
    context,
    date_token,
    plain_text,
    preformatted,
    section,
    user_mention,
)
from bot.slack.render.slack_text import escape, shorten
from bot.texts import say
from storage.records import PRIVATE_TOOLS, Approval
from tools.shown_arguments import CARD_CHARACTERS, as_shown, fits_card, fits_view, with_short_values
from tools.slack_markup import ids_in
from tools.visible_text import mixed_words, visible

APPROVE, DENY = "hermes_approve", "hermes_deny"
RUN_AGAIN, WORKED, SKIP = "hermes_run_again", "hermes_worked", "hermes_skip"
ACCEPT, KEEP_BLOCKED = "hermes_accept_tool", "hermes_keep_blocked"
PERMIT = {  # action and text of the button that permits the call
    "approval": (APPROVE, "approve"),
    "unknown": (RUN_AGAIN, "run_again"),
    "definition": (ACCEPT, "accept"),
}
OTHERWISE: dict[str, tuple[tuple[str, str], ...]] = {  # of the other buttons
    "approval": ((DENY, "deny"),),
    "unknown": ((WORKED, "worked"), (SKIP, "skip")),
    "definition": ((KEEP_BLOCKED, "keep_blocked"),),
}
TITLES = {"approval": "card.title", "unknown": "card.title_unknown", "definition": "card.title_definition"}
READ_IN_FULL, DECIDE_VIEW = "hermes_read_in_full", "hermes_decide"

VALUE_ROOMS = (2_000, 600, 200, 60)  # characters that are shown of each string of longer arguments
HEAD, TAIL = 5_000, 2_500  # characters that are shown of arguments that are too long even so
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
    blocks = [*head_blocks(card), *argument_blocks(approval, locale), *name_blocks(card)]
    if approval.status != "open":
        return [*blocks, section(outcome(card))]
    if not fits_card(approval.tool, approval.arguments):
        blocks.append(context(say("card.read_first", locale)))
    blocks += [context(line) for line in decision_lines(approval, locale)]
    return [*blocks, buttons(approval, locale)]


def head_blocks(card: ApprovalCard) -> list[Block]:
    """Return what is asked, about which tool, for whom, and what to note."""
    approval, locale = card.approval, card.locale
    effect, requester = say(f"card.effect.{card.effect}", locale), user_mention(approval.requester)
    head = say(TITLES[approval.kind], locale, tool=escape(shorten(approval.tool, 200)))
    blocks = [section(f"{head}\n{say('card.facts', locale, effect=effect, requester=requester)}")]
    if approval.kind != "approval" and approval.status == "open":
        blocks.append(section(say(f"card.{approval.kind}", locale)))
    if note := shorten(card.note, 1_500):
        blocks.append(context(escape(note)))
    return blocks


def name_blocks(card: ApprovalCard) -> list[Block]:
    """Return the ids in the arguments with the names beside them, and the words that could be taken for others."""
    approval = card.approval
    if approval.tool in PRIVATE_TOOLS:
        return []
    lines = [id_line(one, card) for one in ids_in(approval.arguments)]
    if words := mixed_words(as_shown(approval.arguments).replace("\\n", "\n")):
        shown = escape(", ".join(shorten(word, 60) for word in words[:10]))
        lines.append(say("card.mixed_words", card.locale, words=shown))
    return [context("\n".join(lines[at : at + 10])) for at in range(0, len(lines), 10)]


def card_text(card: ApprovalCard) -> str:
    """Return the card as one line, for notifications and screen readers."""
    tool = escape(shorten(card.approval.tool, 200))
    if card.approval.status == "open":
        return say("card.fallback", card.locale, tool=tool)
    return f"{tool}: {outcome(card)}"


def argument_blocks(approval: Approval, locale: str) -> list[Block]:
    """Return the exact arguments; those that do not fit a message are shortened, with their size and hash."""
    if not approval.arguments:
        return [context(say("card.no_arguments", locale))]
    if approval.tool in PRIVATE_TOOLS:
        return [context(say("card.private", locale))]
    text = as_shown(approval.arguments)
    if fits_card(approval.tool, approval.arguments):
        return exact_arguments(approval, locale)
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()

    def omitted(size: int) -> str:
        return say("card.omitted", locale, size=size)

    head = section(say("card.too_long", locale, size=len(text), hash=digest))
    for room in VALUE_ROOMS:
        if len(short := with_short_values(approval.arguments, room, omitted)) <= CARD_CHARACTERS:
            return [head, *preformatted(short)]
    left_out = context(omitted(len(text) - HEAD - TAIL))
    return [head, *preformatted(text[:HEAD]), left_out, *preformatted(text[-TAIL:])]


def exact_arguments(approval: Approval, locale: str) -> list[Block]:
    """Return the arguments in full."""
    label = "card.difference" if approval.kind == "definition" else "card.arguments"
    return [context(say(label, locale)), *preformatted(as_shown(approval.arguments))]


def full_view(card: ApprovalCard, reader: str) -> dict[str, Any]:
    """Return the view that shows an approval in full; submitting it permits the call.

    What a private tool is about is shown to the requester only. A settled approval, and one that does not fit a view
    either, cannot be permitted.
    """
    approval, locale = card.approval, card.locale
    private = approval.tool in PRIVATE_TOOLS and reader != approval.requester
    fits = private or fits_view(approval.arguments)
    shown = exact_arguments(approval, locale) if fits and not private else argument_blocks(approval, locale)
    view = {
        "type": "modal",
        "callback_id": DECIDE_VIEW,
        "private_metadata": approval.id,
        "title": plain_text(say("view.title", locale)),
        "close": plain_text(say("view.close", locale)),
        "blocks": [*head_blocks(card), *shown, *name_blocks(card)],
    }
    if approval.status != "open" or not fits:
        return view
    return view | {"submit": plain_text(say(f"card.{PERMIT[approval.kind][1]}", locale))}


def id_line(slack_id: str, card: ApprovalCard) -> str:
    """Return an id with its name beside it. Slack shows a channel's name; a mention of a person would notify them."""
    if slack_id[0] in "CG":
        return f"`{slack_id}` <#{slack_id}>"
    name = card.names.get(slack_id)
    return f"`{slack_id}` {escape(shorten(visible(name), 30)) if name else say('card.unknown_id', card.locale)}"


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
    """Return the buttons of an open card. Their value is the approval's opaque id, which grants nothing.

    What the card does not show in full is permitted from the view only.
    """
    in_full = fits_card(approval.tool, approval.arguments)
    permit = PERMIT[approval.kind] if in_full else (READ_IN_FULL, "read_in_full")
    style = "primary" if approval.kind == "approval" else None
    choices: list[tuple[tuple[str, str], str | None]] = [(permit, style)]
    choices += [(one, "danger" if one[0] == DENY else None) for one in OTHERWISE[approval.kind]]
    return actions([button(action, say(f"card.{key}", locale), approval.id, look) for (action, key), look in choices])

"""views.*: modals and the home tab (slack.md §4.2, §6.1, §6.4)."""

import json

from bot.simulator.api.api_method import ApiMethod, Arguments
from bot.simulator.rules.block_rules import HOME, MODAL, check_view
from bot.simulator.rules.slack_limits import VIEW_BYTES, VIEW_STACK
from bot.simulator.simulated_slack import SimulatedSlack
from bot.simulator.simulator_errors import SimulatorError
from bot.simulator.slack_json import view_json
from bot.simulator.slack_records import Json, View


def read_view(args: Arguments, kind: str) -> Json:
    """Return the checked view of a call; raise SimulatorError if its type is another than `kind`."""
    view = args.get("view") or {}
    check_view(view)
    if len(json.dumps(view)) > VIEW_BYTES:
        raise SimulatorError("view_too_large")
    if view["type"] != kind:
        raise SimulatorError("invalid_arguments", f"must be a {kind} view [json-pointer:/view/type]")
    return view


def open_modal(slack: SimulatedSlack, args: Arguments) -> Json:
    """Open a modal for the person of the trigger."""
    content = read_view(args, MODAL)
    user = slack.workspace.take_trigger(args.text("trigger_id")).user
    view = slack.workspace.new_view(user, content)
    slack.workspace.modals[user] = [view]
    return view_answer(slack, view)


def push_modal(slack: SimulatedSlack, args: Arguments) -> Json:
    """Put a modal on top of the open one."""
    content = read_view(args, MODAL)
    user = slack.workspace.take_trigger(args.text("trigger_id")).user
    stack = slack.workspace.modals.get(user, [])
    if not stack:
        raise SimulatorError("not_found")
    if len(stack) >= VIEW_STACK:
        raise SimulatorError("push_limit_reached")
    view = slack.workspace.new_view(user, content, stack[0].id)
    stack.append(view)
    return view_answer(slack, view)


def update_view(slack: SimulatedSlack, args: Arguments) -> Json:
    """Replace the content of a view."""
    view = slack.workspace.views.get(args.text("view_id"))
    if view is None:
        raise SimulatorError("not_found")
    return replace_content(slack, view, read_view(args, str(view.content["type"])), args)


def publish_home(slack: SimulatedSlack, args: Arguments) -> Json:
    """Set a person's home tab."""
    if not slack.app.home_tab:
        raise SimulatorError("not_enabled")
    user = slack.workspace.person(args.text("user_id"))
    content = read_view(args, HOME)
    if view := slack.workspace.homes.get(user.id):
        return replace_content(slack, view, content, args)
    view = slack.workspace.homes[user.id] = slack.workspace.new_view(user.id, content)
    return view_answer(slack, view)


def replace_content(slack: SimulatedSlack, view: View, content: Json, args: Arguments) -> Json:
    """Replace the content; raise SimulatorError `hash_conflict` if the caller's hash is old (slack.md §6.4)."""
    if "hash" in args and args.text("hash") != view.hash:
        raise SimulatorError("hash_conflict")
    view.content, view.hash = content, slack.workspace.new_hash()
    return view_answer(slack, view)


def view_answer(slack: SimulatedSlack, view: View) -> Json:
    """Notify of the changed view and return it."""
    slack.changes.notify("view", view.user, view.id)
    return {"view": view_json(slack.workspace, view)}


METHODS = {
    "views.open": ApiMethod(open_modal, (), 4, ("trigger_id", "view")),
    "views.push": ApiMethod(push_modal, (), 4, ("trigger_id", "view")),
    "views.update": ApiMethod(update_view, (), 4, ("view_id", "view"), ("hash",)),
    "views.publish": ApiMethod(publish_home, (), 4, ("user_id", "view"), ("hash",)),
}

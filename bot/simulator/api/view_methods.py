"""views.*: modals and the home tab (slack.md §4.2, §6.1, §6.4)."""

from bot.simulator.api.api_method import Arguments, Method
from bot.simulator.rules import slack_limits as limits
from bot.simulator.rules.block_rules import HOME, MODAL, check_view
from bot.simulator.simulated_slack import Desk
from bot.simulator.slack_errors import Refusal
from bot.simulator.slack_json import view_shape
from bot.simulator.slack_records import Json, View


def read_view(args: Arguments, kind: str) -> Json:
    """The view a call brings, checked, of the kind this method takes."""
    view = args.record("view") or {}
    check_view(view)
    if view["type"] != kind:
        raise Refusal("invalid_arguments", f"must be a {kind} view [json-pointer:/view/type]")
    return view


def open_modal(desk: Desk, args: Arguments) -> Json:
    """Open a modal for the person of the trigger."""
    content = read_view(args, MODAL)
    user = desk.workspace.take_trigger(args.text("trigger_id")).user
    view = desk.workspace.new_view(user, content)
    desk.workspace.modals[user] = [view]
    return shown(desk, view)


def push_modal(desk: Desk, args: Arguments) -> Json:
    """Put a modal on top of the one that is open."""
    content = read_view(args, MODAL)
    user = desk.workspace.take_trigger(args.text("trigger_id")).user
    stack = desk.workspace.modals.get(user, [])
    if not stack:
        raise Refusal("not_found")
    if len(stack) >= limits.VIEW_STACK:
        raise Refusal("push_limit_reached")
    view = desk.workspace.new_view(user, content, stack[0].id)
    stack.append(view)
    return shown(desk, view)


def update_view(desk: Desk, args: Arguments) -> Json:
    """Change a view in place."""
    view = desk.workspace.views.get(args.text("view_id"))
    if view is None:
        raise Refusal("not_found")
    content = read_view(args, str(view.content["type"]))
    return replace(desk, view, content, args)


def publish(desk: Desk, args: Arguments) -> Json:
    """Set a person's home tab."""
    if not desk.app.home_tab:
        raise Refusal("not_enabled")
    user = desk.workspace.person(args.text("user_id"))
    content = read_view(args, HOME)
    view = desk.workspace.homes.get(user.id)
    if view is None:
        view = desk.workspace.homes[user.id] = desk.workspace.new_view(user.id, content)
        return shown(desk, view)
    return replace(desk, view, content, args)


def replace(desk: Desk, view: View, content: Json, args: Arguments) -> Json:
    """Change a view in place; Refusal `hash_conflict` when it changed since the caller looked (slack.md §6.4)."""
    if "hash" in args and args.text("hash") != view.hash:
        raise Refusal("hash_conflict")
    view.content, view.hash = content, desk.workspace.new_hash()
    return shown(desk, view)


def shown(desk: Desk, view: View) -> Json:
    """Tell who watches, and answer with the view."""
    desk.changes.tell("view", view.user, view.id)
    return {"view": view_shape(desk.workspace, view)}


METHODS = {
    "views.open": Method(open_modal, (), 4, ("trigger_id", "view")),
    "views.push": Method(push_modal, (), 4, ("trigger_id", "view")),
    "views.update": Method(update_view, (), 4, ("view_id", "view"), ("hash",)),
    "views.publish": Method(publish, (), 4, ("user_id", "view"), ("hash",)),
}

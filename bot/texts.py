"""Every sentence that Hermes itself says to people: key → (English, Chinese). One section per part of the house."""

from typing import Any

TEXTS: dict[str, tuple[str, str]] = {
    # --- general
    "error.generic": (
        "Something went wrong on my side. Your message is kept; please try again in a moment.",
        "我这边出了点问题。您的消息已保留，请稍后再试。",
    ),
    # --- session
    # --- voice (bot/slack)
    "voice.interrupted": ("interrupted", "已中断"),
    "voice.working": ("Working on it…", "正在处理…"),
    "voice.continued": ("continues below", "在下方继续"),
    "voice.stop": ("Stop", "停止"),
    "voice.waiting": ("waits for a decision", "等待决定"),
    # --- approvals
    "card.title": ("May I run *{tool}*?", "可以运行 *{tool}* 吗？"),
    "card.title_unknown": ("What became of *{tool}*?", "*{tool}* 的结果如何？"),
    "card.unknown": (
        "I started this call and lost its answer, so I do not know whether it took effect. I will not repeat it "
        "unasked. Please check, then choose.",
        "我发起了这次调用，但没有收到结果，无法确定它是否已生效。未经确认我不会重复执行。请核实后选择。",
    ),
    "card.facts": ("Effect: {effect} · asked for by {requester}", "影响：{effect} · 请求人：{requester}"),
    "card.effect.read": ("only reads", "只读"),
    "card.effect.write": ("changes something", "会修改内容"),
    "card.effect.danger": ("risky or hard to undo", "有风险或难以撤销"),
    "card.arguments": ("With exactly these arguments:", "参数原样如下："),
    "card.no_arguments": ("It takes no arguments.", "没有参数。"),
    "card.too_long": (
        "The arguments are too long to be shown whole here: {size} characters, SHA-256 {hash}. Below are their "
        "beginning and their end; what lies between is not shown.",
        "参数过长，无法在此完整显示：共 {size} 个字符，SHA-256 {hash}。下面是开头和结尾，中间部分未显示。",
    ),
    "card.omitted": ("… {size} characters left out …", "……省略 {size} 个字符……"),
    "card.who": ("May decide: {who}", "可决定的人：{who}"),
    "card.who_quorum": (
        "May decide: {who} · {votes} of {quorum} approvals so far",
        "可决定的人：{who} · 已批准 {votes}/{quorum}",
    ),
    "card.votes": ("Approved so far by {who}", "目前已批准：{who}"),
    "card.not_requester": ("Whoever asked may not approve, only deny.", "请求人不能批准，只能拒绝。"),
    "card.expires": ("Expires {when}", "到期时间：{when}"),
    "card.approve": ("Approve", "批准"),
    "card.deny": ("Deny", "拒绝"),
    "card.run_again": ("Run again", "重新运行"),
    "card.worked": ("It worked", "已成功"),
    "card.skip": ("Skip", "跳过"),
    "card.approved": ("✅ Approved by {who}.", "✅ 已由 {who} 批准。"),
    "card.denied": ("🚫 Denied by {who}.", "🚫 已被 {who} 拒绝。"),
    "card.expired": ("⌛ Expired: nobody decided in time. It was not run.", "⌛ 已过期：没有人及时决定，未执行。"),
    "card.withdrawn": ("Withdrawn: it is no longer needed and was not run.", "已撤回：不再需要，未执行。"),
    "card.ran_again": ("🔁 {who} chose: run it again.", "🔁 {who} 选择：重新运行。"),
    "card.did_work": ("✅ {who} says that it worked.", "✅ {who} 确认已成功。"),
    "card.skipped": ("⏭️ {who} chose to go on without it.", "⏭️ {who} 选择跳过。"),
    "card.unknown_expired": (
        "⌛ Expired: nobody answered. Its outcome stays unknown.",
        "⌛ 已过期：无人答复，结果仍未知。",
    ),
    "card.unknown_withdrawn": ("Withdrawn. Its outcome stays unknown.", "已撤回，结果仍未知。"),
    "card.fallback": ("{tool}: a decision is needed", "{tool}：需要您的决定"),
    "card.nobody": ("somebody", "某人"),
    # --- tools
    "tool.effect.read": ("reads", "只读"),
    "tool.effect.write": ("changes things", "会改动"),
    "tool.effect.danger": ("risky", "有风险"),
    "tool.decision.allow": ("runs at once", "直接执行"),
    "tool.decision.ask": ("asks first", "先征得同意"),
    "tool.decision.deny": ("not allowed", "不允许"),
    "tool.line.current_time": ("Tells date and time in any time zone.", "查询任意时区的日期和时间。"),
    "tool.line.read_thread": ("Reads the latest messages of this thread.", "读取本消息列的最新消息。"),
    "tool.line.post_message": ("Posts a message in a channel.", "在频道中发布消息。"),
    "tool.line.list_directory": ("Lists files in Hermes's folder.", "列出 Hermes 文件夹中的文件。"),
    "tool.line.search_files": ("Finds text in the files of Hermes's folder.", "在 Hermes 文件夹的文件中查找文本。"),
    "tool.line.read_file": ("Reads a text file in Hermes's folder.", "读取 Hermes 文件夹中的文本文件。"),
    "tool.line.write_file": ("Writes a text file in Hermes's folder.", "写入 Hermes 文件夹中的文本文件。"),
    # --- memory and commands
    # --- mcp
}


def chinese(locale: str) -> bool:
    """Tell whether a Slack locale (like zh-CN) is Chinese."""
    return locale.lower().startswith("zh")


def say(key: str, locale: str, **values: Any) -> str:
    """Return the sentence in the person's language, with values filled in. Raises KeyError for an unknown key."""
    return TEXTS[key][1 if chinese(locale) else 0].format(**values)

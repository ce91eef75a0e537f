"""The texts that Hermes itself shows to people: key → (English, Chinese)."""

from typing import Any

from bot.memory_texts import MEMORY_TEXTS

TEXTS: dict[str, tuple[str, str]] = {
    # --- access and intake
    "access.refused": (
        "You don't have access to me here. An admin can change that with the `access` setting.",
        "您在这里没有使用我的权限。管理员可以在 `access` 设置中更改。",
    ),
    "access.unknown": (
        "I couldn't look up your Slack profile, so I did nothing. Please try again in a moment.",
        "目前无法读取您的 Slack 个人档案，因此没有执行任何操作。请稍后再试。",
    ),
    "storage.failing": (
        "I can't save anything right now, so I haven't accepted your message yet. Slack will send it to me "
        "again. If you get no answer within ten minutes, please resend it.",
        "我目前无法保存任何内容，因此尚未接收您的消息。Slack 会再次发送给我。如果十分钟内没有收到回复，请您重新发送。",
    ),
    "queue.waits": (
        "Got it. I'm finishing someone else's request in this thread and will answer you next.",
        "收到。我正在处理本消息列中其他人的请求，接下来就回复您。",
    ),
    "queue.full": (
        "Too many messages are waiting in this thread. I'll keep yours as context, but I won't answer it. Please "
        "ask again when I'm done.",
        "本消息列中等待处理的消息太多。我会把您的消息保留为上下文，但不会回复它。请在我处理完后再问一次。",
    ),
    # --- why an answer ended (one key for each reason)
    "end.stopped": ("Stopped by {name}.", "已由 {name} 停止。"),
    "end.deleted": ("Stopped because the question was deleted.", "问题已被删除，因此已停止。"),
    "end.timed_out": (
        "This request took too long, so I stopped. Reply “continue” if you still need it.",
        "处理这个请求的时间过长，因此已停止。如仍需要，请回复“继续”。",
    ),
    "end.restarts": (
        "I was restarted several times while working on this request, so I gave it up. What I did before stays done. "
        "Please ask again if you still need it.",
        "处理这个请求期间我多次重启，因此已放弃处理。之前完成的操作仍然有效。如仍需要，请再问一次。",
    ),
    "end.interrupted": ("interrupted by a restart, continues below", "因重启中断，在下方继续"),
    "end.failed": (
        "The model couldn't answer. Your message is saved. Please ask again in a moment.",
        "模型未能回答。您的消息已保存，请稍后再问一次。",
    ),
    "end.unreachable": (
        "I can't reach the model. Your message is saved. Please ask again in a moment, or ask an admin to run "
        "`hermes doctor`.",
        "无法连接模型。您的消息已保存。请稍后再问一次，或请管理员运行 `hermes doctor`。",
    ),
    "end.timeout": (
        "The model took too long to answer. Your message is saved. Please ask again.",
        "模型响应超时。您的消息已保存，请再问一次。",
    ),
    "end.auth": (
        "The model service rejected my API key. Your message is saved. An admin needs to fix the key.",
        "模型服务拒绝了我的 API 密钥。您的消息已保存，需要管理员修正密钥。",
    ),
    "end.overflow": (
        "This conversation is too long for the model, even after summarizing. Start a new one with `!new`.",
        "这段对话对模型来说太长，即使压缩成摘要也放不下。请用 `!new` 开始新的对话。",
    ),
    "end.rejected": (
        "The model service rejected the request. Your message is saved. An admin can find the reason in the log.",
        "模型服务拒绝了请求。您的消息已保存，管理员可以在日志中查看原因。",
    ),
    "end.rate_limited": (
        "The model service is overloaded. Your message is saved. Please ask again in a few minutes.",
        "模型服务繁忙。您的消息已保存，请几分钟后再问一次。",
    ),
    "end.server": (
        "The model service reported an error. Your message is saved. Please ask again in a moment.",
        "模型服务出错。您的消息已保存，请稍后再问一次。",
    ),
    "end.broken": (
        "The model's answer was cut off twice. Any text above is incomplete. Please ask again.",
        "模型的回答两次中途断开。上方如有内容，均不完整。请再问一次。",
    ),
    "end.malformed": ("I couldn't read the model's answer. Please ask again.", "无法读取模型的回答，请再问一次。"),
    "end.empty": (
        "The model returned an empty answer. Please ask again, or rephrase your question.",
        "模型返回了空的回答。请再问一次，或换种说法。",
    ),
    "end.length": (
        "The answer reached the model's length limit. Reply “continue” for the rest.",
        "回答已达到模型的长度上限。请回复“继续”以查看其余内容。",
    ),
    "end.filtered": ("The model service blocked the rest of this answer.", "模型服务屏蔽了此回答的其余部分。"),
    "end.stuck": (
        "The same tool call kept failing with the same error, so I stopped.",
        "同一个工具调用三次出现相同的错误，因此我不再尝试。",
    ),
    "end.max_steps": (
        "I reached my limit for one request before finishing. Reply “continue”, or try a smaller request.",
        "在完成之前已达到单个请求的上限。请回复“继续”，或缩小请求范围。",
    ),
    "end.storage": (
        "I can't save my progress right now, so I stopped before doing anything that wouldn't be recorded.",
        "目前无法保存进度，因此我已停止，没有执行任何无法记录的操作。",
    ),
    # --- marks and labels on an answer
    "reply.interrupted": ("interrupted", "已中断"),
    "reply.working": ("Working on it…", "正在处理…"),
    "reply.continued": ("continues below", "在下方继续"),
    "reply.stop": ("Stop", "停止"),
    "reply.refused": (
        "Slack doesn't let me post in your thread, so my answer isn't there. Please ask again in a new message, or in a "
        "direct message to me.",
        "Slack 不允许我在您的消息列中发布消息，因此回复没有出现在那里。请用新消息或私信再问一次。",
    ),
    "reply.refused_there": (
        "Slack doesn't let me post in {channel}, where you asked me, so my answer isn't there. You can ask again here.",
        "Slack 不允许我在 {channel} 中发布消息，因此您在那里的请求没有得到回复。您可以在这里再问一次。",
    ),
    "reply.waiting": ("waiting for a decision", "等待确认"),
    # --- replies to a click on an approval card
    "approval.unknown": (
        "This button is from an older message and no longer works. Nothing was done.",
        "此按钮来自较早的消息，已失效。没有执行任何操作。",
    ),
    "approval.settled": (
        "This was already decided. Your click changed nothing.",
        "此事已有决定，您的点击没有改变任何内容。",
    ),
    "approval.expired": ("This approval has expired. The tool was not run.", "决定时间已过，工具没有运行。"),
    "approval.changed_again": (
        "This tool has changed since then, so I can't run it again. Please choose whether it worked, or skip.",
        "此后这个工具已发生变化，无法重新运行。请选择它是否已成功，或跳过。",
    ),
    "approval.not_yours": (
        "You're not one of the people who can decide this. Nothing was changed.",
        "您不在可以决定此事的人员之列。没有任何改变。",
    ),
    "approval.read_first": (
        "This is too long for the card. Please open it with *Read in full* and decide there. Nothing was done.",
        "内容过长，卡片无法完整显示。请点击“阅读全文”，并在其中决定。没有执行任何操作。",
    ),
    "approval.not_opened": ("Slack didn't open it. Please click again.", "Slack 没有打开它，请再点击一次。"),
    "approval.counted": ("Your approval was counted. More approvals are needed.", "已计入您的批准，还需要其他人批准。"),
    "approval.voters_unknown": (
        "I couldn't look up the people who approved before you, so I did nothing. Please try again in a moment.",
        "目前无法读取之前批准者的 Slack 个人档案，因此没有执行任何操作。请稍后再试。",
    ),
    "approval.repaired": (
        "The AI model wrote these arguments with errors, and I repaired them. Please check them carefully.",
        "模型给出的参数不是有效的 JSON，已被修复。请仔细核对。",
    ),
    "approval.equal_unknown": (
        "An identical call was interrupted earlier and may already have taken effect.",
        "此前有一次相同的调用中断，可能已经生效。",
    ),
    "approval.equal_open": (
        "An identical call is waiting for a decision too. If both are approved, it runs twice.",
        "另有一次相同的调用也在等待决定。如果两次都批准，就会运行两次。",
    ),
    # --- approval cards
    "card.title": ("May I run *{tool}*?", "可以运行 *{tool}* 吗？"),
    "card.title_unknown": ("Did *{tool}* succeed?", "*{tool}* 成功了吗？"),
    "card.unknown": (
        "I started this call but didn't receive its result, so I don't know whether it took effect. I won't run "
        "it again unless you tell me to. Please check, then choose.",
        "我发起了这次调用，但没有收到结果，无法确定它是否已生效。未经您同意，我不会再次运行。请核实后选择。",
    ),
    "card.title_definition": ("May I use *{tool}* again?", "可以重新使用 *{tool}* 吗？"),
    "card.definition": (
        "Its server changed what this tool says about itself, so I no longer use it. Please check what changed, then "
        "choose. If you accept it, it is used again for everybody, by the same rules as before.",
        "服务器更改了这个工具的定义，因此我已停止使用它。请核对变化，然后选择。如果您接受，所有人都可以按原有规则重新使用它。",
    ),
    "card.difference": ("What changed:", "变化内容："),
    "card.facts": ("Effect: {effect} · requested by {requester}", "影响：{effect} · 请求人：{requester}"),
    "card.effect.read": ("read-only", "只读"),
    "card.effect.write": ("makes changes", "会修改内容"),
    "card.effect.danger": ("risky", "有风险"),
    "card.arguments": ("With exactly these arguments:", "确切参数如下："),
    "card.private": ("What it is about is not shown here: memories are private.", "此处不显示内容：记忆是私密的。"),
    "card.no_arguments": ("No arguments.", "没有参数。"),
    "card.too_long": (
        "The arguments are too long for this message: {size} characters, SHA-256 {hash}. What is left out below is "
        "marked with its length.",
        "参数过长，此消息无法完整显示：共 {size} 个字符，SHA-256 {hash}。下面省略的部分标有长度。",
    ),
    "card.read_first": ("Open *Read in full* to approve it.", "请点击“阅读全文”，并在其中批准。"),
    "card.omitted": ("… {size} characters not shown …", "……{size} 个字符未显示……"),
    "card.mixed_words": (
        "⚠ Letters of different alphabets that look alike are mixed in: {words}",
        "⚠ 以下词语混用了外观相似的不同字母：{words}",
    ),
    "card.unknown_id": ("(a person I don't know)", "（我不认识的人）"),
    "card.who": ("Can decide: {who}", "可以决定的人：{who}"),
    "card.who_quorum": (
        "Can decide: {who} · {votes} of {quorum} approvals so far",
        "可以决定的人：{who} · 已批准 {votes}/{quorum}",
    ),
    "card.votes": ("Approved so far by {who}", "目前已批准：{who}"),
    "card.not_requester": ("The requester can't approve this, only deny it.", "请求人不能批准，只能拒绝。"),
    "card.not_requester_unknown": ("The requester can't answer this.", "请求人不能回答此问题。"),
    "card.expires": ("Expires {when}", "到期时间：{when}"),
    "card.read_in_full": ("Read in full", "阅读全文"),
    "view.title": ("In full", "全文"),
    "view.close": ("Close", "关闭"),
    "card.approve": ("Approve", "批准"),
    "card.deny": ("Deny", "拒绝"),
    "card.run_again": ("Run again", "重新运行"),
    "card.worked": ("It worked", "已成功"),
    "card.skip": ("Skip", "跳过"),
    "card.accept": ("Accept the change", "接受变化"),
    "card.keep_blocked": ("Keep it blocked", "保持停用"),
    "card.accepted": ("✓ {who} accepted the change. Ask me again.", "✓ {who} 已接受变化。请再次向我提出请求。"),
    "card.kept_blocked": ("✕ {who} decided to keep it blocked.", "✕ {who} 决定保持停用。"),
    "card.definition_changed": (
        "Not decided: the tool changed again, or is back as it was. Ask me again to see its current state.",
        "未决定：这个工具再次发生变化，或已恢复原状。请再次向我提出请求以查看当前情况。",
    ),
    "card.definition_expired": ("Expired. The tool stays blocked.", "已过期。这个工具保持停用。"),
    "card.approved": ("✓ Approved by {who}.", "✓ 已由 {who} 批准。"),
    "card.denied": ("✕ Denied by {who}.", "✕ 已被 {who} 拒绝。"),
    "card.expired": ("Expired. Nobody decided in time, so it was not run.", "已过期。没有人及时决定，因此没有运行。"),
    "card.changed": (
        "Not run: since I asked, the tool has changed or was removed.",
        "未运行：在我询问之后，这个工具已发生变化或被移除。",
    ),
    "card.withdrawn": ("Withdrawn. It was no longer needed and was not run.", "已撤回。不再需要，没有运行。"),
    "card.ran_again": ("{who} chose to run it again.", "{who} 选择重新运行。"),
    "card.did_work": ("✓ {who} confirmed that it worked.", "✓ {who} 确认已成功。"),
    "card.skipped": ("{who} chose to skip it.", "{who} 选择跳过。"),
    "card.unknown_expired": (
        "Expired. Nobody answered, so the outcome is still unknown.",
        "已过期。无人回答，结果仍然未知。",
    ),
    "card.unknown_withdrawn": ("Withdrawn. The outcome is still unknown.", "已撤回。结果仍然未知。"),
    "card.fallback": ("{tool}: a decision is needed", "{tool}：需要您的决定"),
    "card.someone": ("someone", "某人"),
    # --- tools
    "tool.effect.read": ("read-only", "只读"),
    "tool.effect.write": ("makes changes", "会修改内容"),
    "tool.effect.danger": ("risky", "有风险"),
    "tool.decision.allow": ("runs without asking", "直接运行"),
    "tool.decision.ask": ("asks first", "先征得同意"),
    "tool.decision.blocked": ("blocked: its definition changed", "已停用：其定义已变化"),
    "tool.decision.deny": ("not allowed", "不允许"),
    # --- commands
    "command.help": (
        "**How to use Hermes**\n"
        "- Mention me in a channel, or send me a direct message. In a thread, I continue where we left off.\n"
        "- `/hermes status` – your conversations with me here · `/hermes stop` – stop your requests here · `/hermes tools` – my tools\n"
        "- `/memory list`, `search`, `add`, `edit`, `forget` – what I remember about you (only you can see it)\n"
        "- In a thread, mention me and write `!stop`, `!status`, `!new`, `!tools` or `!memory …`",
        "**如何使用 Hermes**\n"
        "- 在频道中提及我，或给我发私信。在消息列中，我会接着之前的内容继续。\n"
        "- `/hermes status` – 您在这里与我的对话 · `/hermes stop` – 停止您在这里的请求 · `/hermes tools` – 我的工具\n"
        "- `/memory list`、`search`、`add`、`edit`、`forget` – 我记住的关于您的内容（仅您可见）\n"
        "- 在消息列中，请提及我并输入 `!stop`、`!status`、`!new`、`!tools` 或 `!memory …`",
    ),
    "command.unknown": ("Unknown command `{word}`.", "未知命令 `{word}`。"),
    "command.new_where": (
        "Slash commands don't work in threads. To start a new conversation, write `@hermes !new` in the thread.",
        "斜杠命令不能在消息列中使用。要开始新的对话，请在该消息列中输入 `@hermes !new`。",
    ),
    "command.new_done": (
        "I started a new conversation. I won't use anything said earlier in this thread.",
        "已开始新的对话。我不会再使用本消息列中之前的内容。",
    ),
    "command.status_none": ("You have no conversations with me here.", "您在这里还没有与我的对话。"),
    "command.status_head": ("**Your conversations here**", "**您在这里的对话**"),
    "command.status_line": ("- {link}: {phase} · requests: {turns}", "- {link}：{phase}，共 {turns} 个请求"),
    "command.thread": ("thread from {when}", "{when} 的消息列"),
    "command.stopped": ("Requests stopped: {count}", "已停止的请求：{count}"),
    "command.stop_none": ("There is nothing for you to stop here.", "这里没有您可以停止的请求。"),
    "command.tools_head": ("**My tools**", "**我的工具**"),
    "command.tool_line": ("- `{name}` – {line} ({effect}, {decision})", "- `{name}` – {line}（{effect}，{decision}）"),
    "command.tools_none": ("I have no tools.", "我没有工具。"),
    "command.missing": ("Currently unavailable: {servers}", "暂不可用：{servers}"),
    "command.failed": (
        "I couldn't save that, so nothing was changed. Please try again in a moment.",
        "无法保存，因此没有任何改变。请稍后再试。",
    ),
    # --- session phases, as `status` shows them
    "phase.waiting_input": ("waiting for you", "等待您的消息"),
    "phase.awaiting_confirmation": ("waiting for a decision", "等待确认"),
    "phase.reasoning": ("thinking", "正在思考"),
    "phase.waiting_tool": ("using a tool", "正在使用工具"),
    **MEMORY_TEXTS,
}


def chinese(locale: str) -> bool:
    """Return True for a Chinese Slack locale, such as zh-CN."""
    return locale.lower().startswith("zh")


def say(key: str, locale: str, **values: Any) -> str:
    """Return the sentence in the person's language, with `values` filled in. Raise KeyError for an unknown key."""
    return TEXTS[key][1 if chinese(locale) else 0].format(**values)


def both(key: str) -> str:
    """Return the sentence in both languages, for a person whose locale is unknown. Raise KeyError for an unknown key."""
    return "\n\n".join(TEXTS[key])

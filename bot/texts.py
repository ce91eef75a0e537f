"""Every sentence that Hermes itself says to people: key → (English, Chinese). One section per part of the house."""

from typing import Any

TEXTS: dict[str, tuple[str, str]] = {
    # --- session
    "access.refused": (
        "I may not work for you here: my settings leave out guests, people of other organisations, or people and "
        "channels that are not on a list. Someone else can ask me, or my operator can allow it (`access` in the "
        "configuration).",
        "我不能在这里为您工作：我的设置排除了访客、其他组织的成员，或不在名单上的人员和频道。"
        "请让其他人来问我，或请管理员在配置（`access`）中放行。",
    ),
    "access.unknown": (
        "I cannot find out who you are at the moment, so I did nothing. Please try again in a moment.",
        "目前无法确认您的身份，因此没有执行任何操作。请稍后再试。",
    ),
    "storage.failing": (
        "I cannot store anything at the moment, so your message is not taken in yet. Slack will send it to me again; "
        "if no answer comes within ten minutes, please say it again.",
        "我目前无法保存任何内容，因此尚未收下您的消息。Slack 会再次发送给我；若十分钟内没有答复，请再说一遍。",
    ),
    "queue.waits": (
        "I have your message. I am busy with someone else's request in this thread and take yours up next.",
        "已收到您的消息。我正在处理本消息列中另一位的请求，随后就处理您的。",
    ),
    "queue.full": (
        "Too many messages wait in this thread. I keep yours as context, but I will not answer it on its own; please "
        "ask again when I am done.",
        "本消息列等待的消息太多。我会把您的消息保留为上下文，但不会单独回答；请在我完成后再问一次。",
    ),
    "end.stopped": ("Stopped by {name}.", "已由 {name} 停止。"),
    "end.deleted": ("Stopped, because the question was deleted.", "问题已被删除，因此停止。"),
    "end.timed_out": (
        "This took longer than a turn may take, so I stopped here. Ask me to go on if you still need it.",
        "处理时间超过了单次限制，我先停在这里。如仍需要，请让我继续。",
    ),
    "end.interrupted": ("interrupted by a restart; the answer goes on below", "因重启中断，答复在下方继续"),
    "end.failed": (
        "The model could not answer. Your message is kept; please try again in a moment.",
        "模型未能作答。您的消息已保留，请稍后再试。",
    ),
    "end.unreachable": (
        "The model cannot be reached. Your message is kept; try again in a moment, or ask the operator to run "
        "`hermes doctor`.",
        "无法连接模型。您的消息已保留；请稍后再试，或请管理员运行 `hermes doctor`。",
    ),
    "end.timeout": (
        "The model took too long to answer. Your message is kept; please try again.",
        "模型响应超时。您的消息已保留，请重试。",
    ),
    "end.auth": (
        "The model's endpoint refused my key. The operator has to correct it; your message is kept.",
        "模型服务拒绝了我的密钥，需要管理员修正；您的消息已保留。",
    ),
    "end.overflow": (
        "This conversation does not fit the model any more, even summed up. Start a new one with `!new`.",
        "即使压缩后，本次对话也超出了模型的容量。请用 `!new` 开始新的对话。",
    ),
    "end.rejected": (
        "The model's endpoint did not accept the request. The operator finds the reason in the log.",
        "模型服务没有接受请求。管理员可以在日志中找到原因。",
    ),
    "end.rate_limited": (
        "The model's endpoint is overloaded. Your message is kept; please try again in a few minutes.",
        "模型服务繁忙。您的消息已保留，请几分钟后再试。",
    ),
    "end.server": (
        "The model's endpoint failed. Your message is kept; please try again in a moment.",
        "模型服务出错。您的消息已保留，请稍后再试。",
    ),
    "end.broken": (
        "The answer broke off twice on the way. What may stand above is incomplete; please ask again.",
        "答复两次中途断开，以上内容（如有）不完整，请再问一次。",
    ),
    "end.malformed": (
        "The model's reply could not be read. Please ask again.",
        "无法读取模型的回复，请再问一次。",
    ),
    "end.empty": (
        "The model gave an empty answer. Please ask again, perhaps in other words.",
        "模型给出了空的答复，请换种说法再问一次。",
    ),
    "end.length": (
        "The answer ends here because it reached the longest that the model may write at once. Ask me to go on.",
        "答复已达到模型一次可写的最大长度，到此为止。请让我继续。",
    ),
    "end.filtered": (
        "The model's endpoint withheld the rest of this answer.",
        "模型服务未给出此答复的其余部分。",
    ),
    "end.stuck": (
        "The same call failed three times in the same way, so I stopped. Nothing was repeated beyond that.",
        "同一调用以同样方式失败了三次，我已停下，没有继续重复。",
    ),
    "end.max_steps": (
        "I used up the steps of one turn without reaching an answer. Tell me to go on, or ask for less at once.",
        "已用完单次对话的步数，仍未得出答案。请让我继续，或缩小问题范围。",
    ),
    "end.storage": (
        "I cannot store my work at the moment, so I stopped before doing anything unrecorded.",
        "目前无法保存工作记录，因此我在产生未记录的操作之前停下了。",
    ),
    # --- voice (bot/slack)
    "reply.interrupted": ("interrupted", "已中断"),
    "reply.working": ("Working on it…", "正在处理…"),
    "reply.continued": ("continues below", "在下方继续"),
    "reply.stop": ("Stop", "停止"),
    "reply.waiting": ("waits for a decision", "等待决定"),
    # --- approvals
    "approval.unknown": (
        "This button belongs to an older version of me or to a question I no longer have. Nothing was done.",
        "此按钮属于我的旧版本，或对应的问题已不存在。没有执行任何操作。",
    ),
    "approval.settled": (
        "This was decided already. Your click changed nothing.",
        "此事已有决定，您的点击没有改变任何内容。",
    ),
    "approval.expired": ("The time to decide is over; it was not run.", "决定时间已过，未执行。"),
    "approval.not_yours": (
        "You are not among those who may decide this. Nothing was changed.",
        "您不在可决定此事的人员之列，没有任何改变。",
    ),
    "approval.counted": ("Your approval is counted; more are needed.", "已计入您的批准，还需要其他人同意。"),
    "approval.repaired": (
        "The model's arguments were not valid JSON and were repaired: please read them closely.",
        "模型给出的参数不是有效的 JSON，已被修复：请仔细核对。",
    ),
    "approval.equal_unknown": (
        "An equal call was broken off earlier and may have had its effect already.",
        "此前有一次相同的调用中断，可能已经生效。",
    ),
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
    "card.not_requester_unknown": ("Whoever asked may not answer this.", "请求人不能回答此问题。"),
    "card.expires": ("Expires {when}", "到期时间：{when}"),
    "card.approve": ("Approve", "批准"),
    "card.deny": ("Deny", "拒绝"),
    "card.run_again": ("Run again", "重新运行"),
    "card.worked": ("It worked", "已成功"),
    "card.skip": ("Skip", "跳过"),
    "card.approved": ("✓ Approved by {who}.", "✓ 已由 {who} 批准。"),
    "card.denied": ("✕ Denied by {who}.", "✕ 已被 {who} 拒绝。"),
    "card.expired": ("Expired: nobody decided in time. It was not run.", "已过期：没有人及时决定，未执行。"),
    "card.withdrawn": ("Withdrawn: it is no longer needed and was not run.", "已撤回：不再需要，未执行。"),
    "card.ran_again": ("{who} chose: run it again.", "{who} 选择：重新运行。"),
    "card.did_work": ("✓ {who} says that it worked.", "✓ {who} 确认已成功。"),
    "card.skipped": ("{who} chose to go on without it.", "{who} 选择跳过。"),
    "card.unknown_expired": (
        "Expired: nobody answered. Its outcome stays unknown.",
        "已过期：无人答复，结果仍未知。",
    ),
    "card.unknown_withdrawn": ("Withdrawn. Its outcome stays unknown.", "已撤回，结果仍未知。"),
    "card.fallback": ("{tool}: a decision is needed", "{tool}：需要您的决定"),
    "card.someone": ("somebody", "某人"),
    # --- tools
    "tool.effect.read": ("reads", "只读"),
    "tool.effect.write": ("changes things", "会改动"),
    "tool.effect.danger": ("risky", "有风险"),
    "tool.decision.allow": ("runs at once", "直接执行"),
    "tool.decision.ask": ("asks first", "先征得同意"),
    "tool.decision.deny": ("not allowed", "不允许"),
    # --- memory and commands
    "command.help": (
        "**What I understand**\n"
        "- Mention me in a channel, or write me a direct message; in a thread I go on where we were.\n"
        "- `/hermes status` – your conversations with me here · `/hermes stop` – stop it · `/hermes tools` – what I can use\n"
        "- `/memory list`, `search`, `add`, `edit`, `forget` – what I remember about you (only you see it)\n"
        "- In a thread: `!stop`, `!status`, `!new`, `!tools`, `!memory …`, after mentioning me",
        "**我能理解的指令**\n"
        "- 在频道中提及我，或给我发私信；在消息列中我会接着之前的内容继续。\n"
        "- `/hermes status` – 您在这里与我的对话 · `/hermes stop` – 停止 · `/hermes tools` – 可用工具\n"
        "- `/memory list`、`search`、`add`、`edit`、`forget` – 我记住的关于您的内容（仅您可见）\n"
        "- 在消息列中提及我之后：`!stop`、`!status`、`!new`、`!tools`、`!memory …`",
    ),
    "command.unknown": ("I do not know `{word}`.", "我不认识 `{word}`。"),
    "command.new_where": (
        "A slash command knows no thread. Write `@hermes !new` in the thread that should begin anew.",
        "斜杠命令无法识别消息列。请在要重新开始的消息列中写 `@hermes !new`。",
    ),
    "command.new_done": (
        "A new conversation begins here; what was said before is no longer taken into account.",
        "新的对话从这里开始，此前的内容不再作为上下文。",
    ),
    "command.status_none": ("I am doing nothing for you here.", "我在这里没有为您处理任何事情。"),
    "command.status_head": ("**Your conversations here**", "**您在这里的对话**"),
    "command.status_line": ("- {link}: {phase} · turns: {turns}", "- {link}：{phase}，{turns} 轮"),
    "command.thread": ("thread of {when}", "{when} 的消息列"),
    "command.stopped": ("Stopping {count} of your turns here.", "正在停止您在这里的 {count} 个任务。"),
    "command.stop_none": ("Nothing of yours is running here.", "您在这里没有正在进行的任务。"),
    "command.tools_head": ("**My tools**", "**我的工具**"),
    "command.tool_line": ("- `{name}` – {line} ({effect}, {decision})", "- `{name}` – {line}（{effect}，{decision}）"),
    "command.tools_none": ("I have no tools.", "我没有工具。"),
    "command.missing": ("Not available now: {servers}", "暂不可用：{servers}"),
    "command.failed": (
        "I could not store that, so nothing was changed. Please try again in a moment.",
        "无法保存，因此没有任何改变。请稍后再试。",
    ),
    "phase.waiting_input": ("waits for you", "等待您的消息"),
    "phase.awaiting_confirmation": ("waits for a decision", "等待决定"),
    "phase.reasoning": ("is thinking", "正在思考"),
    "phase.waiting_tool": ("is using a tool", "正在使用工具"),
    "memory.help": (
        "**Your memories**\n"
        "- `/memory list` all of them, with their ids\n"
        "- `/memory search <words>` those that hold these words\n"
        "- `/memory add <fact>` keep a fact; it is used in your DM with me and where you typed it, or, if that is a public channel, in all of those\n"
        "- `/memory edit <id> <new text>` change one\n"
        "- `/memory forget <id or words>` delete one for good; I ask once\n"
        "In a thread write `@Hermes !memory …` instead. Only you see these answers.",
        "**您的记忆**\n"
        "- `/memory list` 列出全部记忆及编号\n"
        "- `/memory search <词语>` 查找包含这些词语的记忆\n"
        "- `/memory add <内容>` 记住一件事；在与我的私信和您输入的地方使用；若为公开频道，则在所有公开频道中使用\n"
        "- `/memory edit <编号> <新内容>` 修改一条\n"
        "- `/memory forget <编号或词语>` 永久删除一条，我会先确认一次\n"
        "在消息列中请写 `@Hermes !memory …`。这些回复只有您能看到。",
    ),
    "memory.unknown": ("I do not know `{verb}`.", "我不认识 `{verb}`。"),
    "memory.list": (
        "**Your memories** ({first}–{last} of {total})",
        "**您的记忆**（第 {first}–{last} 条，共 {total} 条）",
    ),
    "memory.list.none": (
        "I remember nothing of yours yet. `/memory add <fact>` keeps something.",
        "我还没有您的任何记忆。用 `/memory add <内容>` 来添加。",
    ),
    "memory.page": ("Page {page}", "第 {page} 页"),
    "memory.found": ("**Memories with “{words}”** (best first)", "**包含“{words}”的记忆**（最相关的在前）"),
    "memory.found.none": ("None of your memories holds “{words}”.", "您的记忆中没有“{words}”。"),
    "memory.found.more": ("There may be more; add a word to narrow it down.", "可能还有更多，请添加词语缩小范围。"),
    "memory.added": ("I will remember: {content}\n\n{facts}", "我会记住：{content}\n\n{facts}"),
    "memory.already_known": ("I know that already: {content}\n\n{facts}", "我已经知道了：{content}\n\n{facts}"),
    "memory.edited": ("Changed: {content}\n\n{facts}", "已修改：{content}\n\n{facts}"),
    "memory.widened": ("It may be used everywhere now: {content}\n\n{facts}", "现在可在各处使用：{content}\n\n{facts}"),
    "memory.widen": ("Use everywhere", "各处使用"),
    "memory.forget.ask": (
        "Forget this for good?\n> {content}\n\n{facts}",
        "要永久忘记这条吗？\n> {content}\n\n{facts}",
    ),
    "memory.forget.changed": (
        "It has changed since I asked, so nothing was deleted.",
        "在我询问之后内容已变化，因此没有删除。",
    ),
    "memory.forget.which": ("**Which one shall I forget?**", "**要忘记哪一条？**"),
    "memory.forget.one": ("Forget {id}", "忘记 {id}"),
    "memory.forget.yes": ("Forget it", "忘记"),
    "memory.forget.keep": ("Keep", "保留"),
    "memory.forget.done": (
        "Forgotten. The memory `{id}` and its place in the search are deleted; only a note without content stays: "
        "that it existed and when you had it deleted.",
        "已忘记。记忆 `{id}` 及其搜索索引已删除；只保留一条不含内容的记录：它曾存在，以及您何时要求删除。",
    ),
    "memory.unchanged": ("Nothing was changed.", "没有任何改动。"),
    "memory.no_such": (
        "You have no memory with the id `{id}`. `/memory list` shows the ids.",
        "您没有编号为 `{id}` 的记忆。`/memory list` 会显示编号。",
    ),
    "memory.usage.add": ("Write what to remember: `/memory add <fact>`", "请写出要记住的内容：`/memory add <内容>`"),
    "memory.usage.edit": (
        "Write the id and the new text: `/memory edit <id> <new text>`",
        "请写出编号和新内容：`/memory edit <编号> <新内容>`",
    ),
    "memory.usage.search": (
        "Write what to look for: `/memory search <words>`",
        "请写出要查找的词语：`/memory search <词语>`",
    ),
    "memory.usage.forget": (
        "Write which one: `/memory forget <id or words>`",
        "请写出哪一条：`/memory forget <编号或词语>`",
    ),
    "memory.old_button": (
        "This button belongs to an older answer. `/memory list` shows how things stand.",
        "这个按钮来自较早的回复。请用 `/memory list` 查看当前情况。",
    ),
    "memory.audience.dm": ("used in your DM only", "仅在您的私信中使用"),
    "memory.audience.private": ("used in {channel} and your DM", "在 {channel} 和您的私信中使用"),
    "memory.audience.shared": ("used in {channel} and your DM", "在 {channel} 和您的私信中使用"),
    "memory.audience.public": (
        "used in channels without outside people and your DM",
        "在没有外部人员的频道和您的私信中使用",
    ),
    "memory.audience.workspace": ("used everywhere without outside people", "在没有外部人员的各处使用"),
    "memory.archived": ("archived, not used", "已归档，不再使用"),
    "memory.until": ("until {day}", "有效期至 {day}"),
    "memory.ended": ("ended {day}, not used", "已于 {day} 结束，不再使用"),
    "memory.source": ("[source]({link})", "[来源]({link})"),
    "memory.refused.secret": (
        "I did not keep that: it looks like it holds a password, a key or another secret. Please keep secrets in a "
        "password manager.",
        "我没有记住：其中似乎含有密码、密钥或其他机密。请把机密保存在密码管理器中。",
    ),
    "memory.refused.identity": (
        "I did not keep that: it looks like it holds the number of an identity document.",
        "我没有记住：其中似乎含有证件号码。",
    ),
    "memory.refused.payment": (
        "I did not keep that: it looks like it holds a card or bank account number. If it is another kind of number, "
        "please write it without the digits that look like one.",
        "我没有记住：其中似乎含有银行卡号或账号。如果是其他号码，请去掉相似的数字再写。",
    ),
    "memory.refused.empty": ("There is nothing in it to remember.", "其中没有可记住的内容。"),
    "memory.refused.long": (
        "That is too long: a memory is one fact of at most 1,000 characters. Nothing was kept.",
        "内容过长：一条记忆最多 1,000 个字符。没有保存。",
    ),
    "memory.refused.full": (
        "You have as many memories as I can keep. Please forget some first.",
        "您的记忆已达上限，请先忘记一些。",
    ),
    "memory.refused.nowhere": (
        "I cannot tell where this conversation is, so I did not keep that.",
        "我无法确定这个会话的位置，因此没有记住。",
    ),
    "memory.refused.gone": ("This memory does not exist any more.", "这条记忆已不存在。"),
    # --- mcp
}


def chinese(locale: str) -> bool:
    """Tell whether a Slack locale (like zh-CN) is Chinese."""
    return locale.lower().startswith("zh")


def say(key: str, locale: str, **values: Any) -> str:
    """Return the sentence in the person's language, with values filled in. Raises KeyError for an unknown key."""
    return TEXTS[key][1 if chinese(locale) else 0].format(**values)


def both(key: str) -> str:
    """Return the sentence in both languages, for someone whose own cannot be looked up. KeyError for an unknown key."""
    return "\n\n".join(TEXTS[key])

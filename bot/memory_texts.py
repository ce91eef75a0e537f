"""The texts about memories: key → (English, Chinese). `bot.texts` contains them."""

MEMORY_TEXTS: dict[str, tuple[str, str]] = {
    "memory.help": (
        "**Your memories**\n"
        "- `/memory list` – show all, with their ids\n"
        "- `/memory search <words>` – find those that contain these words\n"
        "- `/memory add <fact>` – save a fact. I use it in your DM with me and in the channel where you add it. What you add in a public channel, I use in all channels without external people\n"
        "- `/memory edit <id> <new text>` – change one\n"
        "- `/memory forget <id or words>` – delete one permanently, after you confirm\n"
        "In a thread, write `@Hermes !memory …` instead. Only you can see the answers.",
        "**您的记忆**\n"
        "- `/memory list` – 列出全部记忆及编号\n"
        "- `/memory search <词语>` – 查找包含这些词语的记忆\n"
        "- `/memory add <内容>` – 保存一件事。我会在与您的私信和您添加它的频道中使用；在公开频道中添加的内容，会在所有没有外部人员的频道中使用\n"
        "- `/memory edit <编号> <新内容>` – 修改一条\n"
        "- `/memory forget <编号或词语>` – 经您确认后永久删除一条\n"
        "在消息列中，请改用 `@Hermes !memory …`。这些回复只有您能看到。",
    ),
    "memory.unknown": ("Unknown command `{verb}`.", "未知命令 `{verb}`。"),
    "memory.list": (
        "**Your memories** ({first}–{last} of {total})",
        "**您的记忆**（第 {first}–{last} 条，共 {total} 条）",
    ),
    "memory.list.none": (
        "I don't remember anything about you yet. To save something, use `/memory add <fact>`.",
        "我还没有关于您的任何记忆。请用 `/memory add <内容>` 添加。",
    ),
    "memory.page": ("Page {page}", "第 {page} 页"),
    "memory.found": ("**Memories with “{words}”** (best match first)", "**包含“{words}”的记忆**（最相关的在前）"),
    "memory.found.none": ("None of your memories contains “{words}”.", "您的记忆中没有“{words}”。"),
    "memory.found.more": (
        "There may be more. Add a word to narrow the search.",
        "可能还有更多。请添加词语来缩小范围。",
    ),
    "memory.added": ("I will remember: {content}\n\n{facts}", "我会记住：{content}\n\n{facts}"),
    "memory.already_known": ("I already know that: {content}\n\n{facts}", "我已经知道了：{content}\n\n{facts}"),
    "memory.edited": ("Changed: {content}\n\n{facts}", "已修改：{content}\n\n{facts}"),
    "memory.widened": (
        "I can now use this everywhere: {content}\n\n{facts}",
        "现在我可以在各处使用：{content}\n\n{facts}",
    ),
    "memory.widen": ("Use everywhere", "各处使用"),
    "memory.forget.ask": (
        "Permanently forget this?\n> {content}\n\n{facts}",
        "要永久忘记这条吗？\n> {content}\n\n{facts}",
    ),
    "memory.forget.changed": (
        "This memory changed after I asked, so nothing was deleted.",
        "在我询问之后，这条记忆已被修改，因此没有删除。",
    ),
    "memory.forget.which": ("**Which one should I forget?**", "**要忘记哪一条？**"),
    "memory.forget.one": ("Forget {id}", "忘记 {id}"),
    "memory.forget.yes": ("Forget it", "忘记"),
    "memory.forget.keep": ("Keep", "保留"),
    "memory.forget.done": (
        "Forgotten. Memory `{id}` is deleted, with its search entries and what I noted when you saved, changed or looked "
        "for it; its bytes in my database are overwritten now (in a large database: tonight). What remains: a record "
        "without the content, that the memory existed and when you deleted it; **messages in conversations that say the "
        "same**, yours and my answers to you, and summaries of them, here and in Slack; messages of other people; "
        "backups that your admin made.",
        "已忘记。记忆 `{id}` 已删除，其搜索索引以及您保存、修改或查找它时我留下的记录也已删除；数据库文件中的相应内容现在就会被覆盖"
        "（数据库较大时在今夜）。仍保留：一条不含内容的记录（这条记忆曾存在，以及您何时删除了它）；**对话中有同样内容的消息**，"
        "即您的消息和我给您的回复，及其摘要，在这里和在 Slack 中；其他人的消息；管理员制作的备份。",
    ),
    "memory.forget.remove": ("Remove those messages too", "也移除这些消息"),
    "memory.removed": (
        "Removed from my copy of the conversations: {count} messages that contain words of it, yours and my answers to you, "
        "and what summaries said of it. Slack still shows them; delete them there if you want. Other people's messages "
        "are unchanged, and so are requests that wait for approval.",
        "已从我保存的对话中移除：{count} 条含有相关词语的消息（您的消息和我给您的回复），以及摘要中的相关内容。Slack 中仍会显示，"
        "如有需要请在那里删除。其他人的消息和等待批准的请求没有改动。",
    ),
    "memory.keep.ask": (
        "Should I remember this? You didn't write it in these words yourself, so I keep it only if you say yes.\n"
        "> {content}\n\n{facts}",
        "要记住这条吗？这不是您自己写的原话，只有您同意我才会保存。\n> {content}\n\n{facts}",
    ),
    "memory.keep.yes": ("Remember it", "记住"),
    "memory.keep.no": ("Don't remember", "不记住"),
    "memory.keep.declined": ("I won't remember it.", "我不会记住它。"),
    "memory.type.identity": ("about you", "关于您"),
    "memory.type.preference": ("preference", "偏好"),
    "memory.type.fact": ("fact", "事实"),
    "memory.type.goal": ("goal", "目标"),
    "memory.type.event": ("event", "事件"),
    "memory.type.instruction": (
        "**standing instruction: I follow it in all your requests**",
        "**长期指示：我会在您的所有请求中遵守**",
    ),
    "memory.refused.waiting": (
        "I have already asked you about several memories. Please answer those first: `/memory list`",
        "我已就多条记忆询问过您，请先回答：`/memory list`",
    ),
    "memory.unchanged": ("Nothing was changed.", "没有任何改动。"),
    "memory.no_such": (
        "You have no memory with the id `{id}`. To see the ids, use `/memory list`.",
        "您没有编号为 `{id}` 的记忆。请用 `/memory list` 查看编号。",
    ),
    "memory.usage.add": (
        "Write what I should remember: `/memory add <fact>`",
        "请写出要记住的内容：`/memory add <内容>`",
    ),
    "memory.usage.edit": (
        "Write the id and the new text: `/memory edit <id> <new text>`",
        "请写出编号和新内容：`/memory edit <编号> <新内容>`",
    ),
    "memory.usage.search": (
        "Write what to search for: `/memory search <words>`",
        "请写出要查找的词语：`/memory search <词语>`",
    ),
    "memory.usage.forget": (
        "Write which one to forget: `/memory forget <id or words>`",
        "请写出要忘记哪一条：`/memory forget <编号或词语>`",
    ),
    "memory.old_button": (
        "This button is from an older message. To see your memories, use `/memory list`.",
        "此按钮来自较早的消息。请用 `/memory list` 查看您的记忆。",
    ),
    "memory.audience.dm": ("used in your DM only", "仅在您的私信中使用"),
    "memory.audience.private": ("used in {channel} and your DM", "在 {channel} 和您的私信中使用"),
    "memory.audience.shared": ("used in {channel} and your DM", "在 {channel} 和您的私信中使用"),
    "memory.audience.public": (
        "used in your DM and in channels without external people",
        "在您的私信和没有外部人员的频道中使用",
    ),
    "memory.audience.workspace": ("used everywhere without external people", "在没有外部人员的各处使用"),
    "memory.archived": ("archived, not used", "已归档，不再使用"),
    "memory.until": ("until {day}", "有效期至 {day}"),
    "memory.ended": ("ended {day}, not used", "已于 {day} 结束，不再使用"),
    "memory.source": ("[source]({link})", "[来源]({link})"),
    "memory.refused.secret": (
        "I didn't save that, because it seems to contain a password, a key or another secret. Please keep "
        "secrets in a password manager.",
        "没有保存，因为其中似乎含有密码、密钥或其他机密。请把机密保存在密码管理器中。",
    ),
    "memory.refused.identity": (
        "I didn't save that, because it seems to contain the number of an identity document.",
        "没有保存，因为其中似乎含有证件号码。",
    ),
    "memory.refused.payment": (
        "I didn't save that, because it seems to contain a card or bank account number. If it is a different "
        "number, please say it again without those digits.",
        "没有保存，因为其中似乎含有银行卡号或账号。如果是其他号码，请去掉相似的数字。",
    ),
    "memory.refused.empty": ("That contains nothing to remember.", "其中没有可以记住的内容。"),
    "memory.refused.long": (
        "That is too long, so I didn't save it. A memory is one fact of at most 1,000 characters.",
        "内容过长，没有保存。一条记忆只记一件事，最多 1,000 个字符。",
    ),
    "memory.refused.full": (
        "You have reached the maximum number of memories. Please forget some first.",
        "您的记忆数量已达上限。请先忘记一些。",
    ),
    "memory.refused.nowhere": (
        "I couldn't determine which conversation this is, so I didn't save that.",
        "我无法确定这是哪个对话，因此没有保存。",
    ),
    "memory.refused.gone": ("This memory no longer exists.", "这条记忆已不存在。"),
}

"""Every sentence of the demonstration model, in English and Chinese."""

WORDS: dict[str, tuple[str, str]] = {
    "greet": (
        "Hello{name}! I am the demonstration model of this simulator: small rules, no language model. {can}",
        "你好{name}！我是这个模拟器的演示模型：只有简单的规则，没有语言模型。{can}",
    ),
    "can": (
        "What I can show:\n"
        "- **streaming**: ask me for a long answer\n"
        "- **a tool**: the time somewhere, or the files here and what is in them\n"
        "- **this thread**: let me read it\n"
        "- **an approval**: have me post in another channel, or write a file; you decide with a button\n"
        "- **memory**: tell me something to keep about you, then ask what I know of you",
        "我可以演示：\n"
        "- **流式回答**：让我详细地讲一讲\n"
        "- **工具**：某个地方的时间，或这里的文件及其内容\n"
        "- **本消息列**：让我读一遍\n"
        "- **审批**：让我在别的频道发消息，或写一个文件，由您用按钮决定\n"
        "- **记忆**：告诉我一件要记住的事，再问我知道您什么",
    ),
    "about": (
        "I am a demonstration{name}: a small set of rules behind a real Chat Completions address, so that everything "
        "around me can be tried without an account. {can}\n\nSet `HERMES_MODEL`, with `OPENAI_API_KEY` or "
        "`OPENAI_BASE_URL`, to have a real model here.",
        "我只是演示{name}：一小组规则，放在真实的 Chat Completions 地址后面，这样无需账号也能试用其余的一切。{can}\n\n"
        "设置 `HERMES_MODEL`，以及 `OPENAI_API_KEY` 或 `OPENAI_BASE_URL`，这里就会换成真正的模型。",
    ),
    "story": (
        "Here is a longer answer, so that you can watch it arrive piece by piece.\n\n"
        "**A message comes in.** It is written down before Slack hears that it arrived, so that a crash loses nothing. "
        "Then a turn begins: what was said in the thread, what you asked to be remembered and the tools on offer go to "
        "a model, and its answer streams back as you see it now.\n\n"
        "**The model asks for a tool.** What only reads runs at once and shows as a card. What changes something, or "
        "speaks elsewhere, waits for a person: a question with buttons appears, with exactly what would be "
        "done. Nothing "
        "runs before somebody says yes.\n\n"
        "**Somebody writes meanwhile.** The message waits its turn and joins when the step is finished.\n\n"
        "**It is over.** The answer is complete here and in the books, and can be looked up later.",
        "下面是一段较长的回答，您可以看着它一点一点地出现。\n\n"
        "**消息来了。**在告诉 Slack 已经收到之前，它先被写下来，所以即使崩溃也不会丢失。"
        "然后开始一个回合：消息列里说过的话、您要求记住的事、"
        "可用的工具，一起交给模型，它的回答就像现在这样流式返回。\n\n"
        "**模型要用工具。**只读的工具立即运行，并显示为卡片；会改变东西、或在别处发言的，"
        "要等人来决定：出现一个带按钮的问题，写明将要做的事。"
        "没有人同意之前，什么也不会执行。\n\n"
        "**这时又有人说话。**新消息先等着，这一步结束后再加入。\n\n"
        "**结束。**回答在这里和记录里都是完整的，以后可以查看。",
    ),
    "thanks": ("You are welcome{name}.", "不客气{name}。"),
    "lost": (
        "I did not understand that. I am only a demonstration with a few rules, not a language model. {can}",
        "我没有听懂。我只是一个带有几条规则的演示，不是语言模型。{can}",
    ),
    "empty": ("There were no words in your message. {can}", "您的消息里没有文字。{can}"),
    "missing": (
        "For this I would need the tool `{tool}`, which is not offered to me here, so I cannot do it.",
        "这需要工具 `{tool}`，但这里没有提供给我，所以我做不到。",
    ),
    "which_file": ("Which file? Please name it, for example `notes.md`.", "哪个文件？请说出名字，例如 `notes.md`。"),
    "what_query": ("What should I look for in the files?", "要在文件里找什么？"),
    "what_content": ("What should I write into `{path}`?", "要在 `{path}` 里写什么？"),
    "which_channel": (
        "In which channel? I need its id, such as C0GENERAL, because a name alone may mean another one.",
        "在哪个频道？我需要它的 id，例如 C0GENERAL，因为只有名字可能指的是别的频道。",
    ),
    "what_message": ("What should I post in {channel}?", "要在 {channel} 发什么？"),
    "what_memory": ("What should I remember?", "要我记住什么？"),
    "what_forget": ("Which memory should I forget?", "要我忘掉哪一条记忆？"),
    "long": (
        "Your message arrived whole, with {n} characters. As a demonstration I read no more than {most}; a real model "
        "would read it all.",
        "您的消息已完整收到，共 {n} 个字符。作为演示，我最多读 {most} 个；真正的模型会全部读完。",
    ),
    # --- before a call
    "doing_time": ("Let me look at the clock.", "我看一下时间。"),
    "doing_list": ("I look into the folder.", "我看一下文件夹。"),
    "doing_read": ("I open `{path}`.", "我打开 `{path}`。"),
    "doing_search": ("I search the files for “{query}”.", "我在文件里查找“{query}”。"),
    "doing_write": ("I would write `{path}`; this may need your approval.", "我准备写入 `{path}`；这可能需要您批准。"),
    "doing_post": (
        "I would post in {channel}; this may need your approval.",
        "我准备在 {channel} 发消息；这可能需要您批准。",
    ),
    "doing_thread": ("I read this thread.", "我读一下这个消息列。"),
    "doing_remember": ("I make a note of that.", "我记一下。"),
    "doing_recall": ("I look up what I may know.", "我查一下我知道什么。"),
    "doing_forget": ("I look for that memory first.", "我先找到那条记忆。"),
    "doing_forget_one": ("I found it and forget it now.", "找到了，现在忘掉它。"),
    "doing_named": ("I call `{tool}` as you say.", "我按您说的调用 `{tool}`。"),
    # --- after a call
    "time": ("In **{zone}** it is **{time}**, {weekday}.", "**{zone}** 现在是 **{time}**，{weekday}。"),
    "listed": ("There are {n} entries in {where}:\n{lines}", "{where} 里有 {n} 项：\n{lines}"),
    "nothing_listed": ("There is nothing in {where} yet.", "{where} 里还没有任何东西。"),
    "here": ("the folder", "文件夹"),
    "file": ("`{path}` says:\n\n{quote}", "`{path}` 的内容：\n\n{quote}"),
    "file_empty": ("`{path}` is empty.", "`{path}` 是空的。"),
    "found": ("“{query}” was found in {n} places:\n{lines}", "找到 {n} 处“{query}”：\n{lines}"),
    "not_found": ("“{query}” was not found in any file.", "没有文件提到“{query}”。"),
    "written": ("Done: `{path}` is written.", "完成：`{path}` 已写入。"),
    "posted": ("Done: the message is posted in {channel}.", "完成：消息已发到 {channel}。"),
    "thread": (
        "This thread has {n} messages by {who}. The last ones:\n{lines}",
        "这个消息列有 {n} 条消息，参与者：{who}。最近的几条：\n{lines}",
    ),
    "thread_empty": ("This thread is empty.", "这个消息列是空的。"),
    "remembered": ("I will remember: {content}", "我记住了：{content}"),
    "recalled": ("This is what I know of you:\n{lines}", "关于您，我知道：\n{lines}"),
    "recalled_none": (
        "I know nothing about that yet. Tell me, and I can keep it.",
        "这方面我还什么都不知道。告诉我，我可以记下来。",
    ),
    "forgotten": ("It is forgotten.", "已经忘掉了。"),
    "forget_which": (
        "More than one memory fits; which one do you mean?\n{lines}",
        "有几条记忆符合，您指的是哪一条？\n{lines}",
    ),
    "result": ("The tool `{tool}` answered:\n\n{quote}", "工具 `{tool}` 的回答：\n\n{quote}"),
    "result_empty": ("The tool `{tool}` answered with nothing.", "工具 `{tool}` 没有返回内容。"),
    # --- when a call did not work
    "denied": (
        "All right, that was denied, so I did not do it (`{tool}`). Tell me what you would prefer.",
        "好的，这已被拒绝，所以我没有做（`{tool}`）。请告诉我您希望怎样。",
    ),
    "policy": ("I may not use `{tool}` here: {message}", "这里不允许我使用 `{tool}`：{message}"),
    "expired": (
        "Nobody decided about `{tool}` in time, so it did not happen. I can ask again.",
        "没有人及时对 `{tool}` 作出决定，所以没有执行。我可以再问一次。",
    ),
    "withdrawn": ("`{tool}` was withdrawn and did not run.", "`{tool}` 已撤回，没有执行。"),
    "awaiting": (
        "`{tool}` still waits for somebody's decision; I say so when it is made.",
        "`{tool}` 还在等人决定；有结果时我会告诉您。",
    ),
    "unknown": (
        "I cannot tell whether `{tool}` had its effect: {message}",
        "我无法确定 `{tool}` 是否已经生效：{message}",
    ),
    "failed": ("That did not work (`{tool}`): {message}", "没有成功（`{tool}`）：{message}"),
}
WEEKDAYS = {
    "Monday": "星期一",
    "Tuesday": "星期二",
    "Wednesday": "星期三",
    "Thursday": "星期四",
    "Friday": "星期五",
    "Saturday": "星期六",
    "Sunday": "星期日",
}


def say(key: str, chinese: bool, **values: object) -> str:
    """Return a sentence with its values filled in; `can` and an empty `name` are always there."""
    at = 1 if chinese else 0
    return WORDS[key][at].format(**{"can": WORDS["can"][at], "name": "", **values})

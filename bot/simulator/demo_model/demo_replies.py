"""The replies and tool calls of the demonstration model, chosen by keywords in English and Chinese. Pure."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.simulator.demo_model.demo_request import DemoRequest, ToolResult, json_object

# Example messages in English and Chinese: the page shows them as buttons. Each one needs the messages before it.
EXAMPLES = (
    ("What time is it in Tokyo?", "现在东京几点？"),
    ("Give me a long answer", "给我一个长的回答"),
    ("Remember that I prefer green tea", "请记住我喜欢绿茶"),
    ("What do you know about me?", "关于我，你知道什么？"),
    ("Forget that I prefer green tea", "忘掉我喜欢绿茶"),
    ("Post “lunch is ready” in #general", "在 #general 发消息“午饭好了”"),
    ("Write the file plan.md: buy milk", "写文件 plan.md：买牛奶"),
    ("Which files are there?", "有哪些文件？"),
    ("Search the files for “milk”", "在文件里搜索“牛奶”"),
    ("Read the file plan.md", "读文件 plan.md"),
    ("Summarize this thread", "总结一下这个消息列"),
)
CHINESE_CITIES = {
    "东京": "Tokyo", "北京": "Shanghai", "上海": "Shanghai", "伦敦": "London", "巴黎": "Paris", "柏林": "Berlin",
    "纽约": "New York", "悉尼": "Sydney",
}  # fmt: skip
FILLER_WORDS = {"in", "now", "right", "please", "the", "today"}
CHANNEL_ID = re.compile(r"\b[CG][A-Z0-9]{6,}\b", re.ASCII)
PATH = re.compile(r"[\w/-][\w./-]{0,200}\.[a-z]{1,5}\b", re.ASCII)
QUOTED = re.compile(r"[“\"「](.{1,1500})[”\"」]")
LONGEST_QUOTE = 1500  # characters
LONG_ANSWER = (
    "Here is a longer answer, so that you can watch it arrive piece by piece.\n\n"
    "**A message comes in.** Hermes stores it before it confirms it to Slack, so that a crash loses nothing. Then it "
    "sends the thread, your memories and the tools to a model, and the answer streams back as you see it now.\n\n"
    "**The model calls a tool.** A tool that only reads runs immediately. A tool that changes something waits: buttons "
    "appear with the exact arguments, and nothing runs before somebody approves.\n\n"
    "**The answer ends.** It is complete here and in the database.",
    "下面是一段较长的回答，您可以看着它一点一点地出现。\n\n**消息来了。**Hermes 先保存消息，再向 Slack 确认，所以崩溃也"
    "不会丢失。然后它把消息列、您的记忆和工具交给模型，回答就像现在这样流式返回。\n\n**模型调用工具。**只读的工具立即"
    "运行；会改变东西的工具要等待：按钮旁写明准确的参数，没有人批准就不会执行。\n\n**结束。**回答在这里和数据库里都是完整的。",
)
ERRORS = {
    "denied": ("All right, that was denied, so I did not do it.", "好的，这已被拒绝，所以我没有做。"),
    "awaiting_approval": ("Still waiting for an approval.", "正在等人批准。"),
    "unknown": ("I don't know whether it took effect.", "我无法确定它是否已经生效。"),
}
FORGET = (" forget ", "忘")
ABOUT = (
    "I am a demonstration: a small program that looks for keywords, not a language model. Try one of these:",
    "我只是演示：一个查找关键词的小程序，不是语言模型。请试试：",
)
DONE = {
    "remember": ("I will remember: {content}", "我记住了：{content}"),
    "forget": ("I asked you in a private message.", "我已私下向您确认。"),
    "post_message": ("It is posted in <#{channel}>.", "已发到 <#{channel}>。"),
    "write_file": ("`{path}` is written.", "`{path}` 已写入。"),
}
LISTS = {  # the key of the list in the data, the format of an item, and the text for an empty list
    "recall": ("", "{content}", ("I know nothing about that yet.", "这方面我还什么都不知道。")),
    "list_directory": ("entries", "`{name}`", ("There is nothing in the folder yet.", "文件夹是空的。")),
    "search_files": ("matches", "`{path}`: {text}", ("No file mentions that.", "没有文件提到它。")),
    "read_thread": ("messages", "{name}: {text}", ("This thread is empty.", "这个消息列是空的。")),
}


@dataclass(frozen=True, slots=True)
class DemoReply:
    """Text to stream, then calls as (tool, arguments)."""

    text: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()


def reply_to(request: DemoRequest) -> DemoReply:
    """Return the next reply."""
    if request.wants_json:
        return DemoReply("{}")  # it can neither summarize nor find facts
    if not request.results:
        return _act(request)
    if forget := _forget_found(request):
        return forget
    report = "\n\n".join(_in_words(result, request) for result in request.results)
    if not request.is_new_text:
        return DemoReply(report)
    more = _act(request)
    return DemoReply(f"{report}\n\n{more.text}", more.calls)


def _act(request: DemoRequest) -> DemoReply:
    tool = next((name for name in request.tools if "_" in name and name in request.text), "")
    if tool:  # a tool by its own name, such as one of an MCP server, with a JSON object of arguments
        return _call(request, tool, json_object(request.text[request.text.find("{") : request.text.rfind("}") + 1]))
    return next(act for keywords, act in ACTIONS if _has(request, keywords))(request)


def _words(text: str) -> str:
    """Return the words in lower case with one space around each, so that ` time ` is found and `sometimes` is not."""
    return f" {' '.join(''.join(c if c.isalnum() else ' ' for c in text.lower()).split())} "


def _has(request: DemoRequest, keywords: tuple[str, ...]) -> bool:
    words = _words(request.text)
    return any(keyword in words for keyword in keywords)


def _after(text: str, *keywords: str) -> str:
    """Return the text after the first keyword that it contains."""
    found = next((word for word in keywords if word in text.lower()), None)
    return text[text.lower().index(found) + len(found) :].strip(" ,:，：。.") if found else ""


def _payload(text: str) -> str:
    """Return the quoted part of a text, or what follows its colon."""
    quoted = QUOTED.search(text)
    return quoted[1] if quoted else text.replace("：", ":").partition(":")[2].strip()


def _call(request: DemoRequest, tool: str, *arguments: Mapping[str, Any]) -> DemoReply:
    if tool not in request.tools:
        return DemoReply(request.say(f"I do not have the tool `{tool}` here.", f"这里没有工具 `{tool}`。"))
    text = request.say(f"Using the tool `{tool}`.", f"使用工具 `{tool}`。")
    return DemoReply(text, tuple((tool, one) for one in arguments))


def _time(request: DemoRequest) -> DemoReply:
    parts = _words(request.text).partition(" in ")[2].replace(" and ", " in ").split(" in ")
    cities = [" ".join(word for word in part.split() if word not in FILLER_WORDS) for part in parts]
    cities += [city for name, city in CHINESE_CITIES.items() if name in request.text]
    return _call(request, "current_time", *([{"timezone": city} for city in cities if city][:5] or [{}]))


def _remember(request: DemoRequest) -> DemoReply:
    fact = _after(request.text, "remember that", "remember", "记住", "记下")
    if not fact:
        return DemoReply(request.say("What should I remember?", "要我记住什么？"))
    kind = "preference" if _has(request, (" prefer ", " like ", " love ", "喜欢")) else "fact"
    return _call(request, "remember", {"content": fact, "type": kind})


def _forget_found(request: DemoRequest) -> DemoReply | None:
    """Return the second step of forgetting: forget the one memory that was found, or ask which."""
    result = request.results[0]
    if result.tool != "recall" or result.error or not result.data or not _has(request, FORGET):
        return None
    if len(result.data) > 1:
        found = [f"{memory['content']} ({memory['id']})" for memory in result.data]
        return DemoReply("\n- ".join([request.say("Which one should I forget?", "要我忘掉哪一条？"), *found]))
    return _call(request, "forget", {"id": result.data[0]["id"]})


def _post(request: DemoRequest) -> DemoReply:
    channel, text = CHANNEL_ID.search(request.text), _payload(request.text)
    return (
        _call(request, "post_message", {"channel": channel[0], "text": text}) if channel and text else _hint(request, 5)
    )


def _write(request: DemoRequest) -> DemoReply:
    path, text = PATH.search(request.text), _payload(request.text)
    return _call(request, "write_file", {"path": path[0], "content": text}) if path and text else _hint(request, 6)


def _hint(request: DemoRequest, example: int) -> DemoReply:
    return DemoReply(request.say("Say it like this: ", "请这样说：") + request.say(*EXAMPLES[example]))


def _read_or_list(request: DemoRequest) -> DemoReply:
    path = PATH.search(request.text)
    return _call(request, "read_file", {"path": path[0]}) if path else _call(request, "list_directory", {})


# The first action with a keyword in the text is taken; the empty keyword is in every text.
ACTIONS: tuple[tuple[tuple[str, ...], Callable[[DemoRequest], DemoReply]], ...] = (
    (FORGET, lambda r: _call(r, "recall", {"query": _after(r.text, "forget that", "forget", "忘掉", "忘")})),
    ((" know about me ", " do you remember ", "关于我", "记得我"), lambda r: _call(r, "recall", {"query": r.text})),
    ((" remember ", "记住", "记下"), _remember),
    ((" post ", " announce ", "发消息", "发到"), _post),
    ((" write ", " save ", "写"), _write),
    ((" search ", " find ", "搜索", "查找"), lambda r: _call(r, "search_files", {"query": _payload(r.text) or r.text})),
    ((" thread ", " conversation ", "消息列", "对话"), lambda r: _call(r, "read_thread", {})),
    ((" long ", " story ", " stream ", "长的", "详细"), lambda r: DemoReply(r.say(*LONG_ANSWER))),
    ((" file ", " files ", " folder ", " read ", " open ", "文件"), _read_or_list),
    ((" time ", " clock ", "几点", "时间"), _time),
    ((" thanks ", " thank you ", "谢谢"), lambda r: DemoReply(r.say("You are welcome.", "不客气。"))),
    (("",), lambda r: DemoReply("\n- ".join([r.say(*ABOUT), *(r.say(*sentences) for sentences in EXAMPLES)]))),
)


def _in_words(result: ToolResult, request: DemoRequest) -> str:
    if result.error:
        code, message = result.error["code"].removeprefix("outcome_"), result.error["message"]
        failed = (f"That did not work: {message}", f"没有成功：{message}")
        return f"{request.say(*ERRORS.get(code, failed))} (`{result.tool}`)"
    try:
        if result.tool == "current_time":
            zone, moment = result.data["timezone"], datetime.fromisoformat(result.data["time"])
            chinese = f"{zone} 现在是 **{moment:%H:%M}**，星期{'一二三四五六日'[moment.weekday()]}。"
            return request.say(f"In {zone} it is **{moment:%H:%M}**, {moment:%A}.", chinese)
        if result.tool in DONE:
            return request.say(*DONE[result.tool]).format(**result.arguments)
        if result.tool in LISTS:
            key, line, nothing = LISTS[result.tool]
            lines = [line.format(**item) for item in (result.data[key] if key else result.data)]
            lines += [memory for memory in request.memories if result.tool == "recall" and memory not in lines]
            return (
                "\n- ".join([request.say("I found:", "我找到了："), *lines[-15:]]) if lines else request.say(*nothing)
            )
    except (KeyError, TypeError, ValueError):  # not the usual form of this tool's result
        pass
    return request.say(f"`{result.tool}` returned:\n", f"`{result.tool}` 返回：\n") + _quote(result.data)


def _quote(data: Any) -> str:
    text = data.get("text") if isinstance(data, dict) else data
    text = text if isinstance(text, str) else json.dumps(data, ensure_ascii=False, indent=1)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}\n{text[:LONGEST_QUOTE]}\n{fence}"

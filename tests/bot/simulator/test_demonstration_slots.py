"""Arguments are found where people put them."""

from collections.abc import Callable

import pytest

from bot.simulator import demonstration_slots as slots
from bot.simulator.demonstration_places import zones

CASES: dict[Callable[[str], object], dict[str, object]] = {
    zones: {
        "what's the time in Tokyo and in são paulo?": ["Asia/Tokyo", "America/Sao_Paulo"],
        "北京现在几点": ["Asia/Shanghai"],
        "time in America/Argentina/Buenos_Aires": ["America/Argentina/Buenos_Aires"],
        "what time is it in Ulaanbaatar right now": ["Ulaanbaatar"],
        "what time is it": [],
        "how late is it in the US Eastern time zone": ["America/New_York"],
        "see #paris at noon": [],
    },
    slots.file_name: {
        "what's in notes.md (http://notes.md)?": "notes.md",
        "see https://example.com/a.txt now": "",
        "read plans/q3.txt": "plans/q3.txt",
        "version 2.3 and e.g. this": "",
        "打开notes.md吧": "notes.md",
        "请打开报告.txt": "报告.txt",
    },
    slots.folder: {
        "what's in the reports folder?": "reports",
        "list the folder reports": "reports",
        "have a look around the directory": "",
        "which files are in the folder": "",
        "显示 reports/2026 文件夹": "reports/2026",
    },
    slots.channel: {
        "in #general (C0GENERAL) now": "C0GENERAL",
        "to <#C0QUIET|quiet>": "C0QUIET",
        "#random please": "#random",
        "发到C0GENERAL吧": "C0GENERAL",
        "see &#39; GENERAL": "",
    },
    slots.content: {
        "jot down 'buy milk' into shopping.txt": "buy milk",
        "新建一个文件 todo.txt，内容是：买牛奶": "买牛奶",
        "Create plan.md with the text ship on Friday": "ship on Friday",
        "save to notes.txt: eggs, see https://x.example/a": "eggs, see https://x.example/a",
        "save the list eggs and flour into notes.txt": "the list eggs and flour",
        "把会议改到三点写到 notes.txt 里": "会议改到三点",
        "create a file called x.txt": "",
    },
    slots.message: {
        "let #general know lunch is ready": "lunch is ready",
        "Post to #random (C0RANDOM): standup moved": "standup moved",
        "tell <#C0QUIET|quiet> that deploy is done": "deploy is done",
        "send good morning to #general": "good morning",
        'post "hi all" in #general': "hi all",
        "announce in #general that we ship today, please": "we ship today",
        "Could you share the following with C0GENERAL: doors open at 9": "doors open at 9",
        "post a message in #general": "",
        "在 #general 里通知大家会议改到三点": "会议改到三点",
        "把“大家好”发到 #general": "大家好",
        "告诉 #general 明天放假": "明天放假",
    },
    slots.query: {
        "find every mention of budget in the documents": "budget",
        "where in the files is the word invoice": "invoice",
        'search the files for "Q3 plan"': "Q3 plan",
        "look for invoice across all folders": "invoice",
        "哪个文件提到了预算？": "预算",
        "搜索合同": "合同",
    },
    slots.memory: {
        "Keep in mind that I'm vegetarian": "I'm vegetarian",
        "from now on call me Captain": "Call me Captain",
        "Can you remember that I like tea?": "I like tea",
        "I prefer short answers, please remember that": "I prefer short answers",
        "my name is Ana": "My name is Ana",
        "别忘了我对花生过敏": "我对花生过敏",
        "remember": "",
        "please remember this": "",
    },
    slots.memory_type: {"Call me Captain": "identity", "I prefer tea": "preference", "My train leaves at 8": "fact"},
    slots.about: {"do you still know my favourite colour?": "favourite colour", "你还记得我喜欢什么吗": "喜欢"},
}


@pytest.mark.parametrize(
    ("find", "text", "wanted"), [(find, text, wanted) for find, said in CASES.items() for text, wanted in said.items()]
)
def test_an_argument_is_found_where_people_put_it(find: Callable[[str], object], text: str, wanted: object) -> None:
    assert find(text) == wanted

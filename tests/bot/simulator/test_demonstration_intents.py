"""The demonstration model understands people in words that are not its own examples, and admits what it does not."""

import pytest

from bot.simulator.demonstration_intents import recognise
from bot.simulator.demonstration_slots import plain
from tests.bot.simulator import phrasings

SAID = {
    "time": [
        "Is my colleague in Sydney still awake?",
        "clock check for New York please",
        "Berlin - already evening over there?",
        "Any idea how late it is?",
        "what weekday do we have",
        "伦敦那边天黑了吗",
        "报个时",
        "请问首尔当地的时刻是？现在",
    ],
    "list": [
        "Which documents do we have?",
        "have a peek into the reports folder",
        "what's lying around in the directory?",
        "目录里都有哪些东西？",
        "资料夹里面有什么文件",
    ],
    "read": [
        "Could you open plans/q3.txt for me",
        "recite haiku.md",
        "把 notes.md 的内容念给我听",
        "budget.csv, what's inside?",
    ],
    "search": [
        "find every mention of budget in the documents",
        "where in the files is the word invoice",
        "哪个文件提到了预算？",
        "在资料里搜一搜合同",
    ],
    "write": [
        "jot down 'buy milk' into shopping.txt",
        "I'd like you to produce a file haiku.md containing an old pond",
        "新建一个文件 todo.txt，内容是：买牛奶",
        "把会议改期存到 log.txt",
    ],
    "post": [
        "let #general know lunch is ready",
        "Could you drop a line in C0GENERAL: doors open at 9",
        "tell <#C0QUIET|quiet> that the deploy is done",
        "在 #general 里通知大家会议改到三点",
        "转告 #random 明天放假",
    ],
    "thread": [
        "catch me up, I was away",
        "what did people discuss here so far?",
        "give me a recap of the conversation",
        "回顾一下刚才的讨论",
        "我错过了什么",
    ],
    "remember": [
        "Keep in mind that I'm vegetarian",
        "from now on call me Captain",
        "Don't forget: my train leaves at 8",
        "I always take the early train, make a note",
        "Can you remember that I like tea?",
        "别忘了我对花生过敏",
        "以后称呼我老王",
    ],
    "recall": [
        "do you still know my favourite colour?",
        "have I ever told you where I live?",
        "Who am I to you? What's my role?",
        "what have you learnt about me",
        "你还记得我喜欢什么吗",
        "说说你对我的了解，关于我的一切",
    ],
    "forget": [
        "forget my coffee preference",
        "please erase what you know about my diet from memory",
        "忘掉我的咖啡偏好",
    ],
    "about": [
        "what could you do for us?",
        "What sort of capabilities have you got",
        "introduce yourself",
        "你会些什么",
        "怎么用你",
    ],
    "story": [
        "tell me a long story",
        "I want to see streaming",
        "Please explain in detail how approvals work",
        "详细讲讲",
    ],
    "greet": [
        "Howdy!",
        "good morning hermes",
        "嗨",
    ],
    "thanks": [
        "much appreciated",
        "辛苦了",
    ],
}
CASES = [(text, intent) for said in (SAID, phrasings.SAID) for intent, texts in said.items() for text in texts]

STRANGE = [
    "What is the weather in Tokyo?",
    "Book me a flight to Paris",
    "Translate this into French",
    "blorp the fnord",
    "2+2?",
    "Why is the sky blue",
    "How can I fly?",
    "👍",
    "量子力学的解释",
    "明天会下雨吗",
]


@pytest.mark.parametrize(("text", "intent"), CASES)
def test_a_wish_is_recognised_in_words_of_ones_own(text: str, intent: str) -> None:
    assert (recognise(plain(text)) or recognise(text)) == intent


@pytest.mark.parametrize("text", [*STRANGE, *phrasings.STRANGE])
def test_what_it_cannot_do_is_not_taken_for_something_it_can(text: str) -> None:
    assert recognise(plain(text)) is None

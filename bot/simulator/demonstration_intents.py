"""What a person wants, recognised by the concepts in their words. Small and honest: below the threshold it is nothing.

Each intent is a list of concepts with a weight. A concept counts once, however often it is met, so that synonyms and
word order do not matter; an intent needs two points.
"""

import re
from typing import Literal

from bot.simulator.demonstration_places import names_a_place

Intent = Literal[
    "time",
    "list",
    "read",
    "search",
    "write",
    "post",
    "thread",
    "remember",
    "recall",
    "forget",
    "about",
    "story",
    "greet",
    "thanks",
]
Concept = tuple[float, str]

_BEFORE, _AFTER = r"(?<![A-Za-z0-9_/@.:&-])", r"(?![A-Za-z0-9_])"
FILE_NAME = (
    rf"{_BEFORE}(?:[A-Za-z0-9_-]+/)*[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.[A-Za-z][A-Za-z0-9]{{1,4}}{_AFTER}(?!\.\w|/)"
    r"|[\u4e00-\u9fff]{1,12}\.(?:txt|md|csv|json|yaml)\b"
)
CHANNEL = (
    rf"<#[A-Z0-9]+(?:\|[^>]*)?>|{_BEFORE}#(?:[A-Za-z0-9_-]+|[\u3400-\u9fff]+)(?: \([CG][A-Z0-9]+\))?"
    rf"|{_BEFORE}[CG](?=[A-Z]*[0-9])[A-Z0-9]{{7,10}}{_AFTER}"
)
ABOUT_ME = r"(?<!tell )(?<!show )(?<!give )(?<!let )(?<!remind )\bme\b|\b(?:my|mine|i|i'm|i've)\b|我"
PLACE, NAMED, CHANNELS = "(place)", FILE_NAME, CHANNEL

CONCEPTS: dict[Intent, list[Concept]] = {
    "time": [
        (2, r"\b(?:which|what|today) (?:\w+ )?(?:date|day)\b(?!.{0,20}\b(?:born|release|due|deadline|start|end)\b)"),
        (2, r"现在.{0,3}时候"),
        (-1.5, r"\b(?:was|were|went|last|yesterday|been|had)\b|昨|上次|去过"),
        (2, r"\b(?:what|tell|current|local|exact|right|the|got|know|is)\b.{0,12}\b(?:time|hour)\b(?! (?:ago|off"
            r"|sheet))"),
        (2, r"\btime\b.{0,16}\b(?:is it|now|there|in|here|zone|right now|please)\b|\btime\?|\bo'?clock\b|\bclock\b"),
        (2, r"\b(?:late|early) (?:is it|it is)\b|\bwhat(?:'s| is)? ?(?:the )?(?:day|date|weekday)\b|\b(?:which"
            r"|what) (?:week)?day\b"),
        (2, r"\b(?:today'?s|current) date\b|\bdate (?:is it |today)"),
        (2, r"几点|钟点|什么时候了|什么时间|(?:现在|当前|当地|本地).{0,6}(?:时间|时刻)|时间是|报个?时|星期几|周几"
            r"|礼拜几|几号|日期|几时"),
        (1, r"\b(?:time|hour|now|currently|morning|night|evening|noon|midnight|dawn|dark|awake|asleep|sleeping|bed)\b"),
        (1, r"时间|现在|这会儿|此刻|早上|晚上|白天|黑夜|半夜|凌晨|睡|天亮|天黑"),
        (1, PLACE),
    ],
    "list": [
        (2, r"^\W*(?:ls|dir)\b"),
        (1, r"\b(?:files?|folders?|director(?:y|ies)|documents?|docs|paperwork|workspace contents)\b|文件|文件夹"
            r"|目录|文档|资料"),
        (1, r"\b(?:list|show|see|what|which|any|have|has|got|exist|exists|inside|contain|contains|contents|there"
            r"|browse)\b"),
        (1, r"\b(?:ls|dir|overview|enumerate|look (?:at|in|into|through|around)|peek)\b"),
        (1, r"列|有哪些|有什么|看看|看一下|显示|浏览|里面|都有|哪些|几个|清单"),
    ],
    "read": [
        (1, r"\b(?:the|this|that) (?:file|document)\b(?! ?(?:folder|director))|[这那]个(?:文件|文档)"),
        (2, NAMED),
        (1, r"\b(?:read|open|view|show|display|print|cat|say|says|contents?|inside|in|see|quote|recite|load|look)\b"),
        (1, r"\b(?:written|stands|summari[sz]e)\b|读|打开|看|显示|内容|写了什么|念|里面|查看"),
    ],
    "search": [
        (2, r"\b(?:search|grep)\b|搜|哪个文件"),
        (1, r"\b(?:find|locate|look(?:ing)? (?:up|for)|hunt|scan|where)\b|查找|找"),
        (1, r"\b(?:mention(?:s|ed|ing)?|word|phrase|term|occurrences?)\b|提到|包含|关键词"),
        (1, r"\b(?:files?|folders?|documents?|docs)\b|文件|文件夹|目录|文档|资料"),
    ],
    "write": [
        (1, rf"\b(?:into|to|in) (?:the |a )?(?:{FILE_NAME})"),
        (1.5, r"\b(?:write|save|create|make|put|store|jot|note down|log|drop|draft|record|dump|overwrite|generate|add"
              r"|produce)\b"),
        (1.5, r"写(?!了)|保存|创建|新建|建一?个|存|记到|写入|生成|做一?个"),
        (1.5, NAMED),
        (1, r"\b(?:an?|new|text|this|into|to|as) (?:\w+ )?(?:file|document)\b|(?:一个|新|个|到)(?:文本)?(?:文件|文档)"),
    ],
    "post": [
        (1, rf"(?:{CHANNEL})\s*[:：]\s*\S"),
        (1, CHANNELS),
        (1, r"\b(?:channel|everyone in|the team in)\b|频道|群里"),
        (1.5, r"\b(?:post|send|tell|announce|share|publish|notify|inform|message|say|drop|forward|ping|broadcast"
              r"|hear|put|greet|remind|warn|invite|let|write)\b"),
        (1.5, r"发|通知|告诉|转告|宣布|公布|说一声|说一下|转发|广播|告知"),
    ],
    "thread": [
        (1, r"\b(?:said|decided|agreed|told|going on)\b"),
        (2, r"\b(?:gist|who said what)\b|\bwhat(?:'s| has| is)? (?:been )?(?:going on|happening"
            r"|up)\b.{0,8}\b(?:here|thread)\b"),
        (1, r"\b(?:thread|conversation|discussion|chat|messages?|talk|talking|talked|discuss(?:ed|ing)?)\b"),
        (1, r"线程|消息列|话题|对话|讨论|聊|消息|讨论串"),
        (1, r"\b(?:read|earlier|above|so far|before|back|happened|happening|history|previous|over|decided|agreed"
            r"|here)\b"),
        (1, r"上面|刚才|之前|前面|到目前|至今|回顾|读|说了|聊了|讲了|过程|看看"),
        (2, r"\b(?:recap|summar(?:y|ise|ize)|tl;?dr|catch me up|bring me up to speed|fill me in|missed"
            r"|sum(?:med)? up)\b"),
        (2, r"\bwhat (?:did|have|has|was|were) (?:we|they|people|everyone|everybody|\w+) (?:been )?(?:say|said"
            r"|discuss|talk)"),
        (2, r"总结|概括|归纳|说了些?什么|聊了些?什么|讨论了些?什么|错过"),
    ],
    "remember": [
        (2, r"\b(?:in|into|to) (?:your )?memory\b|\bfor the record\b"),
        (2, r"记一下|以后.{0,3}(?:用|都|别|不要|叫)|从现在起"),
        (2, r"\b(?:remember|memori[sz]e|keep in mind|bear in mind|(?:don'?t|never|not) forget|for future reference)\b"),
        (2, r"\b(?:make a (?:mental )?note|take note|note that|from now on|store the fact|save the fact|learn that)\b"),
        (2, r"\b(?:please )?call me\b|\bmy (?:\w+ )?name is\b|\bi go by\b|\bi(?:'d)? (?:prefer|always"
            r"|like it when|never)\b"),
        (2, r"记住|记下|请记|记着|牢记|别忘|不要忘|以后(?:请)?(?:叫|称呼)|叫我|我(?:更)?(?:喜欢|偏好|习惯)"
            r"|我的名字(?:是|叫)|我叫(?!什么)"),
        (-3, r"\b(?:what|do|did|does|can|could) (?:do |did )?you (?:still |actually )?(?:remember"
             r"|memori[sz]e)(?! (?:that|to|this)\b)"),
        (-3, r"还记得|记得(?:我|什么)|记住了(?:什么|哪些)|^什么"),
    ],
    "recall": [
        (2, r"我.{0,4}(?:说过|讲过|提过)"),
        (1, r"\byou (?:still )?(?:know|remember|recall)\b|\bi (?:tell|told|ask|asked|say|said)\b"),
        (2, r"我的.{1,8}(?:是什么|是多少|是谁|在哪|什么时候|哪)"),
        (1, r"\b(?:know|remember|recall|told|memor(?:y|ies)|learn(?:ed|t)?|stored|kept|saved|noted|mention(?:ed)?)\b"),
        (0.5, r"\b(?:what|which|who|anything|something|everything|do you|did i|have i|list|show|tell|where|when"
              r"|how)\b"),
        (0.5, ABOUT_ME),
        (2, r"\bwho am i\b|\b(?:what|when|where|which|who)(?:'s| is| are| was) my\b|\bmy (?:memories"
            r"|preferences?|profile)\b"
            r"|\bremind me (?:wh|of|how)"),
        (2, r"还记得|记得我|记得什么|我是谁|我叫什么|我的名字是什么|了解我|知道我|记住了(?:什么|哪些)|关于我"
            r"|我的(?:偏好|喜好|记忆)|我喜欢什么|我说过"),
        (-1.5, rf"^(?!.*(?:{ABOUT_ME}|memor|remember|记)).*$"),
    ],
    "forget": [
        (2, r"\b(?:delete|erase|remove|wipe|clear)\b.{0,40}\b(?:memor|know|remember|told)|(?:删|清除"
            r"|抹).{0,12}记忆|记忆.{0,6}(?:删|清除|抹)"),
        (2, r"(?<!n't )(?<!not )(?<!never )\bforget\b|\bunlearn\b|忘记|忘掉|忘了(?:我|吧|这)"),
        (1, r"\b(?:delete|erase|remove|drop|wipe|clear)\b|删除|删掉|清除|抹掉"),
        (1, r"\bmemor(?:y|ies)\b|\b(?:know|remember|told you|stored)\b|记忆|记住的"),
        (-3, r"(?:别|不要|请勿|没)忘"),
    ],
    "about": [
        (2, r"\bare you (?:an? |really |just )*(?:\w+ )?(?:ai|model|bot|robot|human|real|person|machine|alive)\b"),
        (2, r"\b(?:what|which) (?:tools|features|skills|functions)\b.{0,8}\byou\b"),
        (2, r"你(?:是|到底).{0,5}(?:AI|真|机器|模型|人)|(?:什么|哪些)(?:工具|技能)|帮我做(?:什么|些)|能做(?:什么|些)"),
        (2, r"\b(?:who|what) (?:\w+ )?(?:are|might|would) you\b|\bwhat'?s your (?:name|purpose|job)\b"
            r"|\bintroduce yourself\b"
            r"|\byour name\b"),
        (2, r"\b(?:what|things|anything|stuff).{0,12}\b(?:can|could|do|able)\b.{0,6}\byou\b.{0,16}\b(?:do|help"
            r"|offer|show|able)\b"),
        (2, r"\byou (?:can|could|able to) do\b|\bcapabilit|\b(?:your|which) (?:skills|features|abilities|tools"
            r"|powers)\b|\bhelp\b"),
        (2, r"\bhow (?:do|does|can|should) (?:you|this|i use|it|hermes)\b|\btell me about (?:yourself|you)\b"
            r"|\bwhat is (?:this|hermes)\b"),
        (2, r"你是谁|你是什么|你能|你会|你可以做|能做|会做什么|有什么(?:功能|本事|能力)|帮助|介绍|怎么用|干什么"
            r"|干嘛|帮忙"),
    ],
    "story": [
        (2, r"\bhow (?:do|does|are|is) (?:the |your )?(?:approvals?|memor(?:y|ies)|tools?|streaming)\b|(?:长|详细)的"),
        (2, r"\b(?:long|longer|detailed|lengthy) (?:answer|reply|text|explanation|message|story)\b|\bstor(?:y"
            r"|ies)\b|\bstream(?:ing)?\b"),
        (2, r"\b(?:explain|describe|elaborate)\b.{0,30}\b(?:approval|memor|stream|work|yourself|tools?)\b"
            r"|\bessay\b|\bin detail\b"),
        (2, r"故事|流式|长(?:一点|回答|文)|详细(?:说|讲|介绍|解释)"),
    ],
    "greet": [(2, r"^\W*(?:hi|hello|hey|howdy|greetings|good (?:morning|afternoon|evening)|yo)\b.{0,24}$"
                  r"|^\W*(?:你好|您好|嗨|早上好|早安|晚上好|大家好)")],
    "thanks": [(2, r"\b(?:thanks|thank you|thx|cheers|much appreciated|great job|well done)\b|谢谢|谢[啦了]|多谢"
                   r"|感谢|辛苦")],
}  # fmt: skip
_COMPILED = {
    intent: [(weight, concept if concept == PLACE else re.compile(concept, re.IGNORECASE)) for weight, concept in found]
    for intent, found in CONCEPTS.items()
}
# Equal points go to the earlier: what has a side effect or an object of its own before what is vague.
ORDER: tuple[Intent, ...] = (
    "forget", "post", "remember", "write", "search", "read", "recall", "time", "thread", "story", "about", "list",
    "thanks", "greet",
)  # fmt: skip
THRESHOLD = 2.0


def scores(text: str) -> dict[Intent, float]:
    """Return the points of each intent."""
    found: dict[Intent, float] = {}
    for intent, concepts in _COMPILED.items():
        found[intent] = sum(w for w, c in concepts if (names_a_place(text) if isinstance(c, str) else c.search(text)))
    return found


def recognise(text: str) -> Intent | None:
    """Return what a person most likely wants, None when no intent is clear."""
    points = scores(text)
    best = max(ORDER, key=lambda intent: points[intent])
    return best if points[best] >= THRESHOLD else None

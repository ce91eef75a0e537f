"""What a person's words say about a call's arguments: files, channels, texts, queries."""

import re

from bot.simulator.demonstration_intents import CHANNEL, FILE_NAME

QUOTED = re.compile(r"“([^”]+)”|「([^」]+)」|\"([^\"]+)\"|`+([^`]+)`+|(?<!\w)'([^']+)'(?!\w)|‘([^’]+)’")
LINKED = re.compile(r"(\S+) \(https?://\1/?\)")  # Slack takes notes.md for an address
FOLDER = re.compile(
    r"\b(?:in|into|inside|of|from|under|at|through)\s+(?:the\s+|my\s+"
    r"|our\s+)?[`'\"]?([\w./-]+)[`'\"]?\s+(?:folder|directory|dir)\b"
    r"|\b(?:folder|directory|dir)\s+(?:called |named )?[`'\"]?([\w-][\w./-]*)(?<!\.)[`'\"]?(?=[\s?.!]"
    r"|$)(?!\s+(?:contain|hold|have|has|there|is))"
    r"|([A-Za-z0-9_./-]+)\s*(?:目录|文件夹)",
    re.IGNORECASE,
)
NO_FOLDER = frozenset(
    """
    the my our workspace this that a your is for please contents listing and with here there now what working
    current whole root shared
    """.split()  # noqa: SIM905 - a list literal would take a line for each
)
POLITE = re.compile(
    r"^(?:(?:hey|hi|hello|ok|okay|so|well|hermes|please|pls|kindly|also|and|then)\b[\s,:!]*"
    r"|(?:can|could|would|will) you(?: please| kindly)?\s+|i(?:'d| would) like you to\s+|i want you to\s+|请你?"
    r"|麻烦(?:你|您)?|帮我)+",
    re.IGNORECASE,
)
TAIL = re.compile(
    r"[\s,，]*(?:,? please|,? thanks?|,? thank you|for me|谢谢|好吗|可以吗|吧)?\s*[.。!！?？]*\s*$", re.IGNORECASE
)
COLON = re.compile(r"(?<!https)(?<!http)[:：](?!//)\s*(?=\S)")

CONTENT_AFTER = re.compile(
    r"\b(?:that (?:says|reads)|saying|reading|containing|with (?:the )?(?:text|contents?|words?|line)s?|with)\s+(.+)$"
    r"|(?:内容(?:是|为|写)?|写上|写着|写道)\s*(.+)$",
    re.IGNORECASE | re.DOTALL,
)
CONTENT_BEFORE = re.compile(
    r"\b(?:write|save|put|drop|store|jot(?: down)?|note(?: down)?|record|dump|add|draft)\s+(?:down\s+)?(.+?)\s+(?:in"
    r"|into|to|as|inside|under)\s+.*$"
    r"|[把将](.+?)(?:写|存|保存|记)",
    re.IGNORECASE | re.DOTALL,
)
POST_AFTER = re.compile(
    r"^\W*(?:should |must |may )?(?:know|knows|hear|learn|everyone|everybody|people|all|the team|us)?\s*(?:that"
    r"|know that|know|about the fact that"
    r"|saying)?\b[\s,:]*",
    re.IGNORECASE,
)
POST_VERB = re.compile(
    r"\b(?:post|send|tell|announce|share|publish|notify|inform|message|say|drop|forward|ping|broadcast|let|write)\b"
    r"(?:\s+(?:a|the|this|following|short|quick|message|note|word|update|out)\b)*\s*",
    re.IGNORECASE,
)
POST_FILLER = re.compile(
    r"^(?:(?:a|the)?\s*(?:message|note|word)\s*)?(?:that|saying|which says)\s+|^(?:一条|一个)?(?:消息|通知"
    r"|信息)?(?:说|：|:|，|,)?\s*",
    re.IGNORECASE,
)
ZH_POST_VERB = re.compile(
    r"(?:发送|发布|发|通知|告诉|转告|宣布|公布|说一声|说一下|转发|广播|告知|说)(?:一条|一个|个|条)?(?:消息"
    r"|信息)?(?:给?大家|所有人|他们)?(?:说)?[，,：:\s]*"
)
SCOPE = r"(?:\s+(?:in|inside|within|across|among|anywhere|throughout)\b.*)?$"
QUERIES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:word|phrase|term)\s+(.+?)" + SCOPE,
        r"\b(?:mention(?:s|ed|ing)?|contain(?:s|ing)?|about)\s+(?:of\s+)?(.+?)" + SCOPE,
        r"\b(?:for)\s+(.+?)" + SCOPE,
        r"\b(?:find|search|locate|grep|scan|hunt)\s+(?:for\s+)?(.+?)" + SCOPE,
        r"(?:提到了?|包含|关于|含有)\s*(.+?)(?:的?(?:文件|文档|资料).*)?$",
        r"(?:搜索|搜|查找|找一?下?)\s*(.+?)(?:的?(?:文件|文档|资料).*)?$",
    )
)
ZH_FILE_VERB = re.compile(
    r"^.*(?:打开|读取|读|查看|看看|看一下|看|显示|把|将|到|叫|名为|文件|新建|创建|写|在|里|个)(?=[\u4e00-\u9fff])"
)
REMEMBER_LEAD = re.compile(
    r"^.*?(?:\b(?:remember|memori[sz]e|keep in mind|bear in mind|(?:don'?t|never|not) forget"
    r"|make a (?:mental )?note|take note"
    r"|note that|you should know|for the record|(?:store|keep|put) (?:it )?(?:in|into) (?:your )?memory"
    r"|for future reference|learn that|store the fact|save the fact|from now on)\b(?:\s+(?:that|this"
    r"|of this|about me|for me))*"
    r"|记住|记一下|记下来?|请?记着|牢记|(?:别|不要)忘了?|记得)[\s,:：，]*",
    re.IGNORECASE | re.DOTALL,
)
REMEMBER_TRAIL = re.compile(
    r"[\s,，.;。-]*(?:and |so |but )?(?:please )?\b(?:remember|memori[sz]e|keep|bear|don'?t forget|note|from now on"
    r"|for future reference)\b[^,，.]{0,24}$|[\s,，.;。]*(?:请|帮我)?(?:记住|记下|记一下|别忘)[^,，.。]{0,8}$",
    re.IGNORECASE,
)
STOP = re.compile(
    r"\b(?:what|which|who|where|when|how|do|does|did|you|still|know|remember|recall|about|me|my|i|i've|have|has"
    r"|ever|told|tell|the|a|an|is"
    r"|are|was|were|can|could|please|anything|something|everything|of|that|to|again|forget|delete|erase|remove"
    r"|memor(?:y|ies)|stored|it|all|s"
    r"|your|from|wipe|ask(?:ed)?|things?|got|think|am|mention(?:ed)?|show|list|remind|mine|learned|kept|saved"
    r"|and)\b|[？?！!。.,，'’]|你|还|我|记得|记住|知道|什么|吗|的|关于"
    r"|了|是|呢|哪些|忘记|忘掉|忘|吧|这|请|跟|把|多少|了解|删掉?|记忆|说过|删除|叫",
    re.IGNORECASE,
)  # fmt: skip


def plain(text: str) -> str:
    """Return the words without Slack's marks around file names and without polite beginnings and ends."""
    return TAIL.sub("", POLITE.sub("", LINKED.sub(r"\1", text.strip()))).strip()


def quoted(text: str) -> str:
    """Return what stands in quotation marks, the longest of it."""
    return max(("".join(groups) for groups in QUOTED.findall(text)), key=len, default="")


def file_name(text: str) -> str:
    """Return the file that a text names, empty when it names none."""
    found = re.search(FILE_NAME, LINKED.sub(r"\1", text), re.IGNORECASE)
    return ZH_FILE_VERB.sub("", found.group()) if found else ""


def folder(text: str) -> str:
    """Return the folder that a text names, empty for none."""
    for groups in FOLDER.findall(text):
        name = next((g for g in groups if g), "")
        if name.lower() not in NO_FOLDER:
            return str(name).strip("/")
    return ""


def channel(text: str) -> str:
    """Return the id of the channel that a text names, else its #name, else nothing."""
    found = re.search(CHANNEL, text)
    if found is None:
        return ""
    identity = re.search(r"[CG][A-Z0-9]{5,}", found.group())
    return identity.group() if identity else found.group()


def content(text: str) -> str:
    """Return what shall be written to a file, empty when it is not said."""
    said = plain(text)
    if found := _last(COLON, said):
        return said[found.end() :].strip()
    if inside := quoted(said.replace(file_name(said) or "\0", "")):
        return inside
    for pattern in (CONTENT_AFTER, CONTENT_BEFORE):
        if found := pattern.search(said):
            chosen = next(g for g in found.groups() if g).strip()
            if (
                chosen
                and chosen != file_name(said)
                and not re.fullmatch(r"(?:a|the|an)?\s*(?:new\s+)?(?:text\s+)?file.*", chosen)
            ):
                return chosen
    return ""


def message(text: str) -> str:
    """Return what shall be posted, empty when it is not said."""
    said = plain(text)
    place = re.search(CHANNEL, said)
    if place is None:
        return quoted(said)
    after, before = said[place.end() :], said[: place.start()]
    if found := COLON.search(after):
        return after[found.end() :].strip()
    if inside := quoted(said):
        return inside
    if found := COLON.search(before):
        return re.sub(r"\s+(?:in|to|into|on|at|for)\s*(?:the\s*)?$", "", before[found.end() :]).strip()
    rest = re.sub(r"^\s*(?:channel|频道)?(?:里|中|上)?(?:面)?", "", after).strip(" ,，")
    if found := ZH_POST_VERB.search(rest):
        return rest[found.end() :].strip()
    if rest := POST_FILLER.sub("", POST_AFTER.sub("", rest)).strip():
        return rest
    if found := POST_VERB.search(before):
        before = before[found.end() :]
    before = re.sub(r"^[把将]", "", before.strip())
    before = re.sub(r"\s*(?:发送|发布|发|转发)?(?:到|给|in|to|into|on|at|with|over to)\s*(?:the\s*)?$", "", before)
    return POST_FILLER.sub("", before).strip(" ,，")


def query(text: str) -> str:
    """Return what is looked for in files, empty when it is not said."""
    said = plain(text)
    if inside := quoted(said):
        return inside
    found = next((f for pattern in QUERIES if (f := pattern.search(said))), None)
    return found.group(1).strip(" 了") if found else ""


def memory(text: str) -> str:
    """Return the fact to be kept, as the person said it; empty when nothing is left beside the wish."""
    said = plain(text)
    rest = REMEMBER_LEAD.sub("", said, count=1).strip(" ,，。.")
    if len(rest) < 3 or rest.lower() in {"this", "that", "it", "me"}:
        rest = REMEMBER_TRAIL.sub("", said).strip(" ,，。.")
        if REMEMBER_LEAD.match(rest + " "):
            return ""
    return rest[:1].upper() + rest[1:]


def memory_type(text: str) -> str:
    """Return the kind of a fact about a person."""
    if re.search(
        r"\bcall me\b|\bname is\b|\bi go by\b|\bi(?:'m| am) (?:a|an|the)\b|叫我|称呼|我叫|名字|我是",
        text,
        re.IGNORECASE,
    ):
        return "identity"
    if re.search(r"\b(?:prefer|like|love|hate|favou?rite|rather|enjoy)\b|喜欢|偏好|讨厌|习惯", text, re.IGNORECASE):
        return "preference"
    return "fact"


def about(text: str) -> str:
    """Return the words that a question about memories turns on; the whole question when none are left."""
    return " ".join(STOP.sub(" ", text).split()) or plain(text)


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return the first match after the file's name, or else the first one."""
    name = file_name(text)
    start = text.find(name) + len(name) if name else 0
    return pattern.search(text, start) or pattern.search(text)

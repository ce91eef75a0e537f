"""Finds secrets, identity numbers and payment data by form, checksum and the words around. They are never remembered.

Such rules find most but not all; the samples of the tests show how many. They return only the kind. Pure.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal

from stdnum import iban, luhn
from stdnum.br import cpf
from stdnum.cn import ric
from stdnum.gb import nhs
from stdnum.it import codicefiscale

Kind = Literal["secret", "identity", "payment"]

MAX_TEXT = 20_000

# Unmistakable forms: credentials of known services, keys, tokens, URLs with a password.
_FORMS = re.compile(
    r"""-----BEGIN\s[A-Z ]*PRIVATE\sKEY
    | \bsk-(?:proj-|ant-|or-v1-|svcacct-)?[\w-]{20,}
    | \b(?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}
    | \bgh[pousr]_[A-Za-z0-9]{30,} | \bgithub_pat_\w{22,} | \bgl(?:pat|dt|rt|ptt|cbt)-[\w-]{16,}
    | \b(?:AKIA|ASIA|AGPA|AROA|ABIA)[A-Z2-7]{16}\b | \bAIza[\w-]{30,} | \bya29\.[\w-]{20,} | \bGOCSPX-[\w-]{20,}
    | \bSG\.[\w-]{16,}\.[\w-]{16,} | \bhf_[A-Za-z0-9]{30,} | \bnpm_[A-Za-z0-9]{30,} | \bpypi-[\w-]{32,}
    | \bxox[abeoprs]-[\w-]{10,} | \bxapp-\d-[\w-]{10,} | hooks\.slack\.com/(?:services|workflows)/\S{16,}
    | \b\d{8,10}:AA[\w-]{30,} | \beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,} | \bhv[sbr]\.[\w-]{20,}
    | \bdop_v1_[a-f0-9]{32,} | \bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{24,} | \bdckr_pat_[\w-]{20,} | \bAGE-SECRET-KEY-1\w{20,}
    | \bSK[0-9a-f]{32}\b | \blin_api_\w{20,} | \bntn_\w{20,} | \bsq0[a-z]{3}-[\w-]{20,} | \bLTAI[A-Za-z0-9]{12,}
    | \b(?:Bearer|Basic)\s+[\w.~+/-]{16,}=*
    | \b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,64}:[^\s/@]{3,}@[\w.\[-]""",
    re.VERBOSE,
)

# A word that announces a secret, a gap of a few words, and the value. In a gap with a word of _ABOUT the text is about
# rules for secrets.
_ANNOUNCED = (
    r"(?:(?<![a-z0-9])(?:pass\s?words?|pass\s?codes?|passwd|pwd|pw|pass(?=\s*[:=])|passphrase|credentials?|log-?in\s(?:code|key)"
    r"|(?:door|gate|alarm|entry|access|safe|lock|garage|security|unlock|locker|vault|verification|one-time|otp)\s(?:code|pin)s?"
    r"|code\s(?:to|for|of)\s(?:the|my|our)\s(?:[a-z]+\s)?(?:door|gate|alarm|safe|lock|garage|locker|vault)|combination|otp|2fa\scodes?"
    r"|(?:2fa\s)?(?:backup|recovery)\scodes?|pins?(?:\s(?:code|number))?)"
    r"|密\s?码|口\s?令|验证码|解锁码|开门码|备用码|恢复码|授权码|暗号|取款码|动态码)"
)
_ABOUT = re.compile(
    r"polic|rotat|expir|length|limit|reset|manager|review|minimum|must|requir|every|changes?\b|策略|规则|长度|到期|重置|每|次"
)
_LINK = r"(?:\bis\b|\bare\b|\bto\b|\bwas\b|[:=：＝]|->|=>|是|为|改成了?|设为|设成|换成了?|叫|就是)"
_PROSE = re.compile(rf"{_ANNOUNCED}(?P<gap>[^\n.!?。！？;；]{{0,40}}?)\s*(?P<link>{_LINK})\s*(?P<value>\S{{3,}})")
_BARE = re.compile(rf"{_ANNOUNCED}[\s,\"'“「]{{0,3}}(?P<value>[!-~]{{3,}})")
_QUOTED = re.compile(rf"{_ANNOUNCED}[^\n.!?。！？]{{0,40}}?{_LINK}\s*[\"'“‘「『`][^\"'”’」』`\s]{{3,}}[\"'”’」』`]")
_ASSIGNED = re.compile(
    r"(?:pass(?:word|wd)?|pwd|(?:secret|token|key)(?:[_-]\w{1,20})?|api_?key|access_?key|account_?key|private_?key|credentials?|client_?secret)"
    r"[\"']?\s*[:=]\s*[\"']?(?P<value>[^\s\"']{6,})"
)
_LOOSE = re.compile(  # "user dana, pass Xy…", "admin / Xy…", "unlock it with 123456", a pass phrase in quotes
    r"(?:\bpass\s+|\b(?:log-?\s?in|logged\sin|user(?:name)?|account|creds?)\b[^\n.!?]{0,30}?\s/\s|账号[^\n。]{0,12}?[/／]\s*)"
    r"(?P<value>[!-~]{8,})"
)
_UNLOCK = re.compile(
    r"(?:解锁|开门|开锁|unlock)[^\n.!?。！？]{0,16}?(?:用|按|with|using|by typing)\s*(?P<value>\d{4,10})(?!\d)"
)
_QUOTED_PHRASE = re.compile(r"pass\s?phrase[^\n.!?]{0,20}?[\"'“‘`][^\"'”’`\n]{8,80}[\"'”’`]")
_KEY_FAR = re.compile(
    r"(?:\b(?:keys?|secret|tokens?)\b|密\s?钥|令\s?牌)(?P<gap>[^\n.!?。！？;；]{0,40}?)\s*(?:\bis\b|[:=]|是|为)\s*"
    r"(?P<value>[A-Za-z0-9_~+/=.-]{10,})"
)
_KEY = re.compile(
    r"(?:\b(?:keys?|secret|tokens?|credentials?)\b|密\s?钥|令\s?牌|凭\s?证|私\s?钥)[^\w\n]{0,4}(?:(?:is|was|to|是|为)[^\w\n]{0,4})?"
    r"(?P<value>[A-Za-z0-9_~+/=.-]{16,})"
)
_PHRASE = re.compile(
    r"(?:(?:seed|recovery|mnemonic|secret|backup)\s(?:phrase|words)|passphrase|助记词)\s*(?:is|are|[:=：]|是|为)\s*"
    r"(?:[a-z]{3,8}[\s,]+){3,}[a-z]{3,8}"
)

_IDENTITY_FORMS = re.compile(
    r"(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])"  # United States SSN
    r"|\b[abceghj-prstw-z][abceghj-nprstw-z]\s?\d{2}\s?\d{2}\s?\d{2}\s?[a-d]\b"  # United Kingdom national insurance
    r"|\b\d{6}-[1-4]\d{6}\b"  # Korean resident registration
    r"|\b[a-z]\d{6}\([\da]\)"  # Hong Kong identity card
)
_CHECKED_NUMBERS = [  # of China, Brazil, Italy, the United Kingdom (health service)
    (re.compile(r"(?<![\da-z])(\d{17}[\dx])(?![\da-z])"), ric.is_valid),
    (re.compile(r"\b(\d{3}\.\d{3}\.\d{3}-\d{2})\b"), cpf.is_valid),
    (re.compile(r"\b([a-z]{6}\d{2}[a-z]\d{2}[a-z]\d{3}[a-z])\b"), codicefiscale.is_valid),
    (re.compile(r"\bnhs[^\d\n]{0,16}(\d{3}[ -]?\d{3}[ -]?\d{4})\b"), nhs.is_valid),
]
_IDENTITY_WORD = re.compile(
    r"(?:\bssn\b|social\s(?:security|insurance)|\bsin\b(?=\s(?:is|number|no))|national\s(?:id|insurance)|\bni\snumber"
    r"|identity\scard|id\scard|aadhaar|\bpan\scard|\bnino\b|\bnie\b|\bdni\b|tax(?:payer)?\s(?:id|number)|steuer-?id|\bcpf\b"
    r"|passport(?:\s(?:number|no|nr|#))?|driv(?:er'?s?|ing)\s?licen[cs]e|visa\snumber|green\scard"
    r"|身份证|护照|社保|社会保障|驾驶证|驾照|通行证|台胞证|居住证|居留证|港澳证|军官证|学籍号)"
    r"(?:[^\d\n.!?。！？]|\bno\.){0,24}?(?P<value>[a-z]{0,3}[\d][\da-z -]{4,24})"
)

# Digits with spaces or hyphens, in groups with any separator, or each with the same separator.
_CARD = re.compile(
    r"(?<!\d)(?<!\d[.-])(?:(?:[2-6]|8[12]|97)(?:[ -]{0,3}\d){11,18}"
    r"|\d{4}(?:[\W_]{1,3}\d{4}){2,3}(?:[\W_]{1,3}\d{1,4})?|3\d{3}[\W_]{1,3}\d{6}[\W_]{1,3}\d{5}"
    r"|[2-6](?P<s>[\W_]{1,3})(?:\d(?P=s)){11,17}\d)(?!\d)(?!-\d)"
)
_IBAN = re.compile(r"\b[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){2,7}(?: ?[a-z0-9]{1,4})?\b")
_PAYMENT_WORD = re.compile(
    r"(?:(?:credit|debit|bank|gift)\scard|card\s(?:number|no)|\bvisa\b|mastercard|\bamex\b|银联|银行卡|信用卡|储蓄卡|借记卡|工资卡|卡\s?号"
    r"|bank\saccount|account\snumber|routing|sort\scode|\biban\b|银行账[号户]|银行帐[号户]|收款账[号户]|对公账[号户]|开户)"
    r"[^\d\n.!?。！？]{0,24}?(?P<value>\d[\d -]{5,24})"
)
_CVV = re.compile(r"(?:\bcvv2?\b|\bcvc2?\b|security\scode\son\sthe\scard|安全码)[^\w\n]{0,3}(?:is|是|为)?\s*\d{3,4}\b")

_TRIM = "\"'“”‘’「」『』`.,;:!?，。；：！？、()（）<>"
_DATE = re.compile(
    r"\d{4}[-/.年]\d{1,2}(?:[-/.月]\d{1,2}日?)?|\d{4}年?|\d{1,2}[:.]\d{2}|\d+(?:st|nd|rd|th)|\d+[a-z]+s|\d+%"
)
_TAIL = re.compile(r"(?<=[!-~])[^!-~].*$")  # Chinese text directly after the value
_CALENDAR = re.compile(r"(?:19|20)\d{2}[-/. 年]\d{1,2}[-/. 月]\d{1,2}(?!\d)")
_PLAIN_HEX = re.compile(r"[0-9a-f]{7,12}|[0-9a-f]{40}|[0-9a-f]{64}")


def sensitive_kind(text: str) -> Kind | None:
    """Return the kind of sensitive data in the text, or None."""
    plain = "".join(c for c in unicodedata.normalize("NFKC", text[:MAX_TEXT]) if unicodedata.category(c) != "Cf")
    low = "".join(c.lower() if len(c.lower()) == 1 else c for c in plain)  # of the same length: offsets agree
    if _FORMS.search(plain) or _secret_in_words(plain, low):
        return "secret"
    if _payment(low):
        return "payment"
    return "identity" if _identity(low) else None


def _secret_in_words(plain: str, low: str) -> bool:
    if any(pattern.search(low) for pattern in (_QUOTED, _PHRASE, _QUOTED_PHRASE, _UNLOCK)):
        return True
    if any(_guessable(v, strict=h["link"] in {"to", "was"}) for h, v in _values(_PROSE, plain, low)):
        return True
    if any(_guessable(value, strict=False) for _, value in _values(_BARE, plain, low)):
        return True
    patterns = (_ASSIGNED, _KEY, _KEY_FAR, _LOOSE)
    return any(_random(value) for pattern in patterns for _, value in _values(pattern, plain, low))


def _values(pattern: re.Pattern[str], plain: str, low: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the matches in `low` that are not about rules for secrets, each with its value as written."""
    for hit in pattern.finditer(low):
        if "gap" not in pattern.groupindex or not _ABOUT.search(hit["gap"]):
            yield hit, plain[hit.start("value") : hit.end("value")]


def _guessable(value: str, *, strict: bool) -> bool:
    """Return True if a word after "password is" can be a password: mixed characters, or four or more digits."""
    value = _TAIL.sub("", value).strip(_TRIM) or value
    plain = value.rstrip("!#*")
    if _DATE.fullmatch(plain.lower()) and (not plain.isdecimal() or _year(plain)):
        return plain.isdecimal() and plain != value  # "4471#" is a keypad code, "2026" is a year
    if plain.isdecimal():
        return len(plain) >= 4
    has_digit, has_letter = any(c.isdigit() for c in value), any(c.isalpha() and c.isascii() for c in value)
    odd = any(c.isascii() and not c.isalnum() for c in value.strip("-_/"))
    mixed = has_letter and odd and value.lower() != value and "-" not in value.strip("-")
    return len(value) >= 4 and ((has_digit and (has_letter or odd)) or (mixed and not strict))


def _year(digits: str) -> bool:
    return len(digits) == 4 and digits[:2] in {"19", "20"}


def _random(value: str) -> bool:
    """Return True if a value is long and mixed enough to be a key, and not a name or a commit."""
    value = value.strip(_TRIM)
    if len(value) < 8 or _PLAIN_HEX.fullmatch(value):
        return bool(re.fullmatch(r"[0-9a-f]{32}|[0-9a-f]{64}", value))
    digits = sum(c.isdigit() for c in value)
    odd = any(not c.isalnum() for c in value)
    return digits >= 2 and any(c.isalpha() for c in value) and (len(value) >= 16 or odd or value.lower() != value)


def _identity(low: str) -> bool:
    if _IDENTITY_FORMS.search(low):
        return True
    if any(is_valid(hit[1].upper()) for pattern, is_valid in _CHECKED_NUMBERS for hit in pattern.finditer(low)):
        return True
    return any(_numbered(hit["value"]) for hit in _IDENTITY_WORD.finditer(low))


def _numbered(value: str) -> bool:
    value = value.strip()
    return not _CALENDAR.match(value) and sum(c.isdigit() for c in value) >= 6


def _payment(low: str) -> bool:
    if _CVV.search(low) or any(_is_card(hit[0]) for hit in _CARD.finditer(low)):
        return True
    return any(_is_iban(hit[0]) for hit in _IBAN.finditer(low)) or any(
        _numbered(hit["value"]) for hit in _PAYMENT_WORD.finditer(low)
    )


def _is_card(number: str) -> bool:
    bare = re.sub(r"\D", "", number)
    return 13 <= len(bare) <= 19 and luhn.is_valid(bare) and bare.strip("0") != ""


def _is_iban(number: str) -> bool:
    """Return True if text begins with an IBAN; the pattern may have matched words after it."""
    bare = number.replace(" ", "").upper()
    return any(iban.is_valid(bare[:length]) for length in range(min(len(bare), 34), 14, -1))

"""Which memories are vital, by their type and words, in English and Chinese. Pure.

Vital memories are never archived because they were not used. Those about health and diet, who the person is and how to
act for them are also part of every request, since a question about lunch does not name the allergy. A word too many in
these lists only keeps a memory longer.
"""

import re
import unicodedata

EVERYDAY = 0.5
KEPT = 0.9  # importance from which a memory is never archived for not being used
ALWAYS = 1.0  # importance of what every request contains

_HEALTH = re.compile(
    r"\b(?:allerg\w*|intoleran\w*|anaphyla\w*|epi-?pens?|asthma\w*|inhaler|diabet\w*|insulin|co?eliac|epilep\w*|seizures?"
    r"|pregnan\w*|breast-?feed\w*|medicat\w*|medicines?|meds|pills?|prescri\w+|blood (?:type|group|pressure|thinners?)"
    r"|disab(?:led|ilit\w+)|wheelchair|hearing (?:aids?|loss|impair\w*)|deaf|blind|dyslexi\w*|adhd|hiv|ptsd|bipolar"
    r"|autis\w*|migraines?|depress(?:ed|ion)|anxiety|heart (?:condition|disease|attack|problems?)|pacemaker"
    r"|cancer|chronic\w*|diagnos\w+|surgery|therap(?:y|ist)|illness|disease|medical\w*|health"
    r"|vegetarian\w*|vegan\w*|pescatarian|halal|kosher|gluten\w*|lactose|dairy|nut-free|diets?|dietary"
    r"|keto|ramadan|fasting|sober|alcohol\w*|teetotal\w*"
    r"|no pork|(?:do not|don.t|can.t|cannot|never|not) (?:eat|drink)"
    r"|(?:eats?|drinks?) no)\b"
    "|过敏|不耐受|哮喘|糖尿病|胰岛素|血压|血糖|血型|心脏|癌|癫痫|怀孕|孕妇|孕期|哺乳|吃药|服药|药物|服用|患有|残疾|残障|轮椅"
    "|听力|失聪|失明|色盲|抑郁|焦虑症?|偏头痛|慢性|手术|诊断|疾病|生病|病史|体质|素食|吃素|纯素|茹素|清真|忌口|忌食|不吃|不能吃"
    "|不喝|不能喝|戒酒|戒烟|麸质|乳糖|斋|饮食"
)
_PERSON = re.compile(
    r"\b(?:wife|husband|spouse|partner|sons?|daughters?|child(?:ren)?|kids?|baby|babies|mother|father|mom|mum|dad|parents?"
    r"|brothers?|sisters?|siblings?|grand(?:mother|father|ma|pa|parents?|children|son|daughter)|twins|married|divorced"
    r"|widow(?:ed|er)?|fianc[eé]e?|girlfriend|boyfriend|famil(?:y|ies)|emergency contact|my name|name is|pronouns?|born"
    r"|birthday|nationality|native language|religio\w+)\b"
    "|妻子|老婆|太太|丈夫|老公|爱人|伴侣|儿子|女儿|孩子|宝宝|小孩|父亲|母亲|爸|妈|父母|兄弟|姐妹|哥哥|弟弟|姐姐|妹妹|爷爷|奶奶|外公"
    "|外婆|已婚|结婚|离婚|未婚|家人|家庭|紧急联系人|我叫|我姓|名字|姓名|生日|出生|国籍|母语|信仰"
)
TYPES = ("identity", "instruction")  # types that are vital whatever the words


def importance(content: str, kind: str) -> float:
    """Return the importance of a memory with this content and type."""
    plain = unicodedata.normalize("NFKC", content).casefold()
    if kind in TYPES or _HEALTH.search(plain):
        return ALWAYS
    return KEPT if _PERSON.search(plain) else EVERYDAY

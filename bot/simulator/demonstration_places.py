"""Cities and countries that people name when they ask for the time, with their zones in the IANA time zone database."""

import re

ZONES: dict[str, str] = {
    "utc|gmt|greenwich|世界时|格林威治": "UTC",
    "beijing|peking|shanghai|shenzhen|guangzhou|hangzhou|china|北京|上海|深圳|广州|杭州|中国": "Asia/Shanghai",
    "hong kong|香港": "Asia/Hong_Kong",
    "taipei|taiwan|台北|台湾": "Asia/Taipei",
    "tokyo|osaka|kyoto|japan|jst|东京|東京|大阪|京都|日本": "Asia/Tokyo",
    "seoul|busan|korea|south korea|首尔|韩国": "Asia/Seoul",
    "singapore|新加坡": "Asia/Singapore",
    "bangkok|thailand|曼谷|泰国": "Asia/Bangkok",
    "jakarta|雅加达": "Asia/Jakarta",
    "manila|马尼拉": "Asia/Manila",
    "hanoi|saigon|ho chi minh city|vietnam|河内|越南": "Asia/Ho_Chi_Minh",
    "delhi|new delhi|mumbai|bangalore|bengaluru|chennai|india|德里|孟买|印度": "Asia/Kolkata",
    "karachi|pakistan|卡拉奇": "Asia/Karachi",
    "dubai|abu dhabi|迪拜": "Asia/Dubai",
    "tehran|德黑兰": "Asia/Tehran",
    "tel aviv|jerusalem|israel|耶路撒冷|以色列": "Asia/Jerusalem",
    "istanbul|ankara|turkey|伊斯坦布尔|土耳其": "Europe/Istanbul",
    "moscow|莫斯科": "Europe/Moscow",
    "kyiv|kiev|ukraine|基辅": "Europe/Kyiv",
    "helsinki|finland|赫尔辛基|芬兰": "Europe/Helsinki",
    "athens|greece|雅典|希腊": "Europe/Athens",
    "berlin|munich|hamburg|frankfurt|cologne|germany|柏林|慕尼黑|法兰克福|德国": "Europe/Berlin",
    "paris|lyon|france|巴黎|法国": "Europe/Paris",
    "madrid|barcelona|spain|马德里|巴塞罗那|西班牙": "Europe/Madrid",
    "lisbon|portugal|里斯本|葡萄牙": "Europe/Lisbon",
    "rome|milan|italy|罗马|米兰|意大利": "Europe/Rome",
    "amsterdam|rotterdam|netherlands|阿姆斯特丹|荷兰": "Europe/Amsterdam",
    "brussels|belgium|布鲁塞尔|比利时": "Europe/Brussels",
    "zurich|zürich|geneva|bern|switzerland|苏黎世|日内瓦|瑞士": "Europe/Zurich",
    "vienna|austria|维也纳|奥地利": "Europe/Vienna",
    "prague|布拉格": "Europe/Prague",
    "warsaw|krakow|poland|华沙|波兰": "Europe/Warsaw",
    "budapest|布达佩斯": "Europe/Budapest",
    "stockholm|sweden|斯德哥尔摩|瑞典": "Europe/Stockholm",
    "oslo|norway|奥斯陆|挪威": "Europe/Oslo",
    "copenhagen|denmark|哥本哈根|丹麦": "Europe/Copenhagen",
    "dublin|ireland|都柏林|爱尔兰": "Europe/Dublin",
    "london|manchester|edinburgh|england|britain|uk|united kingdom|伦敦|英国": "Europe/London",
    "reykjavik|iceland|冰岛": "Atlantic/Reykjavik",
    "cairo|egypt|开罗|埃及": "Africa/Cairo",
    "lagos|nigeria|拉各斯": "Africa/Lagos",
    "nairobi|kenya|内罗毕|肯尼亚": "Africa/Nairobi",
    "johannesburg|cape town|south africa|约翰内斯堡|开普敦|南非": "Africa/Johannesburg",
    "casablanca|morocco|摩洛哥": "Africa/Casablanca",
    "sao paulo|são paulo|rio de janeiro|rio|圣保罗|里约": "America/Sao_Paulo",
    "buenos aires|argentina|布宜诺斯艾利斯|阿根廷": "America/Argentina/Buenos_Aires",
    "santiago|chile|智利": "America/Santiago",
    "bogota|bogotá|colombia|波哥大": "America/Bogota",
    "lima|peru|利马|秘鲁": "America/Lima",
    "mexico city|mexico|墨西哥城|墨西哥": "America/Mexico_City",
    "new york|nyc|boston|washington|miami|atlanta|est|edt|eastern time|纽约|波士顿|华盛顿": "America/New_York",
    "toronto|ottawa|多伦多": "America/Toronto",
    "montreal|montréal|蒙特利尔": "America/Toronto",
    "chicago|dallas|houston|austin|central time|芝加哥|休斯敦": "America/Chicago",
    "denver|mountain time|丹佛": "America/Denver",
    "phoenix|arizona|凤凰城": "America/Phoenix",
    "los angeles|san francisco|seattle|san diego|california|pst|pdt|pacific time|silicon valley|洛杉矶|旧金山"
    "|西雅图|加州": ("America/Los_Angeles"),
    "vancouver|温哥华": "America/Vancouver",
    "anchorage|alaska|阿拉斯加": "America/Anchorage",
    "honolulu|hawaii|檀香山|夏威夷": "Pacific/Honolulu",
    "sydney|melbourne|canberra|悉尼|墨尔本|堪培拉": "Australia/Sydney",
    "brisbane|布里斯班": "Australia/Brisbane",
    "perth|珀斯": "Australia/Perth",
    "adelaide|阿德莱德": "Australia/Adelaide",
    "auckland|wellington|new zealand|奥克兰|惠灵顿|新西兰": "Pacific/Auckland",
}
BY_NAME = {name: zone for names, zone in ZONES.items() for name in names.split("|")}
IANA = re.compile(r"\b(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific)/[A-Za-z_/+-]+")
_LATIN = sorted((n for n in BY_NAME if n[0] < "\u0250"), key=len, reverse=True)
_NAMES = re.compile(
    r"(?<![\w#@])(?:" + "|".join(map(re.escape, _LATIN)) + r")(?!\w)|"
    + "|".join(sorted((n for n in BY_NAME if n[0] >= "\u0250"), key=len, reverse=True)),
    re.IGNORECASE,
)  # fmt: skip
# A place that is not in the table is passed on as it was written: the tool knows more of them.
OTHER = re.compile(r"\b(?:in|at|for|over in)\s+((?:[A-Z][\w'-]+)(?:[ -][A-Z][\w'-]+){0,2})")
NOT_A_PLACE = {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
               "November", "December", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
               "English", "Chinese", "Slack", "I"}  # fmt: skip


def zones(text: str) -> list[str]:
    """Return the zones of the places that a text names, in their order, each once."""
    exact = IANA.findall(text)
    found = exact or [BY_NAME[name.lower()] for name in _NAMES.findall(text)]
    if not found:
        found = [name for name in OTHER.findall(text) if name not in NOT_A_PLACE]
    return list(dict.fromkeys(found))


def names_a_place(text: str) -> bool:
    """Tell whether a text names a place whose zone is known here."""
    return bool(IANA.search(text) or _NAMES.search(text))

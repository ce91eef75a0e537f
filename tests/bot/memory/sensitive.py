"""Messages to judge a secret check by, written before its rules were final. Values are made up at run time."""

import random
import string

CHANCE = random.Random(41)
LETTERS = string.ascii_letters
WORDS = LETTERS + string.digits


def some(n: int, alphabet: str = WORDS) -> str:
    return "".join(CHANCE.choice(alphabet) for _ in range(n))


def digits(n: int) -> str:
    return CHANCE.choice("123456789") + some(n - 1, string.digits)


def luhn(body: str) -> str:
    """Add the check digit of a payment card."""
    total = 0
    for i, c in enumerate(reversed(body)):
        d = int(c) * (2 if i % 2 == 0 else 1)
        total += d - 9 if d > 9 else d
    return f"{body}{-total % 10}"


def chinese_id(body: str) -> str:
    """Add the check character of a Chinese resident identity number."""
    weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]
    return body + "10X98765432"[sum(int(a) * b for a, b in zip(body, weights, strict=True)) % 11]


SECRET = [
    f"root pw = Winter{digits(4)}!!",
    f"passcode for the server room: {digits(4)}#",
    f"把 root 密码改成了 {some(4, LETTERS)}@{digits(4)}",
    f"the alarm code at the office is {digits(6)}",
    f"remember: gate code {digits(4)}*",
    f"my laptop unlocks with the pin {digits(6)}",
    f"2FA backup codes: {digits(8)}, {digits(8)}",
    f"登录账号 dana，口令{some(6)}{digits(3)}!",
    f"门禁密码是{digits(6)}",
    f"vault token hvs.{some(24)}",
    f"AccountKey={some(86)}== in the storage settings",
    f"curl -H 'Authorization: Basic {some(28)}==' works",
    f"use mysql://root:{some(9)}@10.0.0.3/shop for the report",
    f"GITHUB_TOKEN: gho_{some(36)}",
    f"here's the client secret {some(8)}~{some(30)}",
    "wallet recovery phrase: apple lunar cradle oxygen velvet mimic tunnel orbit gauge spoon rival zebra",
    f"微信支付的 API 密钥 {some(32)}",
    f"my NI number is QQ{digits(6)}C".replace("QQ", "AB"),
    f"driver's license no. D{digits(7)}, class B",
    f"驾驶证号 {chinese_id('320102198807123' + '41')}",
    f"Social Insurance Number {luhn(digits(8))}",
    f"I paid with {luhn('4' + digits(14))}, remember it for next time",
    f"visa ending... full one is {luhn('51' + digits(13))[:4]} {some(4, string.digits)}; cvc {digits(3)}",
    f"工资卡号：6217{digits(15)}",
    f"our bank account number is {digits(10)}, routing {digits(9)}",
    f"passport no: G{digits(8)}",
]

HARMLESS = [
    "the deploy key lives in the vault, ask Priya for access",
    "wifi password is on the whiteboard in the kitchen",
    "password rotation is every 90 days from 2026-01-01",
    "密码每三个月要换一次，下次是2026年3月",
    "I keep forgetting my pin, remind me to change it on 12 May",
    "the release code name is Heron2",
    "token budget for the bot is 8000 a day",
    "the access code review takes 3 days",
    "call me at +49 30 1234 5678 after 6pm",
    "客户编号 20263344 的合同在法务那里",
    "invoice 2026-004417 was paid on 3 March",
    "room 4471 is booked until 18:30",
    "my employee number is 55231",
    "build 20261129.4 fixed the login page",
    "we decided on port 5432 for postgres and 6379 for redis",
    "他喜欢用密码管理器，推荐大家也用",
    "order number 88123-4471 goes to the Berlin office",
    "passport renewal appointment is 2026-12-03 at 9:15",
    "the card on the board says: ship v2.4.1 by Friday",
    "身份证复印件放在三楼的 302 室",
    "secret santa budget is 20 euros, draw on 2026-12-01",
    "postgres://db.internal.example:5432/prod is the read replica",
    "API key names must start with team_2026",
    "the key result for Q3 is 45% activation",
    "my bank is Sparkasse, branch Kreuzberg",
    "sort the codes by country: 49, 86, 44",
]

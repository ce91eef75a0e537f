"""Sample messages for the check for sensitive data, written before its rules. Values are generated at run time."""

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

# Two later sets, also written before the rules that find them.
SECRET += [
    f"you can log in as admin / {some(6)}#{digits(3)}",
    f"the vpn creds: user dana, pass {some(7)}{digits(2)}!",
    f"Keep this safe: ssh key passphrase 'blue otter {digits(3)}'",
    f"wifi is GuestNet and the key is {some(5)}-{digits(4)}-{some(4)}",
    f"my bank pin: {digits(4)}",
    f"解锁手机用 {digits(6)}，密码别告诉别人",
    f"后台账号admin密码{some(8)}{digits(2)}",
    f"服务器登录口令：{some(4)}_{digits(5)}",
    f"OPENAI key -> sk-{some(48)}",
    f"xoxp-{digits(11)}-{digits(11)}-{some(32)}",
    f"redis pass={some(18)}",
    f"set STRIPE_SECRET_KEY to sk_test_{some(24)}",
    f"the api token for the weather service is {some(32, '0123456789abcdef')}",
    f"my social is 512-4{digits(1)}-{digits(4)}",
    f"tax id number {digits(11)}",
    f"我的护照 E{digits(8)} 2030年到期",
    f"孩子的身份证号码是{chinese_id('51010720150412' + '008')}",
    f"港澳通行证号 C{digits(8)}",
    f"mastercard {luhn('5' + digits(14))[:4]} {luhn('5' + digits(14))[4:8]} ... just use {luhn('5' + digits(14))}",
    f"信用卡 {luhn('62258' + digits(10))} 有效期 09/29",
    "send it to IBAN FR14 2004 1010 0505 0001 3M02 606",
    f"account no. {digits(9)} sort code {digits(2)}-{digits(2)}-{digits(2)}",
    f"the safe combination: {digits(2)}-{digits(2)}-{digits(2)}",
    f"一次性验证码 {digits(6)}",
    f"our jenkins credentials are dana:{some(9)}{digits(2)}",
    f"for the record the database pw changed to {some(6)}!{digits(3)}",
    f"钥匙箱密码换成{digits(4)}了",
    f"邮箱授权码 {some(16)}",
    f"my apple id password, {some(5)}-{digits(3)}-{some(4)}",
    f"secret_key_base: {some(64, '0123456789abcdef')}",
    f"DISCORD token M{some(23)}.{some(6)}.{some(27)}",
    f"my drivers license is D{digits(8)}",
    f"paypal me with card {luhn('37828' + digits(9))}",
    f"户名张三 开户行工行 账号 6222{digits(15)}",
    f"her national insurance number is AB {digits(2)} {digits(2)} {digits(2)} C",
    f"the 4-digit code for the bike lock is {digits(4)}",
]
HARMLESS += [
    "I log in to the admin panel from the office only",
    "our vpn switched to WireGuard in version 1.0.2",
    "the password hint question is about my first cat",
    "key dates: 2026-12-04 kickoff, 2027-01-15 review",
    "the token ring network was replaced in 1998",
    "pin the roadmap message in #general",
    "PIN numbers confuse our older customers",
    "密码学考试在12月18号上午9点",
    "他的工号是 A10293，座位在 5 楼",
    "快递单号 SF1398213347120 明天到",
    "身份证办理时间是工作日 9:00-17:00",
    "银行卡丢了，要去柜台补办，排队 45 分钟",
    "card 4 of 12 in the sprint board is blocked",
    "account manager for ACME is Lena, ext 4471",
    "meeting id 94817263541, starts 14:00",
    "the safe release is 2.18.4",
    "commit 8f14e45fceea167a5a36dedd4bea2543ab11cd22 broke the token parser",
    "secret project name: Heron",
    "API returns 429 after 1000 requests per minute per key",
    "my passport expires in 2031, remind me in 2030",
    "tax deadline is 31 July 2027",
    "social media budget 12000 for 2027",
    "driving to Leipzig takes 2h15",
    "the code for the retry logic is in client.py line 204",
    "the jenkins job credentials-rotation runs at 02:00",
    "database migrations 0012 to 0019 are applied",
    "I changed to the 08:15 train",
    "授权流程在第3章",
    "apple season starts in week 36",
    "secret menu item no. 12 is great",
    "we moved from discord to slack in 2024",
    "driving lessons cost 55 euros",
    "paypal fee is 2.49% plus 0.35",
    "工行网点 9:00 开门",
    "insurance premium 2027: 845 euros",
    "bike lock broke again, order new one by 2026-12-05",
]

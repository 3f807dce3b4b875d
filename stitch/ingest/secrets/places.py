"""Secrets that are known by where they stand: in headers, addresses, arguments of calls."""

from __future__ import annotations

import re

from stitch.ingest.secrets.rules import Rule, rule_within
from stitch.ingest.secrets.values import (
    has_digit,
    has_two_kinds,
    is_argument,
    is_cookie,
    is_credential,
    is_dense,
    is_key_of_call,
    is_mixed,
    is_odd_argument,
    is_password,
    is_plain_secret,
    looks_random,
)

_QUERY_NAMES = (
    r"(?:access_|refresh_|id_|reset_|invite_|auth_)?token|(?:api[-_]?)?key|apikey|sig|signature|(?:client_)?secret"
    r"|passw(?:or)?d|pwd|auth|x-amz-signature|x-amz-security-token|x-goog-signature|otp|ticket|assertion|session(?:_?id)?|app_?id|app_?key|subscription-key|code_verifier|x-api-key"
)
_ARGUMENT = (
    r"(?:'(?P<secret>[^'\r\n]{3,100})'|\"(?P<quoted>[^\"\r\n]{3,100})\"|(?P<bare>(?!\*\*\*)[^\s'\"|;&<>]{3,100}))"
)
_LINE = r"[^\n|;&]{0,120}?\s"
_QUOTED = r"[\"'](?P<secret>[^\"'\n]{4,100})[\"']"

HEADERS: tuple[Rule, ...] = (
    rule_within(
        "authorization",
        signs="digest|hawk|aws4-hmac|oauth",
        accepts=has_digit,
        pattern=r"authorization[\"'`]?\s{0,3}[:=]\s{0,3}[\"'`]?(?:digest|hawk|aws4-hmac-sha256|oauth)\s"
        r"(?P<secret>[^\n']{0,80}=[^\n']{8,800})",
    ),
    rule_within(
        "authorization",
        signs="authorization",
        accepts=is_credential,
        pattern=r"authorization[\"'`]?\]?(?:\s{0,3}[:=,]\s{0,3}|\s(?=[\"']))[\"'`]?(?:(?:bearer|basic|token|apikey|digest|ssws|bot|key|negotiate"
        r"|genie-?key|splunk)[ :=]\s{0,3}(?:token=)?[\"']?)?(?P<secret>[A-Za-z0-9._~+/=:-]{8,})",
    ),
    Rule(
        "bearer-token",
        ("bearer ", "ssws ", "geniekey ", "splunk ", "apikey "),
        accepts=looks_random,
        pattern=re.compile(
            r"(?:bearer|ssws|geniekey|splunk|apikey)\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{16,})", re.IGNORECASE
        ),
    ),
    rule_within(
        "cookie",
        signs="cookie",
        accepts=is_cookie,
        pattern=r"[\s;:\"'](?:[\w.-]{0,40}(?:sess|sid|auth|tok|jwt|remember|csrf|xsrf|login|user)[\w.-]{0,40})="
        r"(?P<secret>[^;\s\"',]{12,})",
    ),
    rule_within(
        "cookie",
        signs="cookie",
        accepts=looks_random,
        pattern=r"(?:cookies?[\"']?\s?[:=(]\s?[\"'{]{0,2}|;\s)(?!boundary|filename|expires|domain|path|_g[a-z]{1,3}[_=]|__utm|_fbp)"
        r"[\w.-]{1,60}"
        r"[\"']?\s?[=:,]\s?[\"']?(?P<secret>[^;\s\"',]{16,})",
    ),
    rule_within(
        "cookie",
        signs="curl",
        accepts=is_cookie,
        pattern=rf"\bcurl\b{_LINE}-b ?[\"']?[\w.-]{{1,60}}=(?P<secret>[^;\s\"',]{{12,}})",
    ),
)
"""Secrets in headers of requests and answers."""


def _is_token_of_path(text: str) -> bool:
    return is_dense(text) or (len(text) >= 32 and looks_random(text))


ADDRESSES: tuple[Rule, ...] = (
    Rule(
        "url-password",
        ("://",),
        re.compile(
            r"://(?<!http://)(?<!https://)[^\s/:@\"'<>?#\[\]]{0,100}:(?!\d{1,5}/)(?P<secret>[^\s\"'<>]{1,200})@(?=[\w\[])"
        ),
    ),
    Rule(
        "url-password", ("://",), re.compile(r"://[^\s/:@\"'<>?#\[\]]{0,100}:(?P<secret>[^\s/\"'<>]{1,200})@(?=[\w\[])")
    ),
    Rule(
        "url-token",
        ("://",),
        re.compile(r"://(?P<secret>[A-Za-z0-9_-]{20,200})(?::[^\s/@]{0,60})?@(?=\w)"),
        accepts=looks_random,
    ),
    rule_within(
        "url-password",
        signs="@tcp(|@unix(|@//",
        accepts=is_argument,
        pattern=r"[\w.$-]{1,40}[:/](?P<secret>[^\s\"'<>@]{3,100})@(?:(?:tcp|unix)\(|//\w)",
    ),
    rule_within(
        "url-password",
        signs=":pserver:|:ext:",
        accepts=is_argument,
        pattern=r":(?:pserver|ext):[\w.-]{1,40}:(?P<secret>[^\s\"'@/]{3,60})@",
    ),
    rule_within(
        "url-password",
        signs="thin:|oci:",
        accepts=is_argument,
        pattern=r"(?:thin|oci8?):[\w$.-]{1,40}/(?P<secret>[^\s\"'@/]{3,60})@",
    ),
    rule_within(
        "url-password",
        signs="@localhost|@db|@127.|@10.|@192.168.|@host|@mysql|@postgres|@pg|@redis|@mongo|@rabbit|@smtp|@proxy",
        accepts=is_odd_argument,
        pattern=r"(?<![\w/.:])(?:[\w.-]{1,40}[/\\])?[\w.-]{2,40}:(?P<secret>[^\s\"'<>@/:]{4,60})@[\w.-]{1,80}(?=[:/]\w|[\s\"']|$)",
    ),
    rule_within(
        "url-token",
        signs="?api|&api|?key=|&key=|?sig|&sig|?x-amz|%3d|token=|secret=|auth=|signature=|otp=|ticket=|pwd=|password=|assertion=|session=|session_id=|sessionid=|appid=|app_key=|-key=|verifier=",
        accepts=is_mixed,
        pattern=rf"(?:[?&#]|%3f|%26)(?:{_QUERY_NAMES})(?:=|%3d)(?P<secret>[^&\s#\"'<>)\]]{{6,}})",
    ),
    rule_within(
        "url-token",
        signs="?code=|&code=",
        accepts=_is_token_of_path,
        pattern=r"/[\w/-]{0,60}(?:login|log-in|sign-?in|magic|verify|invite|reset|confirm|activate)[\w/-]{0,20}\?(?:[\w-]{1,30}=[^&\s]{0,80}&){0,4}"
        r"code=(?P<secret>[A-Za-z0-9_.-]{20,300})",
    ),
    rule_within(
        "url-token",
        signs="/magic|/reset|/verify|/invit|/activat|/confirm|/token/|/sso/|/one-time|/recover|/unlock|-login/",
        accepts=_is_token_of_path,
        pattern=r"/(?:magic|magic-?link|magic-login|(?:password-?)?reset(?:-?password)?|verify(?:-?e?mail)?|invit(?:e|es|ation|ations)|activat(?:e|ion)"
        r"|confirm(?:ation)?|token|sso|one-time(?:-login)?|recover(?:y)?|unlock)/(?P<secret>[A-Za-z0-9_-]{20,300})(?![\w.-])",
    ),
    rule_within(
        "password",
        signs="|".join(f".{end} {sign} " for end in ("com", "org", "net", "io", "de", "fr") for sign in "/-–—"),
        accepts=is_plain_secret,
        pattern=r"@[\w-]{1,40}(?:\.[\w-]{1,20}){1,3} [/|–—-] (?P<secret>[^\s\"'/<>|,;]{5,40})(?![/\w])",
    ),
    rule_within(
        "password",
        signs=".com:|.org:|.net:|.io:|.de:|.fr:|.co:|.uk:|.ru:",
        accepts=is_password,
        pattern=r"@[\w-]{1,40}(?:\.[\w-]{1,20}){1,3}[:|;](?P<secret>[^\s\"'/<>:|;,]{5,40})(?![/\w])",
    ),
    Rule(
        "password",
        (":543", ":6432:", ":*:"),
        accepts=is_argument,
        pattern=re.compile(
            r"(?:(?<=\n)|^)[\w.*-]{1,80}:(?:\d{4,5}|\*):[\w*-]{1,60}:[\w*.-]{1,60}:"
            r"(?P<secret>[^\s:]{4,100})"
        ),
    ),
)
"""Secrets in addresses of hosts, data bases and pages."""

_APP_PASSWORD = re.compile("[a-z]{16}")


def _is_argument_of_call(text: str) -> bool:
    """Whether the literal behind a user's is a password; one of an application is sixteen letters."""
    return has_two_kinds(text) or _APP_PASSWORD.fullmatch(text) is not None


def _is_attribute(text: str) -> bool:
    return is_argument(text) and (looks_random(text) or is_password(text))


CALLS: tuple[Rule, ...] = (
    Rule(
        "password",
        (") or '", ') or "'),
        accepts=is_odd_argument,
        pattern=re.compile(rf"(?:getenv|environ\.get|getpass|get_secret|secrets\.get)\([^()\n]{{0,60}}\) or {_QUOTED}"),
    ),
    Rule(
        "password",
        ("process.env",),
        accepts=is_odd_argument,
        pattern=re.compile(rf"process\.env\.\w{{1,60}}\s?(?:\|\||\?\?)\s?{_QUOTED}"),
    ),
    Rule(
        "password",
        ("env('", 'env("'),
        accepts=is_odd_argument,
        pattern=re.compile(
            rf"env\([\"']\w{{0,40}}(?:PASS|PW|SECRET|TOKEN|KEY|pass|pw|secret|token|key)\w{{0,20}}[\"'],\s?{_QUOTED}"
        ),
    ),
    rule_within(
        "secret",
        signs="value=",
        accepts=_is_attribute,
        pattern=rf"\bvalue={_QUOTED}[^<>\n]{{0,40}}?\s[\w:]{{0,12}}(?:name|key|id)=[\"'][\w.:-]{{0,60}}"
        r"(?:password|secret|token|api_?key)[\"']",
    ),
    rule_within(
        "secret",
        signs='"key"',
        accepts=looks_random,
        pattern=r'"(?:user(?:name)?|account|login|email)"\s?:\s?"[^"\n]{1,80}",\s{0,9}"key"\s?:\s?"(?P<secret>[^"\n]{16,200})"',
    ),
    rule_within(
        "password",
        signs="<methodname>",
        accepts=is_odd_argument,
        pattern=r"<methodname>[^<]{0,40}(?:login|auth|sign_?in)[^<]{0,20}</methodname>.{0,80}?<string>[^<]{0,60}</string>.{0,60}?<string>(?P<secret>[^<\s]{4,60})<",
    ),
    rule_within(
        "secret",
        signs="keyname",
        pattern=r"keyname[^{}]{0,160}?value[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?P<secret>[A-Za-z0-9+/]{86}==)",
    ),
    rule_within(
        "password-hash",
        signs=":::",
        pattern=r":[0-9a-f]{32}:(?P<secret>[0-9a-f]{32}):::",
    ),
    rule_within(
        "private-key",
        signs="private-lines",
        pattern=r"private-lines: \d{1,3}\s{1,2}(?P<secret>[A-Za-z0-9+/=\s]{40,8000})",
    ),
    Rule(
        "secret",
        tuple(name + quote for name in ("auth(", "login(", "client(", "token(", "key(") for quote in "\"'"),
        accepts=looks_random,
        pattern=re.compile(
            r"(?:auth|[Ll]ogin|[Cc]lient|[Tt]oken|[Kk]ey)\((?:[\"'][^\"'\n()]{0,60}[\"'],\s?)?"
            r"[\"'](?P<secret>[\w+/=.-]{16,200})[\"']"
        ),
    ),
    rule_within(
        "password",
        signs="auth(|login(|signin(|credentials(|credential(|authentication(|authenticate(|_login(",
        accepts=_is_argument_of_call,
        pattern=rf"(?:auth|login|sign_?in|credentials?|authenticat(?:e|ion))\([^()\n]{{0,80}}?[\"'][^\"'\n()]{{1,60}}[\"'],\s?{_QUOTED}",
    ),
    rule_within(
        "password",
        signs="connect(|connection(|mysqli(|pdo(|connect_db(",
        accepts=is_odd_argument,
        pattern=rf"(?:connect(?:ion|_db)?|mysqli|pdo)\((?:[^(),\n]{{1,100}},\s?){{2}}{_QUOTED}",
    ),
    rule_within(
        "password",
        signs="sp_addlogin|sp_password|createuser(|create_user(|adduser(|add_user(|oracle.connect(|oracledb.connect(",
        accepts=is_odd_argument,
        pattern=r"(?:sp_addlogin|sp_password|(?:create|add)_?user\(|oracle(?:db)?\.connect\()\s?[\"'][^\"'\n]{1,60}[\"'],"
        rf"\s?{_QUOTED}",
    ),
    rule_within(
        "password",
        signs="bind(|bind_s(|withemailandpassword(|auth_password(",
        accepts=is_odd_argument,
        pattern=rf"(?:bind(?:_s)?|emailandpassword|auth_password)\([^()\n]{{1,160}}?[\"'\w],\s?{_QUOTED}\s?\)",
    ),
    Rule(
        "private-key",
        ('"kty"', "'kty'"),
        re.compile(r"[\"'](?:d|p|q|dp|dq|qi|k)[\"']\s?:\s?[\"'](?P<secret>[A-Za-z0-9_-]{22,4000})[\"']"),
    ),
    rule_within(
        "secret",
        signs="x-honeycomb-team|fastly-key",
        pattern=r"(?:x-honeycomb-team|fastly-key)[\"']?[:=] ?[\"']?(?P<secret>[\w-]{16,64})",
    ),
    rule_within(
        "secret",
        signs="encrypt(|keyspec(|jwt.|jwt(|hmac(|hmac.|cipher|fernet(|aes.new(|cookieparser(",
        accepts=is_key_of_call,
        pattern=rf"(?:jwt\.(?:sign|verify|encode|decode)|createhmac|hmac(?:\.new)?|cipher(?:iv)?|(?:en|de)crypt|keyspec|fernet|aes\.new|cookieparser)\("
        rf"(?:[^()\n,]{{1,80}},\s?)?b?{_QUOTED}",
    ),
    rule_within(
        "password", signs="auth=(|auth:|auth=[|auth':|auth\":", accepts=_is_argument_of_call,
        pattern=rf"(?:\b|_)auth[\"']?\s?[=:]\s?[(\[]\s?[\"'\w][^\"'\n()]{{0,60}}[\"']?,\s?{_QUOTED}",
    ),
    rule_within(
        "password", signs="credentials", accepts=is_odd_argument,
        pattern=rf"credentials[\"']?\s?[=:]\s?[(\[]\s?[\"'][^\"'\n()]{{0,60}}[\"'],\s?{_QUOTED}",
    ),
)  # fmt: skip
"""Secrets as arguments of calls."""

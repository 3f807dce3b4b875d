"""What secrets look like: tokens by how they begin, others by where they stand.

A rule is tried only where one of its signs stands in the text; all signs are looked for at once, so that most texts
cost one pass and a further rule costs nothing. Every pattern is linear: a repetition cannot overlap with what follows
it, and none can begin anew inside another (`tests/security` holds this for every pattern of the library). Hashes and
ids of logs are no secrets: without a telling name or beginning, nothing is taken out for looking random. What stands
behind a telling name is in `secret_names`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from stitch.text.words import FUNCTION_WORDS, word_set


class Rule(NamedTuple):
    """One kind of secret."""

    kind: str
    signs: tuple[str, ...]
    """In lower case; one of them stands in every text that holds such a secret."""
    pattern: re.Pattern[str]
    """Its group `secret`, or all of it, is replaced."""
    accepts: Callable[[str], bool] = bool
    """Tells a secret from what only looks like one."""


_PLACEHOLDER = re.compile(
    r"\A(?:\[redacted:.*|\W*|x{3,}|\*{2,}|\*{6}.*|<.*|\$(?!\w{1,9}\$)[A-Za-z_{(1-9*@].*|%.*|\{.*|#.*|\(.*|\\.*|none|null|nil|true|false"
    r"|undefined|redacted|masked|hidden|secret|string|str|bool|int|password|passwd|token|value|required|optional|empty"
    r"|unset|change_?me|(?:your|my|the|some|an?|example|sample|dummy|fake|placeholder|change|insert|enter|replace|todo)"
    r"[-_ ].*|placeholder|example)",
    re.IGNORECASE | re.DOTALL,
)
_CODE = re.compile(
    r"\A(?:[A-Za-z]\w{1,15}\{.*|[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+|[A-Za-z_][\w.]*[(\[].*)", re.DOTALL
)
_PATH = re.compile(r"\A(?:~?/|\.{1,2}/|[A-Za-z]:[\\/])")
_SIGNS = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9]")))
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SAID_OF_PASSWORDS = word_set(
    """accepted active allowed alphanumeric ask basic bearer blank boolean bytes callable case char chars common
    complex compromised configured correct created default disabled enabled encrypted enter env environment
    erforderlich errata error exposed falsch false field file forgot forgotten generated hash hashed header id
    important incorrect incorrecta incorrecte incorrecto incorreta input invalid inválida inválido issued known
    leaked length loaded long longer lost managed mandatory manual many md5 method mismatch missing needed new
    number old optional oublié param parameter pass passed password permitted plain plaintext prompt protected
    provided query random read rejected requerida required requis requise reset reused role safe salted same
    sbagliata secret secure sensitive sent set sha1 sha256 sha512 short shorter simple something stale stored string
    strong stronger supplied temporary text token too true type unchanged undefined ungültig unknown unset
    unsupported updated user username utf8 utf8mb4 valid value varchar vergessen weak wrong yes неверный
    неправильный"""
)
"""Words that say something about a password and are none."""


def is_placeholder(text: str) -> bool:
    """Whether it stands for a secret and is none: `<token>`, `${TOKEN}`, `xxxx`, `your-key`, a redaction."""
    return _PLACEHOLDER.fullmatch(text.strip("\"'` ")) is not None


def looks_random(text: str) -> bool:
    """Whether it is a token rather than words: long, of mixed signs with digits, none too often."""
    mixed = sum(sign.search(text) is not None for sign in _SIGNS[:3])
    return len(text) >= 16 and mixed >= 2 and has_digit(text) and _bits(text) >= 3.0


def _bits(text: str) -> float:
    """The entropy of a text in bits a character, by its own letters."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def has_digit(text: str) -> bool:
    """Whether an ASCII digit is in it."""
    return _SIGNS[2].search(text) is not None


def is_mixed(text: str) -> bool:
    """Whether it has letters and digits and is no repetition."""
    return has_digit(text) and any(map(str.isalpha, text)) and _bits(text) >= 2.5


def is_password(text: str) -> bool:
    """Whether what is assigned without quotes is a password by its signs: no call, name, path or word."""
    if _CODE.fullmatch(text) or _PATH.match(text) or "://" in text or text.lower() in _SAID_OF_PASSWORDS:
        return False
    kinds = sum(sign.search(text) is not None for sign in _SIGNS)
    if kinds >= 2 and (has_digit(text) or kinds >= 3):
        return True
    parts = _PARTS.findall(text)  # "kPqzBw" is cut into letters, `userName` into words
    return kinds >= 2 and len(text) >= 8 and text.isalpha() and len(text) < 3 * len(parts)


def is_quoted_password(text: str) -> bool:
    """Whether what is assigned in quotes is a password: no call, no address, nothing that is said of passwords."""
    if _CODE.fullmatch(text) or "://" in text:
        return False
    first = text.split(" ")[0].lower().strip(".,:!")
    return not (first in _SAID_OF_PASSWORDS or (" " in text and first in FUNCTION_WORDS))


def is_word_password(text: str) -> bool:
    """Whether a word, or words with hyphens between, may be a password and says nothing about one."""
    parts = re.split(r"[-_.]", text.lower())
    return (
        len(text) >= 5
        and all(part.isalpha() for part in parts)
        and not any(part in _SAID_OF_PASSWORDS or part in FUNCTION_WORDS for part in parts)
        and not _is_identifier(text)
        and not (len(parts) == 1 and text.lower().endswith(("ed", "ing", "ly", "able", "ible")))
    )


def _is_identifier(text: str) -> bool:
    """Whether it is a name of words written together: `hashedPassword`."""
    if not text.isalpha() or text.islower() or text.isupper() or text.istitle():
        return False
    return all(len(part) >= 3 for part in _PARTS.findall(text))


def is_credential(text: str) -> bool:
    """Whether what stands in a header for authorization is the credential."""
    return not _CODE.fullmatch(text) and (has_digit(text) or (len(text) >= 16 and _bits(text) >= 3.5))


def _is_cookie(text: str) -> bool:
    return len(text) >= 12 and has_digit(text) and _bits(text) >= 3.0


def _is_argument(text: str) -> bool:
    """Whether the argument of a command that takes a password there is one: no number, option, path or variable."""
    return not (text.isdigit() or text.startswith("-") or _PATH.match(text) or is_placeholder(text))


def _has_two_kinds(text: str) -> bool:
    return sum(sign.search(text) is not None for sign in _SIGNS) >= 2 and not _CODE.fullmatch(text)


_A, _W, _HEX = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[0-9a-f]"


def _token(kind: str, *, signs: str, pattern: str, accepts: Callable[[str], bool] = bool) -> Rule:
    """The rule of tokens with a beginning of their own; `signs` with blanks between."""
    compiled = re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])")
    return Rule(kind, tuple(signs.lower().split()), compiled, accepts)


def _within(kind: str, *, signs: str, pattern: str, accepts: Callable[[str], bool] = bool) -> Rule:
    """The rule of secrets inside something longer; `signs` with blanks between."""
    return Rule(kind, tuple(signs.lower().split()), re.compile(pattern, re.IGNORECASE), accepts)


TOKENS: tuple[Rule, ...] = (
    _token("anthropic-key", signs="sk-ant-", pattern=rf"sk-ant-{_W}{{16,}}"),
    _token("openai-key", signs="sk-", pattern=rf"sk-{_W}{{16,}}", accepts=looks_random),
    _token("aws-key", signs="AKIA ASIA ABIA ACCA", pattern=r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}"),
    _token("github-token", signs="ghp_ gho_ ghu_ ghs_ ghr_", pattern=rf"gh[pousr]_{_A}{{30,}}"),
    _token("github-token", signs="github_pat_", pattern=r"github_pat_\w{22,}"),
    _token("gitlab-token", signs="glpat- gldt- glrt- glptt- glcbt- GR1348941",
           pattern=rf"gl(?:pat|dt|rt|ptt|cbt)-{_W}{{16,}}|GR1348941{_W}{{16,}}"),
    _token("google-key", signs="AIza", pattern=rf"AIza{_W}{{35}}"),
    _token("google-token", signs="ya29. GOCSPX- 1//0",
           pattern=rf"ya29\.{_W}{{20,}}|GOCSPX-{_W}{{20,}}|1//0{_W}{{40,}}"),
    _token("slack-token", signs="xox xapp-", accepts=is_mixed,
           pattern=rf"xox[abceoprs](?:\.xox[bp])?-{_W}{{10,}}|xapp-\d-{_W}{{10,}}"),
    Rule("slack-webhook", ("hooks.slack.com",), accepts=lambda text: "XXXX" not in text,
         pattern=re.compile(r"hooks\.slack\.com/(?P<secret>(?:services|workflows)/[A-Za-z0-9/]{20,})")),
    Rule("webhook", ("api/webhooks/", "webhookb2/", "hooks.zapier.com", "maker.ifttt.com"),
         pattern=re.compile(r"(?:api/webhooks/\d{5,25}/|webhookb2/[\w@-]{10,100}/IncomingWebhook/|hooks/catch/\d{1,12}/"
                            r"|with/key/)(?P<secret>[\w/-]{6,})")),
    _token("stripe-key", signs="sk_live sk_test rk_live rk_test whsec_",
           pattern=rf"[sr]k_(?:live|test)_{_A}{{10,}}|whsec_{_A}{{20,}}"),
    _token("huggingface-token", signs="hf_ api_org_", pattern=rf"(?:hf|api_org)_{_A}{{30,}}",
           accepts=lambda text: _bits(text) >= 3.5),
    _token("provider-key", signs="gsk_ r8_ pplx- xai- fw_ tvly- lsv2_ pcsk_ nvapi- jina_ ntn_ secret_ wandb_v1_",
           pattern=rf"(?:gsk_|r8_|pplx-|xai-|fw_|tvly-|lsv2_|pcsk_|nvapi-|jina_|ntn_|secret_|wandb_v1_){_W}{{22,}}",
           accepts=looks_random),
    _token("package-token", signs="npm_ pypi-AgE rubygems_ dckr_pat_ oy2 cio",
           pattern=rf"npm_{_A}{{36}}|pypi-AgE{_W}{{50,}}|rubygems_{_HEX}{{48}}|dckr_pat_{_W}{{20,}}|oy2[a-z0-9]{{43}}"
                   rf"|cio(?=[A-Za-z]{{0,31}}\d){_A}{{32}}"),
    _token("cloud-token", signs="dop_v1_ doo_v1_ dor_v1_ dapi hvs. hvb. dp.pt. dp.st. sbp_ glsa_ glc_ NRAK-",
           pattern=rf"do[por]_v1_{_HEX}{{64}}|dapi{_HEX}{{32}}|hv[sb]\.{_W}{{24,}}|dp\.[ps]t\.[\w.]{{40,}}"
                   rf"|sbp_{_HEX}{{40}}|glsa_{_W}{{32,}}|glc_[A-Za-z0-9+/]{{32,}}={{0,2}}|NRAK-[A-Z0-9]{{27}}"),
    _token("cloud-token", signs="shpat_ shpca_ shppa_ shpss_ HRKU- pscale_ fm2_ sb_secret_ atlasv1.",
           pattern=rf"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{{32}}|HRKU-{_W}{{36,}}|pscale_(?:tkn|pw|oauth)_{_W}{{32,}}"
                   r"|fm2_[A-Za-z0-9+/]{60,}={0,2}"
                   rf"|sb_secret_{_W}{{20,}}|{_A}{{14}}\.atlasv1\.{_W}{{60,}}"),
    _token("cloud-token", signs="8Q~ 7Q~ tskey- pul- nfp_",
           pattern=rf"[\w~.-]{{3}}\dQ~[\w~.-]{{31,40}}|tskey-[a-z]{{2,10}}-{_W}{{16,}}|pul-{_HEX}{{40}}|nfp_{_A}{{36,}}"),
    _token("cloud-token", signs="NRAL EAAA sq0 ATATT3 ATCTT3 ATBB glagent- CFPAT- rzp_live_ sgp_ rnd_ mlsn. re_",
           pattern=rf"{_HEX}{{36}}NRAL|EAAA{_W}{{56,}}|sq0[a-z]{{3}}-{_W}{{22,}}|AT[AC]TT3{_W}{{60,}}"
                   r"={0,2}\w{0,8}"
                   rf"|ATBB{_A}{{32}}|glagent-{_W}{{40,}}|CFPAT-{_W}{{43}}|rzp_live_{_A}{{14}}|sgp_\w{{40,}}"
                   rf"|rnd_{_A}{{24,}}|mlsn\.{_HEX}{{64}}|re_{_A}{{8}}_{_A}{{24}}"),
    _token("mail-key", signs="sg. key- xkeysib- -us",
           pattern=rf"SG\.{_W}{{16,32}}\.{_W}{{32,64}}|key-[0-9a-z]{{32}}|xkeysib-{_HEX}{{64}}-{_A}{{16}}"
                   rf"|{_HEX}{{32}}-us\d{{1,2}}", accepts=has_digit),
    _token("chat-token", signs=":aa discord bot client",
           pattern=rf"(?:bot)?\d{{8,10}}:AA{_W}{{32,34}}|[MNO]{_W}{{23,25}}\.{_W}{{6}}\.{_W}{{27,38}}"),
    _token("tool-token", signs="figd_ lin_api_ lin_oauth_ PMAK- sntrys_ sntryu_ AGE-SECRET-KEY-1 ops_ey pat",
           pattern=rf"figd_{_W}{{20,}}|lin_(?:api|oauth)_{_A}{{40,}}|PMAK-{_HEX}{{24}}-{_HEX}{{34}}"
                   rf"|sntry[su]_[A-Za-z0-9+/=_-]{{40,}}|AGE-SECRET-KEY-1[A-Z0-9]{{58}}|ops_ey{_W}{{40,}}"
                   rf"|pat{_A}{{14}}\.{_HEX}{{64}}"),
    Rule("password-hash", ("$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$y$", "$apr1$", "$argon2"),
         pattern=re.compile(r"\$(?:[156y]|2[aby]|apr1|argon2\w{1,2})\$[A-Za-z0-9./$=,+]{20,200}")),
    _token("tool-token", signs="sqp_ sqa_ squ_", pattern=rf"sq[pau]_{_HEX}{{40}}"),
    _token("phone-key", signs="sk", pattern=rf"SK{_HEX}{{32}}"),
    Rule("jwt", ("eyj",), re.compile(rf"(?<![A-Za-z0-9_-])eyJ{_W}{{8,}}\.{_W}{{8,}}(?:\.{_W}*){{0,3}}")),
)  # fmt: skip
"""Tokens that are known by how they begin."""

_QUERY_NAMES = (
    r"(?:access_|refresh_|id_|reset_|invite_)?token|(?:api[-_]?)?key|sig|signature|(?:client_)?secret|passw(?:or)?d|pwd|auth"
    r"|x-amz-signature|x-amz-security-token|x-goog-signature|otp|ticket"
)
_ARGUMENT = r"(?:'(?P<secret>[^'\r\n]{3,100})'|\"(?P<quoted>[^\"\r\n]{3,100})\"|(?P<bare>[^\s'\"|;&<>]{3,100}))"
_LINE = r"[^\n|;&]{0,120}?\s"

IN_PLACE: tuple[Rule, ...] = (
    _within(
        "authorization",
        signs="authorization",
        accepts=is_credential,
        pattern=r"authorization[\"'`]?\s{0,3}[:=]\s{0,3}[\"'`]?(?:(?:bearer|basic|token|apikey|digest|ssws|bot)"
        r"\s{1,3})?(?P<secret>[A-Za-z0-9._~+/=:-]{8,})",
    ),
    Rule(
        "bearer-token",
        ("bearer ", "ssws "),
        accepts=looks_random,
        pattern=re.compile(r"(?:bearer|ssws)\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{16,})", re.IGNORECASE),
    ),
    Rule(
        "url-password", ("://",), re.compile(r"://[^\s/:@\"'<>?#\[\]]{0,100}:(?P<secret>[^\s/\"'<>]{1,200})@(?=[\w\[])")
    ),
    Rule("url-token", ("://",), re.compile(r"://(?P<secret>[A-Za-z0-9_-]{20,200})@(?=\w)"), accepts=looks_random),
    _within(
        "url-token",
        signs="?api &api ?key= &key= ?sig &sig ?x-amz %3d token= secret= auth= signature= otp= ticket= pwd= password=",
        accepts=is_mixed,
        pattern=rf"(?:[?&]|%3f|%26)(?:{_QUERY_NAMES})(?:=|%3d)(?P<secret>[^&\s#\"'<>)\]]{{6,}})",
    ),
    _within(
        "cookie",
        signs="cookie",
        accepts=_is_cookie,
        pattern=r"[\s;:\"'](?:[\w.-]{0,40}(?:sess|sid|auth|tok|jwt|remember|csrf|xsrf|login|user)[\w.-]{0,40})="
        r"(?P<secret>[^;\s\"',]{12,})",
    ),
    Rule(
        "password",
        (":543", ":6432:", ":*:"),
        accepts=_is_argument,
        pattern=re.compile(
            r"(?:(?<=\n)|^)[\w.*-]{1,80}:(?:\d{4,5}|\*):[\w*-]{1,60}:[\w*.-]{1,60}:"
            r"(?P<secret>[^\s:]{4,100})"
        ),
    ),
    _within(
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
    Rule(
        "password",
        ("auth(", "login("),
        accepts=_has_two_kinds,
        pattern=re.compile(r"(?:auth|[Ll]ogin)\([\"'][^\"'\n()]{1,60}[\"'],\s?[\"'](?P<secret>[^\"'\n]{4,100})[\"']"),
    ),
    Rule(
        "password",
        ("credentials", "login: ", "login is"),
        accepts=is_password,
        pattern=re.compile(
            r"(?:[Cc]redentials|[Ll]ogin)(?: (?:is|are))?:? [\w.@-]{2,40} ?/ ?(?P<secret>[^\s,;\"'/]{5,100})"
        ),
    ),
    _within("pin", signs="cvv cvc", pattern=r"(?:cvv2?|cvc)(?: is|:| =|=) ?(?P<secret>\d{3,4})\b"),
    Rule(
        "pin",
        ("pin is", "pin:", "pin code", "pin number", "pin ="),
        pattern=re.compile(
            r"(?<![A-Za-z])(?:PIN|[Pp]in)(?: [Cc]ode| number)?(?: is|:| =) ?(?P<secret>\d{4,8})\b(?![.,:/-]\d)"
        ),
    ),
    Rule(
        "one-time-code",
        ("ation code", "recovery code", "backup code", "one-time", "2fa", "otp is", "otp:"),
        accepts=has_digit,
        pattern=re.compile(
            r"(?:(?:verification|authentication|recovery|backup|one-time|2fa)(?: pass)?(?: ?codes?)?|otp)"
            r"(?: is| are|:) ?"
            r"(?P<secret>[A-Za-z0-9]{4,12}(?:[-, ]{1,2}(?=\w{0,11}\d)[A-Za-z0-9]{4,12}){0,12})",
            re.IGNORECASE,
        ),
    ),
)
"""Secrets that are known by where they stand."""

COMMANDS: tuple[Rule, ...] = (
    _within(
        "password",
        signs="curl wget",
        accepts=_is_argument,
        pattern=rf"\b(?:curl|wget)\b{_LINE}(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"'$]{{1,64}}:"
        r"(?P<secret>[^\s\"'|;&]{3,100})",
    ),
    _within(
        "password",
        signs="mysql mariadb",
        accepts=_is_argument,
        pattern=rf"\b(?:mysql|mariadb)[\w-]{{0,12}}{_LINE}-p{_ARGUMENT}",
    ),
    _within(
        "password",
        signs="sshpass zip 7z",
        accepts=_is_argument,
        pattern=rf"\b(?:sshpass|unzip|zip|7za?)\b{_LINE}-p ?{_ARGUMENT}",
    ),
    _within(
        "password",
        signs="login ldap redis-cli openssl htpasswd cqlsh sqlcmd mosquitto_ keychain",
        accepts=_is_argument,
        pattern=rf"\b(?:login\b{_LINE}-p|(?:cqlsh|sqlcmd|mosquitto_(?:pub|sub)|unlock-keychain){_LINE}-p|ldap[a-z]{{3,8}}{_LINE}-w|redis-cli{_LINE}-a|openssl{_LINE}-k"
        rf"|htpasswd{_LINE}\S{{1,60}} \w{{1,40}}) {_ARGUMENT}",
    ),
    _within(
        "password",
        signs="lftp jenkins sqlplus",
        accepts=_is_argument,
        pattern=rf"\b(?:lftp{_LINE}-u \w{{1,40}},|jenkins-cli{_LINE}-auth \S{{1,60}}:|sqlplus \w{{1,40}}/)"
        r"(?P<secret>[^\s@\"']{3,100})",
    ),
    Rule(
        "password",
        ("securestring",),
        accepts=_is_argument,
        pattern=re.compile(r"SecureString (?:-String )?[\"'](?P<secret>[^\"'\n]{3,100})[\"']"),
    ),
    _within(
        "password",
        signs="wpa_passphrase /user:",
        accepts=_is_argument,
        pattern=rf"(?:wpa_passphrase |/user:)\S{{1,80}} {_ARGUMENT}",
    ),
    _within(
        "secret",
        signs="configure",
        accepts=is_mixed,
        pattern=rf"\bconfigure set \S{{0,60}}(?:secret|token|key|password)\S{{0,20}} {_ARGUMENT}",
    ),
    _within("password", signs="pass:", accepts=_is_argument, pattern=rf"-pass(?:in|out)? pass:{_ARGUMENT}"),
    _within(
        "password", signs="sudo", accepts=_is_argument, pattern=rf"\becho (?:-n )?{_ARGUMENT} ?\| ?sudo (?:-\w )?-S"
    ),
)
"""Passwords that commands take as an argument."""

RULES = (*TOKENS, *IN_PLACE, *COMMANDS)
"""All rules but those for private keys, which have no end that a pattern could find quickly, and for telling names."""

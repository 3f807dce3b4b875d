"""What secrets look like: one rule a kind, the more particular first.

A rule is tried only where one of its signs stands in the text, so most texts cost a few substring searches. Every
pattern is linear: a repetition cannot overlap with what follows it, and none can begin anew inside another
(`tests/security` holds this for every pattern of the library). Hashes and ids of logs are no secrets: without a telling
name or beginning, nothing is taken out for looking random.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple


class Rule(NamedTuple):
    """One kind of secret."""

    kind: str
    signs: tuple[str, ...]
    """In lower case; one of them stands in every text that holds such a secret."""
    pattern: re.Pattern[str]
    """Its group `secret`, or all of it, is replaced."""
    accepts: Callable[[str], bool] = bool
    """Tells a secret from what only looks like one."""
    guard: re.Pattern[str] | None = None
    """Quicker than the pattern; stands, in lower case, in every text that holds such a secret."""


_PLACEHOLDER = re.compile(
    r"\A(?:\[redacted:.*|\W*|x{3,}|\*{2,}|<.*|\$.*|%.*|\{.*|#.*|\(.*|\\.*|none|null|nil|true|false|undefined|redacted"
    r"|masked|hidden|secret|string|str|bool|int|password|passwd|token|value|required|optional|empty|unset|change_?me"
    r"|(?:your|my|the|some|an?|example|sample|dummy|fake|placeholder|change|insert|enter|replace|todo)[-_ ].*"
    r"|placeholder|example)",
    re.IGNORECASE | re.DOTALL,
)
_CODE = re.compile(r"\A(?:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Za-z_][\w.]*[(\[].*)", re.DOTALL)
_SIGNS = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9]")))


def is_placeholder(text: str) -> bool:
    """Whether it stands for a secret and is none: `<token>`, `${TOKEN}`, `xxxx`, `your-key`, a redaction."""
    return _PLACEHOLDER.fullmatch(text.strip("\"'` ")) is not None


def looks_random(text: str) -> bool:
    """Whether it is a token rather than words: long, of mixed signs with digits, none too often."""
    mixed = sum(sign.search(text) is not None for sign in _SIGNS[:3])
    return len(text) >= 16 and mixed >= 2 and _has_digit(text) and _bits(text) >= 3.0


def _bits(text: str) -> float:
    """The entropy of a text in bits a character, by its own letters."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _has_digit(text: str) -> bool:
    return _SIGNS[2].search(text) is not None


def _mixed(text: str) -> bool:
    return _has_digit(text) and any(map(str.isalpha, text)) and _bits(text) >= 2.5


def _is_password(text: str) -> bool:
    """Whether what is assigned without quotes is a password: no call, no name, no word."""
    kinds = sum(sign.search(text) is not None for sign in _SIGNS)
    return not _CODE.fullmatch(text) and kinds >= 2 and (_has_digit(text) or kinds >= 3)


def _is_quoted_password(text: str) -> bool:
    return not _CODE.fullmatch(text) and "://" not in text


def _is_credential(text: str) -> bool:
    return not _CODE.fullmatch(text) and (_has_digit(text) or (len(text) >= 16 and _bits(text) >= 3.5))


_STRICT_NAMES = (
    r"pass(?:word|wd|phrase|code)|pwd|secret(?:[-_ ]?(?:access[-_ ]?)?key)?|api[-_ ]?(?:key|secret|token)"
    r"|access[-_ ]?key|private[-_ ]?key|client[-_ ]?secret|account[-_ ]?key|shared[-_ ]?access[-_ ]?key"
    r"|(?:auth|access|refresh|bearer|session|id)[-_ ]?token"
)
SECRET_NAME = re.compile(
    rf"(?:(?P<strict>{_STRICT_NAMES})|(?<![a-z])(?P<loose>token|auth|authorization|credentials?|signature))s?$",
    re.IGNORECASE,
)
"""The name of an argument or field that holds a secret; under a `loose` one may stand something else."""

_ASSIGNED = rf"(?:{_STRICT_NAMES}|token|credential)s?[\"'`]?\s{{0,3}}(?:=>|:=|=|:)\s{{0,3}}"
_SAID = (
    r"(?:pass(?:word|wd|phrase|code)|(?<![a-z])pwd)[\"'`]?"
    r"\s{0,3}(?:=>|:=|=|:|is\b|was\b)\s{0,3}(?:(?:now|set to)\s)?"
)
_PASSWORD_SIGNS = ("passw", "passphrase", "passcode", "pwd")
_QUERY_NAMES = (
    r"(?:access_|refresh_|id_)?token|(?:api[-_]?)?key|sig|signature|(?:client_)?secret|passw(?:or)?d|pwd|auth"
    r"|x-amz-signature|x-amz-security-token|x-goog-signature"
)
_A, _W, _HEX = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[0-9a-f]"

LONG_RUN = re.compile(r"[A-Za-z0-9_-]{16}")
"""Every token has one; most texts have none."""


def _token(kind: str, *, signs: str, pattern: str, accepts: Callable[[str], bool] = bool) -> Rule:
    """The rule of tokens with a beginning of their own; `signs` with blanks between."""
    compiled = re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])")
    return Rule(kind, tuple(signs.lower().split()), compiled, accepts)


TOKENS: tuple[Rule, ...] = (
    _token("anthropic-key", signs="sk-ant-", pattern=rf"sk-ant-{_W}{{16,}}"),
    _token("openai-key", signs="sk-", pattern=rf"sk-{_W}{{16,}}", accepts=looks_random),
    _token("aws-key", signs="AKIA ASIA ABIA ACCA", pattern=r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}"),
    _token("github-token", signs="ghp_ gho_ ghu_ ghs_ ghr_", pattern=rf"gh[pousr]_{_A}{{30,}}"),
    _token("github-token", signs="github_pat_", pattern=r"github_pat_\w{22,}"),
    _token("gitlab-token", signs="glpat- gldt- glrt- glptt- glcbt-", pattern=rf"gl(?:pat|dt|rt|ptt|cbt)-{_W}{{16,}}"),
    _token("google-key", signs="AIza", pattern=rf"AIza{_W}{{35}}"),
    _token("google-token", signs="ya29. GOCSPX-", pattern=rf"ya29\.{_W}{{20,}}|GOCSPX-{_W}{{20,}}"),
    _token("slack-token", signs="xox xapp-", accepts=_mixed,
           pattern=rf"xox[abeoprs](?:\.xox[bp])?-{_W}{{10,}}|xapp-\d-{_W}{{10,}}"),
    Rule("slack-webhook", ("hooks.slack.com",), accepts=lambda text: "XXXX" not in text,
         pattern=re.compile(r"hooks\.slack\.com/(?P<secret>(?:services|workflows)/[A-Za-z0-9/]{20,})")),
    _token("stripe-key", signs="sk_live sk_test rk_live rk_test whsec_",
           pattern=rf"[sr]k_(?:live|test)_{_A}{{10,}}|whsec_{_A}{{20,}}"),
    _token("huggingface-token", signs="hf_ api_org_", pattern=rf"(?:hf|api_org)_{_A}{{30,}}",
           accepts=lambda text: _bits(text) >= 3.5),
    _token("provider-key", signs="gsk_ r8_ pplx- xai- fw_ tvly- lsv2_ pcsk_ nvapi- jina_ ntn_ secret_ wandb_v1_",
           pattern=rf"(?:gsk_|r8_|pplx-|xai-|fw_|tvly-|lsv2_|pcsk_|nvapi-|jina_|ntn_|secret_|wandb_v1_){_W}{{22,}}",
           accepts=looks_random),
    _token("package-token", signs="npm_ pypi-AgE rubygems_ dckr_pat_",
           pattern=rf"npm_{_A}{{36}}|pypi-AgE{_W}{{50,}}|rubygems_{_HEX}{{48}}|dckr_pat_{_W}{{20,}}"),
    _token("cloud-token", signs="dop_v1_ doo_v1_ dor_v1_ dapi hvs. hvb. dp.pt. dp.st. sbp_ glsa_ glc_ NRAK-",
           pattern=rf"do[por]_v1_{_HEX}{{64}}|dapi{_HEX}{{32}}|hv[sb]\.{_W}{{24,}}|dp\.[ps]t\.[\w.]{{40,}}"
                   rf"|sbp_{_HEX}{{40}}|glsa_{_W}{{32,}}|glc_[A-Za-z0-9+/]{{32,}}={{0,2}}|NRAK-[A-Z0-9]{{27}}"),
    _token("cloud-token", signs="shpat_ shpca_ shppa_ shpss_ HRKU- pscale_ fm2_",
           pattern=rf"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{{32}}|HRKU-{_W}{{36,}}|pscale_(?:tkn|pw|oauth)_{_W}{{32,}}"
                   r"|fm2_[A-Za-z0-9+/]{60,}={0,2}"),
    _token("mail-key", signs="sg. key- xkeysib- -us",
           pattern=rf"SG\.{_W}{{16,32}}\.{_W}{{32,64}}|key-{_HEX}{{32}}|xkeysib-{_HEX}{{64}}-{_A}{{16}}"
                   rf"|{_HEX}{{32}}-us\d{{1,2}}"),
    _token("chat-token", signs=":aa discord",
           pattern=rf"\d{{8,10}}:AA{_W}{{32,34}}|[MNO]{_W}{{23,25}}\.{_W}{{6}}\.{_W}{{27,38}}"),
    _token("tool-token", signs="figd_ lin_api_ PMAK- sntrys_ sntryu_ AGE-SECRET-KEY-1",
           pattern=rf"figd_{_W}{{20,}}|lin_api_{_A}{{40}}|PMAK-{_HEX}{{24}}-{_HEX}{{34}}"
                   r"|sntry[su]_[A-Za-z0-9+/=_]{40,}|AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    Rule("jwt", ("eyj",), re.compile(rf"(?<![A-Za-z0-9_-])eyJ{_W}{{8,}}\.eyJ{_W}{{8,}}(?:\.{_W}*)?")),
)  # fmt: skip
"""Tokens that are known by how they begin."""

IN_PLACE: tuple[Rule, ...] = (
    Rule("authorization", ("authorization",), accepts=_is_credential,
         pattern=re.compile(r"authorization[\"'`]?\s{0,3}[:=]\s{0,3}[\"'`]?(?:(?:bearer|basic|token|apikey|digest)"
                            r"\s{1,3})?(?P<secret>[A-Za-z0-9._~+/=:-]{8,})", re.IGNORECASE)),
    Rule("bearer-token", ("bearer ",), accepts=looks_random,
         pattern=re.compile(r"bearer\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{16,})", re.IGNORECASE)),
    Rule("url-password", ("://",),
         re.compile(r"://[^\s/:@\"'<>?#\[\]]{0,100}:(?P<secret>[^\s/@\"'<>]{1,200})@(?=[\w\[])")),
    Rule("url-token", ("?", "&"), accepts=_mixed,
         pattern=re.compile(rf"[?&](?:{_QUERY_NAMES})=(?P<secret>[^&\s#\"'<>)\]]{{6,}})", re.IGNORECASE)),
    Rule("password", _PASSWORD_SIGNS, accepts=_is_quoted_password,
         pattern=re.compile(_SAID + r"[\"'`](?P<secret>[^\"'`\r\n]{3,200})[\"'`]", re.IGNORECASE)),
    Rule("password", _PASSWORD_SIGNS, accepts=_is_password,
         pattern=re.compile(_SAID + r"(?P<secret>[^\s\"'`,;<>|]{4,200})", re.IGNORECASE)),
    Rule("secret", ("secret", "token", "key", "credential"), accepts=looks_random,
         pattern=re.compile(_ASSIGNED + r"[\"'`]?(?P<secret>[A-Za-z0-9._~+/=@!-]{16,})", re.IGNORECASE),
         guard=re.compile(r"(?:key|token|secret|credential)s?[\"'`]?\s{0,3}[:=]")),
)  # fmt: skip
"""Secrets that are known by where they stand."""

RULES = (*TOKENS, *IN_PLACE)
"""All rules but the one for private keys, which has no end that a pattern could find quickly."""

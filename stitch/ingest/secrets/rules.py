"""Tokens that are known by how they begin, and what a rule is.

A rule is tried only where one of its signs stands in the text; all signs are looked for at once, so that most texts
cost one pass and a further rule costs nothing. Every pattern is linear: a repetition cannot overlap with what follows
it, and none can begin anew inside another (`tests/security` holds this for every pattern of the library). Hashes and
ids of logs are no secrets: without a telling name or beginning, nothing is taken out for looking random. What stands
behind a telling name is in `secret_names`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from stitch.ingest.secrets.values import has_digit, is_mixed, looks_random, varied


class Found(NamedTuple):
    """A secret and its place in a text."""

    start: int
    end: int
    kind: str


class Rule(NamedTuple):
    """One kind of secret."""

    kind: str
    signs: tuple[str, ...]
    """In lower case; one of them stands in every text that holds such a secret."""
    pattern: re.Pattern[str]
    """Its group `secret`, or all of it, is replaced."""
    accepts: Callable[[str], bool] = bool
    """Tells a secret from what only looks like one."""


_A, _W, _HEX = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[0-9a-f]"
_UUID = rf"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}"


def token_rule(kind: str, *, signs: str, pattern: str, accepts: Callable[[str], bool] = bool) -> Rule:
    """The rule of tokens with a beginning of their own; `signs` with `|` between."""
    compiled = re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])")
    return Rule(kind, tuple(signs.lower().split("|")), compiled, accepts)


def rule_within(kind: str, *, signs: str, pattern: str, accepts: Callable[[str], bool] = bool) -> Rule:
    """The rule of secrets inside something longer; `signs` with `|` between."""
    return Rule(kind, tuple(signs.lower().split("|")), re.compile(pattern, re.IGNORECASE), accepts)


TOKENS: tuple[Rule, ...] = (
    token_rule("anthropic-key", signs="sk-ant-", pattern=rf"sk-ant-{_W}{{16,}}"),
    token_rule("openai-key", signs="sk-", pattern=rf"sk-{_W}{{16,}}", accepts=looks_random),
    token_rule("aws-key", signs="AKIA|ASIA|ABIA|ACCA", pattern=r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}"),
    token_rule("github-token", signs="ghp_|gho_|ghu_|ghs_|ghr_", pattern=rf"gh[pousr]_{_A}{{30,}}"),
    token_rule("github-token", signs="github_pat_", pattern=r"github_pat_\w{22,}"),
    token_rule("gitlab-token", signs="glpat-|gldt-|glrt-|glptt-|glcbt-|GR1348941",
           pattern=rf"gl(?:pat|dt|rt|ptt|cbt)-{_W}{{16,}}|GR1348941{_W}{{16,}}"),
    token_rule("google-key", signs="AIza", pattern=rf"AIza{_W}{{35}}"),
    token_rule("google-token", signs="ya29.|GOCSPX-|1//0",
           pattern=rf"ya29\.{_W}{{20,}}|GOCSPX-{_W}{{20,}}|1//0{_W}{{40,}}"),
    token_rule("slack-token", signs="xox|xapp-", accepts=is_mixed,
           pattern=rf"xox[abceoprs](?:\.xox[bp])?-{_W}{{10,}}|xapp-\d-{_W}{{10,}}"),
    Rule("slack-webhook", ("hooks.slack.com",), accepts=lambda text: "XXXX" not in text,
         pattern=re.compile(r"hooks\.slack\.com/(?P<secret>(?:services|workflows)/[A-Za-z0-9/]{20,})")),
    Rule("webhook", ("api/webhooks/", "webhookb2/", "hooks.zapier.com", "maker.ifttt.com", "loggly.com"),
         pattern=re.compile(r"(?:api/webhooks/\d{5,25}/|hooks/catch/\d{1,12}/"
                            r"|with/key/|webhookb2/|loggly\.com/inputs/)(?P<secret>[\w/@-]{6,})")),
    token_rule("stripe-key", signs="sk_live|sk_test|rk_live|rk_test|whsec_",
           pattern=rf"[sr]k_(?:live|test)_{_A}{{10,}}|whsec_{_A}{{20,}}"),
    token_rule("huggingface-token", signs="hf_|api_org_", pattern=rf"(?:hf|api_org)_{_A}{{30,}}",
           accepts=varied),
    token_rule("provider-key",
           signs="gsk_|r8_|pplx-|xai-|fw_|tvly-|lsv2_|pcsk_|nvapi-|jina_|ntn_|secret_|wandb_v1_|tgp_v1_|napi_|phx_|phs_"
                 "|fc-|e2b_|sk_|rpa_|syt_",
           pattern=r"(?:gsk_|r8_|pplx-|xai-|fw_|tvly-|lsv2_|pcsk_|nvapi-|jina_|ntn_|secret_|wandb_v1_|tgp_v1_|napi_"
                   rf"|ph[xs]_|fc-|e2b_|sk_|rpa_|syt_){_W}{{22,}}",
           accepts=looks_random),
    token_rule("tool-token", signs="CLOJARS_|pat-na|pat-eu|sdk-|nsec1|shippo_|duffel_|EZAK|EZTK|flwseck|p8e-",
           pattern=rf"CLOJARS_{_HEX}{{60}}|(?:pat-(?:na|eu)\d|sdk)-{_UUID}|nsec1[02-9ac-hj-np-z]{{58}}"
                   rf"|shippo_(?:live|test)_{_HEX}{{40}}|duffel_(?:live|test)_{_W}{{40,}}|EZ[AT]K{_A}{{54}}"
                   rf"|FLWSECK(?:_TEST)?-{_HEX}{{32}}-X|p8e-{_A}{{32}}"),
    token_rule("tool-token", signs="EAA|AQE|cmVmdGtu|AKCp",
           pattern=rf"EAA{_A}{{80,}}|AQE[A-Za-z0-9+/]{{80,}}={{0,2}}|cmVmdGtu[A-Za-z0-9+/]{{50,70}}={{0,2}}"
                   rf"|AKCp{_A}{{60,80}}", accepts=looks_random),
    token_rule("package-token", signs="npm_|pypi-AgE|rubygems_|dckr_pat_|oy2|cio",
           pattern=rf"npm_{_A}{{36}}|pypi-AgE{_W}{{50,}}|rubygems_{_HEX}{{48}}|dckr_pat_{_W}{{20,}}|oy2[a-z0-9]{{43}}"
                   rf"|cio(?=[A-Za-z]{{0,31}}\d){_A}{{32}}"),
    token_rule("cloud-token", signs="dop_v1_|doo_v1_|dor_v1_|dapi|hvs.|hvb.|dp.pt.|dp.st.|sbp_|glsa_|glc_|NRAK-",
           pattern=rf"do[por]_v1_{_HEX}{{64}}|dapi{_HEX}{{32}}|hv[sb]\.{_W}{{24,}}|dp\.[ps]t\.[\w.]{{40,}}"
                   rf"|sbp_{_HEX}{{40}}|glsa_{_W}{{32,}}|glc_[A-Za-z0-9+/]{{32,}}={{0,2}}|NRAK-[A-Z0-9]{{27}}"),
    token_rule("cloud-token", signs="shpat_|shpca_|shppa_|shpss_|HRKU-|pscale_|fm2_|sb_secret_|atlasv1.",
           pattern=rf"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{{32}}|HRKU-{_W}{{36,}}|pscale_(?:tkn|pw|oauth)_{_W}{{32,}}"
                   r"|fm2_[A-Za-z0-9+/]{60,}={0,2}"
                   rf"|sb_secret_{_W}{{20,}}|{_A}{{14}}\.atlasv1\.{_W}{{60,}}"),
    Rule("webhook", ("://hook", ".hook"), accepts=looks_random,
         pattern=re.compile(r"(?:://|\.)hooks?[\w.-]{1,80}/(?:[\w-]{1,40}/){0,3}(?P<secret>[A-Za-z0-9_-]{18,100})(?![\w.-])")),
    Rule("webhook", ("hooks/", "hook/"), accepts=looks_random,
         pattern=re.compile(r"hooks?/(?:[\w-]{1,40}/){0,2}(?P<secret>[A-Za-z0-9_-]{18,100})(?![\w.-])")),
    token_rule("wallet-key", signs="wif|wallet|bitcoin",
           pattern=r"5[HJK][1-9A-HJ-NP-Za-km-z]{49}|[KL][1-9A-HJ-NP-Za-km-z]{51}"),
    token_rule("wallet-key", signs="xprv|yprv|zprv", pattern=r"[xyz]prv[1-9A-HJ-NP-Za-km-z]{90,120}"),
    token_rule("tool-token", signs="dg9ro", pattern=r"dG9rO[A-Za-z0-9+/]{30,}={0,2}"),
    token_rule("cloud-token", signs="t1.", pattern=rf"t1\.{_W}{{20,}}={{0,2}}\.{_W}{{86}}={{0,2}}"),
    token_rule("cloud-token", signs="8Q~|7Q~|tskey-|pul-|nfp_",
           pattern=rf"[\w~.-]{{3}}\dQ~[\w~.-]{{31,40}}|tskey-[a-z]{{2,10}}-{_W}{{16,}}|pul-{_HEX}{{40}}|nfp_{_A}{{36,}}"),
    Rule("tool-token", ("asana",),
         re.compile(rf"\b\d/\d{{10,20}}(?:/\d{{10,20}})?:(?P<secret>{_HEX}{{32}})(?![A-Za-z0-9])")),
    Rule("cloud-token", ("nral",), re.compile(rf"(?<![A-Za-z0-9]){_HEX}{{36}}NRAL(?![A-Za-z0-9])")),
    Rule("cloud-token", ("re_",), re.compile(rf"re_(?<![A-Za-z0-9]re_){_A}{{8}}_{_A}{{24}}(?![A-Za-z0-9])")),
    token_rule("cloud-token", signs="EAAA|sq0|ATATT3|ATCTT3|ATBB|glagent-|CFPAT-|rzp_live_|sgp_|rnd_|mlsn.",
           pattern=rf"EAAA{_W}{{56,}}|sq0[a-z]{{3}}-{_W}{{22,}}|AT[AC]TT3{_W}{{60,}}"
                   r"={0,2}\w{0,8}"
                   rf"|ATBB{_A}{{32}}|glagent-{_W}{{40,}}|CFPAT-{_W}{{43}}|rzp_live_{_A}{{14}}|sgp_\w{{40,}}"
                   rf"|rnd_{_A}{{24,}}|mlsn\.{_HEX}{{64}}"),
    token_rule("mail-key", signs="sg.|key-|xkeysib-|-us",
           pattern=rf"SG\.{_W}{{16,32}}\.{_W}{{32,64}}|key-[0-9a-z]{{32}}|xkeysib-{_HEX}{{64}}-{_A}{{16}}"
                   rf"|{_HEX}{{32}}-us\d{{1,2}}", accepts=has_digit),
    token_rule("chat-token", signs=":aa", pattern=rf"(?:bot)?\d{{8,10}}:AA{_W}{{32,34}}"),
    Rule("chat-token", ("/bot",), accepts=looks_random,
         pattern=re.compile(rf"/bot(?P<secret>\d{{6,12}}:{_W}{{30,40}})(?![\w-])")),
    token_rule("chat-token", signs="discord|bot token|bot_token|bot |bot.run|client.run|client.login",
           pattern=rf"[MNO]{_W}{{23,25}}\.{_W}{{6}}\.{_W}{{27,38}}"),
    token_rule("tool-token", signs="figd_|lin_api_|lin_oauth_|PMAK-|sntrys_|sntryu_|AGE-SECRET-KEY-1|ops_ey",
           pattern=rf"figd_{_W}{{20,}}|lin_(?:api|oauth)_{_A}{{40,}}|PMAK-{_HEX}{{24}}-{_HEX}{{34}}"
                   rf"|sntry[su]_[A-Za-z0-9+/=_-]{{40,}}|AGE-SECRET-KEY-1[A-Z0-9]{{58}}|ops_ey{_W}{{40,}}"),
    Rule("tool-token", ("airtable",), re.compile(rf"pat(?<![A-Za-z0-9]pat){_A}{{14}}\.{_HEX}{{64}}")),
    Rule("password-hash", ("$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$y$", "$apr1$", "$argon2"),
         pattern=re.compile(r"\$(?:[156y]|2[aby]|apr1|argon2\w{1,2})\$[A-Za-z0-9./$=,+]{20,200}")),
    token_rule("password-hash", signs="grub.pbkdf2", pattern=r"grub\.pbkdf2\.sha\d{3}\.\d{1,7}\.[0-9A-Fa-f.]{64,600}"),
    token_rule("tool-token", signs="sqp_|sqa_|squ_", pattern=rf"sq[pau]_{_HEX}{{40}}"),
    Rule("phone-key", tuple(f"sk{sign}" for sign in "0123456789abcdef"),
         re.compile(rf"SK(?<![A-Za-z0-9]SK){_HEX}{{32}}(?![A-Za-z0-9])")),
    Rule("jwt", ("eyj",), re.compile(rf"(?<![A-Za-z0-9_-])(?<!\bpk\.)eyJ{_W}{{8,}}\.{_W}{{8,}}(?:\.{_W}*){{0,3}}")),
)  # fmt: skip
"""Tokens that are known by how they begin."""

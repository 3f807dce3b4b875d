"""Digits that are a secret for what they are called: PINs, codes that are used once, combinations of locks."""

from __future__ import annotations

import re

from stitch.ingest.secrets.given import IS, OF
from stitch.ingest.secrets.rules import Found

_DIGIT = re.compile("[0-9]")
_CODE_AFTER = re.compile(
    rf"""(?:s|e|es)?(?:\ (?:number|code|{OF})\b[^\n:=?.,;]{{0,40}}?|\ [^\W\d_]{{2,15}}(?=\s?:))?["'*]{{0,3}}
    \s{{0,3}}(?:(?:{IS}|are)\b|[:：=—\[-]|是|は、?|为|為|는|은|(?<=passcode)|(?<=pin)|(?<=otp))[\s:*"'`]{{0,4}}
    (?P<secret>(?:[A-Z]-)?\d{{4,8}}|\d{{2,4}}(?:[- ]\d{{2,4}}){{1,3}}
      |(?=[A-Z]{{0,8}}\d)(?=\d{{0,8}}[A-Z])[A-Z0-9]{{5,9}})
    (?![\w-])(?![.:/%+]\d|,\d{{3}}(?!\d))
    (?P<ends>["'*`]{{0,3}}(?:[.,;!?)]|\s*(?:$|\n)|\ (?:and|or|but|for|to|valid|please|und|et|y|e)\b|です))?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_CODE_BEFORE = re.compile(
    r"(?<![\w.,-])(?P<secret>(?:[A-Z]-)?\d{4,8}|\d{3}[- ]\d{3})[\"'*]{0,2} (?:is|as|ist|est|es|è|é) "
    r"(?:your|my|the|ihr|dein|votre|tu|su|il tuo|seu|o seu)(?: [\w-]{1,20}){0,3}[ -]\Z",
    re.IGNORECASE,
)
_SECRET_CODE = re.compile(
    r"(?:verif[a-z]{0,8}|secur[a-z]{0,3}|log-?in|sign-?in|access|auth[a-z]{0,10}|one-time|otp|2fa|mfa|two-factor|sms|door|gate|alarm|entry|safe"
    r"|lock|unlock|pairing|activation|recovery|backup|secret|reset|pass|keypad|garage|voicemail|entsperr|sicherheits|bestätigungs"
    r"|einmal|zugangs|tür|de vérification|de sécurité|d'accès|de verificación|de seguridad|de acesso|di verifica"
    r"|di sicurezza|подтверждения|доступа|authenticator|sim|card|bank|atm|telefon|phone|pin)[-_ ]?\Z"
)
"""What stands before a code that is a secret."""
_HIS_CODE = re.compile(
    r"(?:^|[\s\"'(])(?:the|your|my|his|her|their|our|this|that|new|der|dein|ihr|mein|le|votre|mon|el"
    r"|tu|su|mi|il|seu|meu|ваш|мой)[ ]\Z|\A\Z|\n\Z"
)
_OF_SECRET = re.compile(
    r"\ (?:for|to|of)\ (?:the|my|your|our)?\ ?(?:door|gate|safe|alarm|garage|lock|house|card|vault|phone|office)"
)


def find_code(text: str, folded: str, at: int, end: int) -> Found | None:
    """The digits of a PIN, a code that is used once, or of a lock."""
    given = _CODE_AFTER.match(text, end)
    if given is None or (
        at
        and folded[at - 1].isalnum()
        and folded[at - 1].isascii()
        and not _SECRET_CODE.search(folded, max(0, at - 20), at)
    ):
        return None
    secret = given["secret"]
    if not folded[at:end].isascii() or folded[at:end] in (
        "pin",
        "otp",
        "combination",
        "geheimzahl",
        "tan:",
        "tan lautet",
    ):
        sure = True
    else:
        sure = _SECRET_CODE.search(folded, max(0, at - 24), at) is not None or _OF_SECRET.match(folded, end) is not None
    digits = sum(sign.isdigit() for sign in secret)
    his = _HIS_CODE.search(folded, max(0, at - 12), at) is not None
    accepted = (digits >= 4 and sure) or (digits in (6, 7, 8) and his and given["ends"] is not None)
    if not accepted or (secret.isdigit() and len(secret) == 4 and secret[:2] in ("19", "20") and not sure):
        return None
    return Found(*given.span("secret"), "pin" if "pin" in folded[at:end] else "one-time-code")


def find_code_before(text: str, at: int) -> Found | None:
    """What is called a code behind it: "482913 is your login code"."""
    before = _CODE_BEFORE.search(text, max(0, at - 70), at) if _DIGIT.search(text, max(0, at - 70), at) else None
    return None if before is None else Found(*before.span("secret"), "one-time-code")

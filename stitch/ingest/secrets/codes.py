"""Digits that are a secret for what they are called: PINs, codes that are used once, combinations of locks."""

from __future__ import annotations

import re

from stitch.ingest.secrets.given import IS, OF
from stitch.ingest.secrets.named import Name
from stitch.ingest.secrets.rules import Found

_DIGIT = re.compile("[0-9]")
_CODE_AFTER = re.compile(
    rf"""(?:s|e|es|en|et|ul|a|у|ом)?(?!\ (?:postal|post|zip|de\ barras|de\ área|fuente|fonte|morse
      |outputs?|results?|errors?|status|lines?|execution)\b)
    (?:\ (?:number|code|they|you|i|we|{OF})\b[^\n:=?.,;]{{0,40}}?
      |\ [^\W\d_]{{2,15}}(?=\s?:)|\ secret|\ segreto|\ secreto)?
    ["'*]{{0,3}}\s{{0,3}}
    (?:(?:{IS}|are|to)\b|['’]s\b|,?\ it(?:'s|\ is)|[:：=—\[-]|是|は、?|为|為|는|은
      |(?<=tan:)|(?<=passcode)|(?<=pin)|(?<=puk)|(?<=otp)|(?<=2fa\ code)|(?<=verification\ code)|(?<=security\ code)
      |(?<=unlock\ code)|(?<=login\ code)|(?<=access\ code)|(?<=door\ code)|(?<=gate\ code)|(?<=alarm\ code)
    )[\s:*"'`]{{0,4}}
    (?P<secret>(?:[A-Z]-)?\d{{4,8}}|\d{{2,4}}(?:[- ]\d{{2,4}}){{1,3}}
      |(?=[A-Z]{{0,8}}\d)(?=\d{{0,8}}[A-Z])[A-Z0-9]{{5,9}})
    (?![a-z0-9_-])(?![.:/%+]\d|,\d{{3}}(?!\d))
    (?P<ends>["'*`]{{0,3}}(?:[.,;!?)]|\s*(?:$|\n)|\ (?:and|or|but|for|to|valid|please|und|et|y|e)\b|です))?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_CODE_BEFORE = re.compile(
    r"(?<![\w.,-])(?P<secret>(?:[A-Z]-)?\d{4,8}|\d{3}[- ]\d{3})[\"'*]{0,2} (?:is|as|ist|est|es|è|é) "
    r"(?:your|my|the|ihr|dein|votre|tu|su|il tuo|seu|o seu)(?: [\w-]{1,20}){0,3}[ -][^\W\d_]{0,20}\Z",
    re.IGNORECASE,
)
_SECRET_CODE = re.compile(
    r"(?:verif[a-z]{0,8}|secur[a-z]{0,3}|log-?in|sign-?in|access|auth[a-z]{0,10}|one-time|otp|2fa|mfa|two-factor|sms|door|gate|alarm|entry|safe|guard|wi-?fi|box|entrance|building|room"
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
    rf"\ (?:{OF})\ (?:(?:the|my|your|our|die|das|den|dem|der|la|le|el|il|lo|de|het|min|mitt|l['’])\ ?)?(?:door|gate"
    r"|safe|alarm|garage|lock|house|card|vault|phone|office|haus|tür|tor|tresor|porte|immeuble|portail|coffre|puerta|portal"
    r"|caja|portón|porta|portone|cassaforte|cancello|deur|kluis|poort|garagem|cofre|portão|drzwi|bram|sejf|двер|сейф|домофон"
    r"|подъезд|dörr|dør|port)"
)


_SURE_NAMES = frozenset({"keypad", "digicode", "pin", "otp", "combination", "geheimzahl", "tan:", "puk"})


_OF_SECRET_ENDED = re.compile(rf"\w{{0,3}}{_OF_SECRET.pattern}")
_OF_LOCK = re.compile(
    rf"\w{{0,3}}{_OF_SECRET.pattern}\w{{0,12}}(?: ?[:=])? (?P<secret>\d{{4,8}})(?![\w%])(?![.,:/]\d)", re.IGNORECASE
)
_HIS_BRAND = re.compile(
    r"\b(?:[Yy]our|[Dd]ein|[Ii]hr|[Vv]otre|[Tt]on|[Tt]u|[Ss]u|[Ii]l tuo|[Ss]eu|[Вв]аш) [A-Z]\w{1,15}[ -]\Z"
)


def find_code(name: Name) -> Found | None:
    """The digits of a PIN, a code that is used once, or of a lock."""
    of_lock = _OF_LOCK.match(name.text, name.end)
    return _find_given_code(name) if of_lock is None else Found(*of_lock.span("secret"), "one-time-code")


def _find_given_code(name: Name) -> Found | None:
    given = _CODE_AFTER.match(name.text, name.end)
    before = name.folded[name.at - 1 : name.at]
    said_secret = _SECRET_CODE.search(name.folded, max(0, name.at - 24), name.at) is not None
    if given is None or (before.isalnum() and before.isascii() and not said_secret):
        return None
    if not _accepts(given, name, said_secret=said_secret):
        return None
    return Found(*given.span("secret"), "pin" if name.word == "pin" else "one-time-code")


def _accepts(given: re.Match[str], name: Name, *, said_secret: bool) -> bool:
    """Whether digits, or letters with digits, are a code that is a secret, by what they are called."""
    secret, ends = given["secret"], given["ends"] is not None
    if said_secret and secret.isupper() and secret.isalnum():
        return True
    digits = sum(sign.isdigit() for sign in secret)
    if digits >= 4 and (said_secret or name.word in _SURE_NAMES or not name.word.isascii()):
        return True
    if digits >= 4 and _is_of_secret(name, ends=ends):
        return True
    return 6 <= digits <= 8 and ends and _HIS_CODE.search(name.folded, max(0, name.at - 12), name.at) is not None


def _is_of_secret(name: Name, *, ends: bool) -> bool:
    """Whether it is the code of a door or a card, or one that a service sends: "Your Ferry code"."""
    if _OF_SECRET_ENDED.match(name.folded, name.end) is not None:
        return True
    return ends and _HIS_BRAND.search(name.text, max(0, name.at - 30), name.at) is not None


def find_code_before(name: Name) -> Found | None:
    """What is called a code behind it: "482913 is your login code"."""
    start = max(0, name.at - 70)
    if _DIGIT.search(name.text, start, name.at) is None:
        return None
    before = _CODE_BEFORE.search(name.text, start, name.at)
    return None if before is None else Found(*before.span("secret"), "one-time-code")

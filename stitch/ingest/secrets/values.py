"""What a secret looks like, and what only stands for one.

Each test says how sure a value must look where it stands: behind `password:` nearly any word is one, in a sentence or
behind an option that no rule knows only what nobody writes for another reason.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from stitch.text.words import FUNCTION_WORDS, word_set

_PLACEHOLDER = re.compile(
    r"\A(?:\[.*|\.\*.*|\W*|x{3,}|\*{2,}|\*{6}.*|<.*|\$(?!\w{1,9}\$)(?:[A-Za-z_{(*@]|[1-9](?!\d*[A-Za-z]{3})).*|%(?:\w{1,40}%|\w{1,12}\(.*|[({<\[\s\"'].*|\W{0,3}|\w?)|\{(?![A-Za-z0-9+/=]{20,}\}).*|#(?!(?=\w*\d)(?=\w*[A-Z])(?=\w*[a-z])\w{7,40}\W?\Z).*|\((?!\S{15,}\Z).*|\\.*|pk_(?:test|live)_\w*|none|null|nil|true|false"
    r"|undefined|redacted|masked|hidden|secret|string|str|bool|int|password|passwd|pass|pwd|token|value|required|optional"
    r"|(?:string|str|boolean|bool|int)\?|empty|unset|change_?me"
    r"|(?:your|example|sample|dummy|fake|placeholder|change|insert|enter|replace|todo)[-_ ].*"
    r"|(?:my|the|some|an?)[-_ ]\D*|placeholder|example)",
    re.IGNORECASE | re.DOTALL,
)
_CODE = re.compile(
    r"\A(?:(?:Get|Read|New|Set|Import|Export|Invoke|ConvertTo|ConvertFrom)-[A-Z][A-Za-z]{2,40}|[A-Za-z]\w{1,15}\{.*|[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+|[A-Za-z_][\w.]*[(\[](?!\W{0,8}\)\w).*)",
    re.DOTALL,
)
_PATH = re.compile(r"\A(?:~?/|\.{1,2}/|[A-Za-z]:[\\/])")
_SIGNS = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9]")))
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ].*)?|\d{1,2}:\d\d(?::\d\d)?|\d{1,5}(?:px|em|rem|pt|vh|vw|ms|[kmg]b|[cmk]m|kg)"
    r"|[a-z_]{2,12}=\d{1,4}"
)
"""A time, or a length, a size or a weight with its unit, or a setting."""
_ODD = re.compile(r"[^\W_][!#$%&*+?@^~][^\W_]")
_SAID_OF_PASSWORDS = word_set(
    """above accepted active allowed alphanumeric ask basic bearer below between blank boolean bytes callable case char
    chars characters common complex compromised configured contact correct created default digits disabled enabled
    encrypted enter env environment erforderlich errata error exposed falsch false field file forgot forgotten
    generated hash hashed header id important incorrect incorrecta incorrecte incorrecto incorreta input invalid
    inválida inválido issued known leaked length letters loaded long longer lost managed mandatory manual many md5
    method mismatch missing name needed new number old optional oublié param parameter pass passed password
    permitted plain plaintext prompt protected provided query random read rejected requerida required requis requise
    reset reused role safe salted same sbagliata secret secure see sensitive sent set sha1 sha256 sha512 short
    shorter simple something stale stored string strong stronger supplied temporary text token too true type
    unchanged undefined ungültig unknown unset unsupported updated user username utf8 utf8mb4 valid value varchar
    vergessen weak wrong yes неверный неправильный
    pflicht pflichtfeld
    abgelaufen geheim gespeichert geändert gesperrt gleich gültig kurz lang leer leicht neu notwendig
    nötig richtig sicher stark schwach unbekannt unsicher veraltet verschlüsselt zurückgesetzt zwingend
    ancien bloqué bon changé chiffré compromis correct court courte différent enregistré erroné expiré exposé facile
    faible fort forte identique inchangé invalide long manquant modifié nécessaire nouveau obligatoire oublier
    périmé robuste réinitialisé secret sensible simple solide sûr sûre trop valable valide vide vieux
    actualizada antigua bloqueada caducada cambiada cifrada compartida corta correcta débil diferente errónea
    expirada fuerte guardada igual larga misma necesaria nueva obligatoria olvidada segura secreta sencilla temporal
    vacía válida vieja única
    alterada antiga atualizada bloqueada correta criptografada curta diferente errada esquecida expirada forte fraca
    incorreta longa nova obrigatória salva secreta segura trocada velha vazia
    breve bloccata cambiata cifrata corretta debole dimenticata diversa errata esposta forte identica lunga necessaria
    nuova obbligatoria obbligatorio robusta salvata scaduta sicura uguale vecchia vuota
    gelijk geldig geheim gewijzigd kort leeg nieuw nodig onbekend ongeldig onjuist onveilig opgeslagen sterk
    verkeerd verlopen verplicht vergeten zwak
    błędne krótkie nieprawidłowe nowe puste silne słabe wygasło wymagane zmienione
    верный верно изменён изменен забыт зашифрован короткий неверно новый обязателен обязательно обязательный
    пустой слабый сложный старый истёк истек сохранён скрыт
    krátké nesprávné neplatné nové povinné prázdné silné slabé fel felaktigt krävs obligatoriskt svagt ugyldig
    boş geçersiz gerekli yanlış zayıf zorunlu pakollinen väärä
    siehe voir ver véase vedi zie zob patrz viz смотри см lásd bkz katso se
    frag fragen demander preguntar pregunta chiedere chiedi vraag zapytaj спроси спросить"""
)
"""Words that say something about a password and are none."""
_SAID_IN_PHRASES = _SAID_OF_PASSWORDS | FUNCTION_WORDS | word_set("minimum maximum least password passwords")
_IN_PHRASES = word_set("a again an and at by for from in just of on open or over the to under upon with")
"""Function words that pass phrases are full of."""
_SEED_WORD = re.compile(r"[a-z]{3,8}")
_NO_SEED_WORDS = word_set("the and for are was you your not have with that this from they will been")


def is_placeholder(text: str) -> bool:
    """Whether it stands for a secret and is none: `<token>`, `${TOKEN}`, `xxxx`, `your-key`, a redaction."""
    return _PLACEHOLDER.fullmatch(text.strip("\"'` ").rstrip(":")) is not None


def looks_random(text: str) -> bool:
    """Whether it is a token rather than words: long, of mixed signs with digits, none too often."""
    mixed = sum(sign.search(text) is not None for sign in _SIGNS[:3])
    return len(text) >= 16 and mixed >= 2 and has_digit(text) and _bits(text) >= 3.0


def is_dense(text: str) -> bool:
    """Whether it is a token wherever it stands: small and capital letters and digits, and no path."""
    least = 4.4 if "/" in text else 3.5
    return len(text) >= 20 and has_three_kinds(text) and _bits(text) >= least and text[:2] not in ("0x", "//")


def _bits(text: str) -> float:
    """The entropy of a text in bits a character, by its own letters."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def varied(text: str) -> bool:
    """Whether its signs change as those of a token do, and not as those of an example."""
    return _bits(text) >= 3.5


def has_digit(text: str) -> bool:
    """Whether an ASCII digit is in it."""
    return _SIGNS[2].search(text) is not None


def has_three_kinds(text: str) -> bool:
    """Whether it has small letters, capitals and digits."""
    return all(sign.search(text) for sign in _SIGNS[:3])


def is_mixed(text: str) -> bool:
    """Whether it has letters and digits, is six signs long at least (which is 2.6 bits) and no repetition."""
    return has_digit(text) and any(map(str.isalpha, text)) and _bits(text) >= 2.5


def is_password(text: str) -> bool:
    """Whether what is assigned without quotes is a password by its signs: no call, name, path, time or word."""
    if _PATH.match(text) or "://" in text or text.lower() in _SAID_OF_PASSWORDS:
        return False
    if _CODE.fullmatch(text) and not _has_odd_member(text):
        return False
    if _TIME.fullmatch(text):
        return False
    kinds = sum(sign.search(text) is not None for sign in _SIGNS)
    if kinds >= 2 and (has_digit(text) or kinds >= 3 or _ODD.search(text)):
        return True
    parts = _PARTS.findall(text)  # "kPqzBw" is cut into letters, `userName` into words
    return kinds >= 2 and len(text) >= 8 and text.isalpha() and len(text) < 3 * len(parts)


def _has_odd_member(text: str) -> bool:
    """Whether what looks like the name of a member has a part that no programmer calls one: `lbs.u1Uac55`."""
    if text.count(".") != 1 or not text.replace(".", "").isalnum():
        return False
    return any(_is_odd_part(part) for part in text.split("."))


def _is_odd_part(part: str) -> bool:
    if len(part) >= 5 and has_digit(part) and not has_digit(_LEET.sub("", part)) and _TOOL.search(part) is None:
        return True
    return len(part) >= 6 and has_three_kinds(part) and sum(map(str.isalpha, part)) <= 3 * len(_PARTS.findall(part))


_DIGITS = re.compile("[0-9]+")
_LEET = re.compile(r"(?<=[A-Za-z])[013457](?=[A-Za-z])")
"""A digit in the place of a letter."""
_TOOL = re.compile(
    r"log4|neo4|mp[34]|md5|sha|b64|base|oauth|p2p|k8s|i18|l10|x86|s3(?:cl|co|b|up)|ec2|v\d|db\d|py\d|win\d|utf|ipv",
    re.IGNORECASE,
)
"""What has a digit between letters, and is a name."""


_ODD_WORD = re.compile(
    r"(?=[^\W\d_]|\d)(?=\S{0,40}\d)(?=\S{0,40}[^\W\d_])[\w.-]{1,30}[!#$%^*@?&][\w!#$%^*@+?&.-]{1,30}"
)
_ADDRESS = re.compile(r"[\w.+-]+@(?!\d+\Z)[\w-]+(?:\.\w+)*")


def is_odd_word(text: str) -> bool:
    """Whether nobody writes such a word but as a password: letters, digits and a sign in their middle; no address."""
    text = text.rstrip(".?!&*")
    return (
        6 <= len(text) <= 40
        and _ODD_WORD.fullmatch(text) is not None
        and _ADDRESS.fullmatch(text) is None
        and is_password(text)
    )


_TERM = re.compile(
    r"(?:sha|md|utf|base|oauth|pbkdf|argon|aes|rsa|ipv|http|pkcs|python|win|web|ntlm|tls|ssl|py|es|ec|ed|us|php"
    r"|unicode|latin|ascii|iso|rfc|cve|gpt|claude|llama|node|java|usb|mp|bcrypt|scrypt|blake|crc|id|step|level|type|version|user"
    r"|microsoft|office|windows|test|line|page|section|chapter|figure|table|option|part)[-_ ]?\d+"
    r"\w{0,4}(?:[-_./]\w{1,8}){0,3}|[a-z]\d{1,3}[a-z]{0,2}|\d+[a-z]{1,4}|2fa|\d+(?:st|nd|rd|th)",
    re.IGNORECASE,
)


def is_plain_secret(text: str) -> bool:
    """Whether a word is a password where others are as likely: letters with digits, no term, time or address."""
    return (
        is_mixed(text)
        and is_password(text)
        and _TERM.fullmatch(text) is None
        and _ADDRESS.fullmatch(text) is None
        and not text[0].isdigit()
        and "/" not in text
        and not any(part.isdigit() and len(part) == 4 for part in re.split(r"[-_.]", text))
    )


_CODE_PARTS = word_set(
    """password pass pwd user name hash hashed new old confirm current db config env value field input param str text
    raw plain encrypted encoded default test my your get set is has from to secret key token auth login admin root
    string var options opts args data form body req request response settings credentials creds validator encoder"""
)


def is_joined_words(text: str) -> bool:
    """Whether it is words written together that are no name of code: `mapleSyrup`, but not `newPassword`."""
    parts = [part.lower() for part in _PARTS.findall(text)]
    return text.isalpha() and len(text) >= 8 and len(parts) > 1 and _CODE_PARTS.isdisjoint(parts)


def is_quoted_password(text: str) -> bool:
    """Whether what is assigned in quotes is a password: no call, no address, nothing that is said of passwords."""
    if (_CODE.fullmatch(text) and not is_dotted_with_digit(text)) or "://" in text:
        return False
    first = text.split(" ")[0].lower().strip(".,:!")
    return not (first in _SAID_OF_PASSWORDS or (" " in text and first in FUNCTION_WORDS))


def is_dotted_words(text: str) -> bool:
    """Whether words with points between are no member of an object and no file: `nine.Tall.Pines`."""
    parts = [part.lower() for part in text.split(".")]
    named = any(not _CODE_PARTS.isdisjoint(each.lower() for each in _PARTS.findall(part)) for part in text.split("."))
    return (
        len(parts) > 1 and all(len(part) >= 4 and part.isalpha() for part in parts) and len(parts[-1]) > 4 and not named
    )


def is_dotted_with_digit(text: str) -> bool:
    """Whether what looks like a member of an object is none in quotes or a sentence, for its digit: `Lemon.Tree4`."""
    parts = text.split(".")
    named = any(not _CODE_PARTS.isdisjoint(each.lower() for each in _PARTS.findall(part)) for part in parts)
    return (
        len(parts) == 2 and text.replace(".", "").isalnum() and has_digit(text) and not named and not _TOOL.search(text)
    )


def is_quoted_phrase(text: str) -> bool:
    """Whether what is written out for a pass phrase is one, though it opens with a word that is said of passwords."""
    words = text.lower().split()
    telling = [word for word in words if word in _SAID_OF_PASSWORDS]
    return (
        3 <= len(words) <= 12 and all(map(str.isalpha, words)) and len(telling) < 2 and FUNCTION_WORDS.isdisjoint(words)
    )


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


_PARTICIPLE = re.compile(
    r".*(?:[éi]e?s?|able|ible|ante?|ente?|toire|ose|use?|if|ive|[ai]d[oa]s?|[aiu]t[oa]|[ae]nd[oa]|ivel|bile|vel|ável"
    r"|[óo]ri[oa]|al[e]?|el|elle|ico|ica|ique|ier|ière|ivo|iva|os[oa]|ari[oa]|[aeiu]s[oa]|[enr]tt?[oa]"
    r"|iche?|lich|ig|bar|sam|los|haft|iert|isch|lijke?|baar|n[uy]t|tt[uy])"
)
"""Endings of participles and adjectives in German, Finnish and the Romance languages."""


def is_named_word(text: str) -> bool:
    """Whether a word that a sentence in another language ends with is a password: no adjective, no participle."""
    return len(text) >= 6 and is_word_password(text) and _PARTICIPLE.fullmatch(text.lower()) is None


def is_joined_phrase(text: str) -> bool:
    """Whether it is small words with hyphens between that somebody made up: `cowboys-and-robots`."""
    parts = text.split("-")
    return (
        len(parts) >= 3
        and text.islower()
        and all(part.isalpha() for part in parts)
        and all(part in _IN_PHRASES or part not in _SAID_IN_PHRASES for part in parts[parts[0] == "correct" :])
        and not {parts[0], parts[-1]} & _IN_PHRASES
    )


def is_case_noise(text: str) -> bool:
    """Whether letters alone are a token: small ones and capitals change too often for words."""
    return len(text) >= 20 and text.isascii() and text.isalpha() and len(text) < 3 * len(_PARTS.findall(text))


def is_noise(text: str) -> bool:
    """Whether small letters, capitals and digits change as in no name: digits stand at two places at least."""
    return text.isascii() and text.isalnum() and has_three_kinds(text) and len(_DIGITS.findall(text)) >= 2


def is_pass_phrase(text: str) -> bool:
    """Whether words may be a pass phrase: they say nothing about one, and no sentence begins so."""
    words = text.lower().split()
    return (
        2 <= len(words) <= 12
        and words[0] not in FUNCTION_WORDS
        and all(word.isalpha() and (word in _IN_PHRASES or word not in _SAID_IN_PHRASES) for word in words)
        and not words[0].endswith(("ed", "ing", "ly", "able", "ible"))
    )


def is_seed_phrase(text: str) -> bool:
    """Whether words may open a wallet: twelve to twenty-four of the lists that wallets use."""
    words = [word.strip(".,)") for word in text.lower().split() if word[0].isalpha()]
    return 11 <= len(words) <= 25 and all(_SEED_WORD.fullmatch(w) and w not in _NO_SEED_WORDS for w in words)


def _is_identifier(text: str) -> bool:
    """Whether it is a name of words written together: `hashedPassword`."""
    if not text.isalpha() or text.islower() or text.isupper() or text.istitle():
        return False
    return all(len(part) >= 3 for part in _PARTS.findall(text))


def is_credential(text: str) -> bool:
    """Whether what stands in a header for authorization is the credential."""
    return not _CODE.fullmatch(text) and (has_digit(text) or (len(text) >= 16 and _bits(text) >= 3.5))


def is_key_of_call(text: str) -> bool:
    """Whether the literal that a call signs or encrypts with is a key: no algorithm, no encoding, no name."""
    return (
        len(text) >= 8
        and has_two_kinds(text)
        and "_" not in text[:1]
        and _TERM.fullmatch(text) is None
        and (has_digit(text) or not text.isidentifier())
    )


def is_cookie(text: str) -> bool:
    """Whether the value of a cookie tells who somebody is."""
    return len(text) >= 12 and has_digit(text) and _bits(text) >= 3.0


def is_argument(text: str) -> bool:
    """Whether the argument of a command that takes a password there is one: no number, option, path or variable."""
    return not (text.isdigit() or text.startswith("-") or _PATH.match(text) or is_placeholder(text))


def is_odd_argument(text: str) -> bool:
    """Whether an argument of any command is a password: it looks like one, and is no port, path, image or range."""
    return is_argument(text) and "/" not in text and not re.match(r"[\d:.,-]+(?:/\w+)?\Z", text) and is_password(text)


def has_two_kinds(text: str) -> bool:
    """Whether it has two of small letters, capitals, digits and other signs, and is no call."""
    return sum(sign.search(text) is not None for sign in _SIGNS) >= 2 and not _CODE.fullmatch(text)


def is_card(text: str) -> bool:
    """Whether digits are the number of a card, by their check digit (ISO/IEC 7812)."""
    digits = [int(sign) for sign in text if sign.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0

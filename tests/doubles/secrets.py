"""Texts with secrets, drawn from frames: a line a text, `⟦...⟧` around its secret, `{hex:40}` and the like drawn."""

import random
import re
import string
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from stitch.text.secrets import redact_text

SHORT = 12
"""Below this many signs a secret is left if it is left whole; a longer one if half of it is."""


class Text(NamedTuple):
    """A text, and the secret in it; none if it is harmless."""

    text: str
    secret: str | None


_WORDS = re.findall(
    r"\w+",
    """amber anchor badger barley beacon bramble candle canyon cedar cobalt copper coral cricket dahlia ember
    falcon fennel ferry flint garnet ginger glacier harbor hazel heron indigo ivory jasper juniper kettle
    lantern lemon linden magnet maple marble meadow mitten nectar nutmeg oboe onyx orchid otter paprika pebble
    pelican pepper pewter pigeon quartz quince raven ribbon saffron sable sparrow spruce tango teapot thistle
    timber trellis tulip velvet violet walnut willow zephyr zinnia""",
)
_SIGNS = "!#$%*+=?^~"
_URL = string.ascii_letters + string.digits + "-_"
_ALPHABETS: Mapping[str, str] = {
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "alnum": string.ascii_letters + string.digits,
    "lower": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase + string.digits,
    "base32": string.ascii_uppercase + "234567",
    "base64": string.ascii_letters + string.digits + "+/",
    "url": _URL,
    "base58": "".join(sign for sign in string.digits + string.ascii_letters if sign not in "0OIl"),
    "bech32": "qpzry9x8gf2tvdw0s3jn54khce6mua7l",
    "digits": string.digits,
    "letters": string.ascii_letters,
}
"""Drawn sign by sign; the number says how many."""


def _password(chance: random.Random, length: int) -> str:
    """A word, digits and a sign in any order, as people make passwords up; `length` at least."""
    parts = [chance.choice(_WORDS).title(), str(chance.randrange(2, 2030)), chance.choice(_SIGNS)]
    chance.shuffle(parts)
    return "".join(parts).ljust(length, str(chance.randrange(1, 10)))


_MADE: Mapping[str, Callable[[random.Random, int], str]] = {
    "word": lambda chance, _: chance.choice(_WORDS),
    "words": lambda chance, count: " ".join(chance.sample(_WORDS, count)),
    "hyphened": lambda chance, count: "-".join(chance.sample(_WORDS, count)),
    "password": _password,
    "uuid": lambda chance, _: str(uuid.UUID(int=chance.getrandbits(128), version=4)),
}
"""Drawn otherwise; of words the number says how many, of a password how long it is at least."""
_PLACE = re.compile("{(" + "|".join([*_ALPHABETS, *_MADE]) + r")(?::(\d{1,3}))?}")
_SECRET = re.compile("⟦([^⟦⟧]{1,4000})⟧")


def read_frames(path: Path) -> Sequence[str]:
    """The frames of a file, one a line; `##` begins a comment."""
    lines = (line for line in path.read_text(encoding="utf-8").splitlines() if line.strip() and line[:2] != "##")
    return [line.replace("\\n", "\n").replace("\\t", "\t") for line in lines]


def draw(frames: Sequence[str], *, copies: int, seed: int) -> Iterator[Text]:
    """Yield `copies` texts of each frame; the same ones for the same seed."""
    chance = random.Random(seed)
    for _ in range(copies):
        for frame in frames:
            secret = _SECRET.search(frame)
            if secret is None:
                yield Text(_filled(frame, chance), None)
                continue
            before, drawn = _filled(frame[: secret.start()], chance), _filled(secret[1], chance)
            yield Text(before + drawn + _filled(frame[secret.end() :], chance), drawn)


def _filled(frame: str, chance: random.Random) -> str:
    def one(place: re.Match[str]) -> str:
        name, number = place[1], place[2]
        if (alphabet := _ALPHABETS.get(name)) is not None:
            return "".join(chance.choices(alphabet, k=int(number or 32)))
        return _MADE[name](chance, int(number or 3))

    return _PLACE.sub(one, frame)


def is_left(secret: str, *, text: str) -> bool:
    """Whether a secret still stands in a redacted text: whole, or half of it if it is a long one."""
    if len(secret) < SHORT:
        return secret in text
    half = len(secret) // 2
    return any(secret[at : at + half] in text for at in range(len(secret) - half + 1))


def measure(texts: Iterable[Text]) -> tuple[float, float]:
    """The share of secrets that are taken out, and the share of harmless texts that are changed."""
    taken, touched = list[bool](), list[bool]()
    for text, secret in texts:
        cleaned, _ = redact_text(text)
        if secret is None:
            touched.append(cleaned != text)
        else:
            taken.append(not is_left(secret, text=cleaned))
    return sum(taken) / len(taken), sum(touched) / len(touched)

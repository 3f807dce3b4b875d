"""Lists of secrets drawn from frames: texts with places for secrets and for what only looks like one.

A frame is one line. `⟦...⟧` encloses a secret, and a frame without it is harmless; `{hex:40}` is drawn anew for each
text, inside a secret and outside; `\\n` is a new line, `\\t` a tab. Nothing else is special, and lines that begin with
`##` are comments. So a list holds no real secret, can be kept beside the code, and is another one with each seed.
"""

from __future__ import annotations

import random
import re
import string
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from stitch.bench.data.files import read_bytes
from stitch.errors import InputError


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
    """The frames of a file, one a line.

    Raises:
        InputError: It cannot be read, holds none, or a frame has two secrets or a place that is not closed.
    """
    try:
        lines = read_bytes(path).decode().splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{str(path)!r} is no text in UTF-8", hint="frames are lines of text") from error
    frames = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("##"):
            continue
        if line.count("⟦") != line.count("⟧") or line.count("⟦") > len(_SECRET.findall(line)) or line.count("⟦") > 1:
            raise InputError(f"{path}:{number} is no frame", hint="enclose one secret, or none, in ⟦ and ⟧")
        frames.append(line.replace("\\n", "\n").replace("\\t", "\t"))
    if not frames:
        raise InputError(f"{str(path)!r} holds no frame", hint="write one text a line")
    return frames


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

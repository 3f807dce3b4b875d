"""`stitch bench redaction`: how many secrets of a list are taken out, and how many harmless texts are touched."""

from __future__ import annotations

import random
import re
import string
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from stitch.bench.data.sets import read_bytes, read_records, required
from stitch.bench.figures import print_table
from stitch.console.idle import refuse_idle
from stitch.console.options import json_option
from stitch.console.printing import print_json
from stitch.errors import InputError
from stitch.text.secrets import redact_text


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


_SHORT = 12
"""Below this many signs a secret is left if it is left whole; a longer one if half of it is."""


def read_list(path: Path) -> list[Text]:
    """The texts of a JSON-lines file: `text`, and `secret`, which is null where the text is harmless.

    Raises:
        InputError: It cannot be read, holds none, or a secret does not stand in its text; the message names the line.
    """
    texts = []
    for where, record in read_records(path):
        text, secret = required(record, "text", where), required(record, "secret", where)
        if not isinstance(text, str) or not isinstance(secret, str | None):
            raise InputError(f"{where} is no text with a secret", hint='write {"text": "...", "secret": "..." or null}')
        if secret is not None and (not secret or secret not in text):
            raise InputError(f"{where} has a secret that does not stand in its text", hint="write it as the text does")
        texts.append(Text(text, secret))
    if not texts:
        raise InputError(f"{str(path)!r} holds no text", hint='write {"text": "...", "secret": "..." or null} a line')
    return texts


def is_left(secret: str, *, text: str) -> bool:
    """Whether a secret still stands in a redacted text: whole, or half of it if it is a long one."""
    if len(secret) < _SHORT:
        return secret in text
    half = len(secret) // 2
    return any(secret[at : at + half] in text for at in range(len(secret) - half + 1))


def measure(texts: Iterable[Text]) -> tuple[dict[str, Any], list[str]]:
    """Redact each text; the figures, and a line for each that went wrong."""
    right = {True: 0, False: 0}
    """Of texts with a secret, and of harmless ones."""
    counts, wrong, redacting_s = dict(right), list[str](), 0.0
    for text, secret in texts:
        began = time.process_time()
        cleaned, _ = redact_text(text)
        redacting_s += time.process_time() - began
        counts[secret is not None] += 1
        if secret is None and cleaned != text:
            wrong.append(f"touched: {text!r} -> {cleaned!r}")
        elif secret is not None and is_left(secret, text=cleaned):
            wrong.append(f"left: {secret!r} in {text!r}")
        else:
            right[secret is not None] += 1
    secrets, harmless, touched = counts[True], counts[False], counts[False] - right[False]
    figures = {
        "secrets": secrets,
        "found": right[True],
        "recall": round(right[True] / secrets, 6) if secrets else None,
        "harmless": harmless,
        "touched": touched,
        "false_alarms": round(touched / harmless, 6) if harmless else None,
        "us_per_text": round(redacting_s * 1e6 / max(1, secrets + harmless), 1),
    }
    return figures, wrong


@click.command()
@click.argument("lists", nargs=-1, type=click.Path(path_type=Path), metavar="[LIST]...")
@click.option("--frames", type=click.Path(path_type=Path), metavar="FILE", help="Draw a list from these frames.")
@click.option("--copies", type=click.IntRange(min=1), default=1, show_default=True, help="Texts of each frame.")
@click.option("--seed", type=int, default=0, show_default=True, help="What is drawn.")
@click.option("--show", is_flag=True, help="Print what was left and what was touched.")
@json_option
def command(lists: tuple[Path, ...], frames: Path | None, copies: int, seed: int, show: bool, as_json: bool) -> None:
    """Tell how many secrets of a list are taken out, and how many harmless texts are changed.

    A LIST has one JSON object a line: "text", and "secret", which is null where the text is harmless. A file of
    frames has one text a line: ⟦...⟧ encloses the secret, {hex:40}, {password}, {words:4} and others are drawn.

    \b
    Example:
      stitch bench redaction my_secrets.jsonl --show
      stitch bench redaction --frames tests/security/frames.txt --seed 7
    """
    if frames is None:
        refuse_idle("copies", "seed", reason="nothing is drawn", hint="leave it out, or --frames FILE")
        if not lists:
            raise InputError("no list is given", hint="name a file of texts, or --frames FILE")
    measured = {path.name: measure(read_list(path)) for path in lists}
    if frames is not None:
        measured[frames.name] = measure(draw(read_frames(frames), copies=copies, seed=seed))
    if as_json:
        wrong = {name: {**figures, **({"wrong": lines} if show else {})} for name, (figures, lines) in measured.items()}
        print_json(wrong)
        return
    if show:
        for _, lines in measured.values():
            for line in lines:
                click.echo(line)
    print_table({name: figures for name, (figures, _) in measured.items()}, title="Redaction")

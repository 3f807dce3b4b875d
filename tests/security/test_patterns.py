"""Every pattern of the library takes time in proportion to its text, whatever the text is made of.

Patterns are found where they are: as values of modules, alone or in tables. Each is given texts made of its own parts,
repeated; four times the text may not take much more than four times the processor's time.
"""

from __future__ import annotations

import random
import re
import time
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import stitch

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    try:
        from re import _parser as parser  # type: ignore[attr-defined]  # the parts of a pattern are in no public module
    except ImportError:
        import sre_parse as parser

REPOSITORY = Path(__file__).parents[2]
ROOTS = {"stitch": REPOSITORY / "stitch"} | {
    f"stitch.{name}": REPOSITORY / name for name in ("signatures", "pipelines", "bench", "configs")
}
LONG = 6_000
READ_IN_PART = (
    "stitch.label.local.",  # only 4,000 characters of a step are read
    "stitch.retrieve.question.",  # and of a question
    "stitch.sources.formats._CAME_STAMP",  # the last 300 characters
    "stitch.bench.data.came._STAMP",
)
"""Patterns that are given only a part of a text: they are tested by what uses them, in `test_poisoned.py`."""
_ANCHORED = frozenset({"match", "fullmatch"})
NOISE_S = 0.002
"""What takes less is not looked at: the clock of a busy machine says nothing there."""
MOST_GROWTH = 9.0
"""Four times the text: 4 is linear, 16 is quadratic."""


def modules() -> Iterator[str]:
    for package, folder in ROOTS.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            if "testing" not in parts and "training" not in parts and parts[-1] != "__main__":
                yield ".".join((package, *(part for part in parts if part != "__init__")))


def patterns() -> dict[str, re.Pattern[str]]:
    found: dict[str, re.Pattern[str]] = {}
    known: set[tuple[str, int]] = set()

    def walk(value: Any, name: str, depth: int) -> None:
        if isinstance(value, re.Pattern):
            if isinstance(value.pattern, str) and (value.pattern, value.flags) not in known:
                known.add((value.pattern, value.flags))
                found[name if name not in found else f"{name} {len(found)}"] = value
        elif depth < 4 and isinstance(value, dict):
            for key, item in value.items():
                walk(key, name, depth + 1)
                walk(item, name, depth + 1)
        elif depth < 4 and isinstance(value, list | tuple | set | frozenset):
            for item in value:
                walk(item, name, depth + 1)

    for module in modules():
        for name, value in vars(import_module(module)).items():
            walk(value, f"{module}.{name}", 0)
    return found


def parts_of(pattern: re.Pattern[str]) -> list[str]:
    """Texts that the parts of a pattern match, about: letters, repetitions, branches."""
    parts: list[str] = []

    def walk(tree: Any) -> str:
        text = ""
        for name, value in ((str(op), value) for op, value in tree):
            if name == "LITERAL":
                piece = chr(value)
            elif name == "IN":
                piece = _of_set(value)
                parts.extend(piece)
                piece = piece[:1]
            elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
                piece = walk(value[2])
            elif name == "SUBPATTERN":
                piece = walk(value[3])
            elif name == "BRANCH":
                piece = ([walk(branch) for branch in value[1]] or [""])[0]
            elif name in ("ASSERT", "ASSERT_NOT"):
                piece = walk(value[1])
            elif name == "ATOMIC_GROUP":
                piece = walk(value)
            else:
                piece = "a" if name in ("ANY", "NOT_LITERAL") else ""
            parts.append(piece)
            text += piece
        parts.append(text)
        return text

    walk(parser.parse(pattern.pattern, pattern.flags))
    return [part for part in dict.fromkeys(parts) if part and len(part) < 200]


def _of_set(items: Any) -> str:
    some = {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}
    text = ""
    for name, value in ((str(op), value) for op, value in items):
        text += chr(value) if name == "LITERAL" else chr(value[0]) if name == "RANGE" else some.get(str(value), "")
    return text[:3] or "!"


def attacks(pattern: re.Pattern[str], *, mixed: int) -> Iterator[tuple[str, str]]:
    """A beginning and a unit to repeat, many times."""
    units = [*dict.fromkeys([*parts_of(pattern)[:60], " ", "a", "1", "\n", "A ", "a.", "<", '"', "\\"])]
    rng = random.Random(1)
    units += ["".join(rng.choices(units, k=rng.randint(2, 4))) for _ in range(mixed)]
    whole = max(units[:60], key=len)
    for unit in units:
        yield "", unit
    for unit in units[:: max(1, len(units) // 12)]:
        yield whole, unit


def uses(name: str) -> frozenset[str]:
    """The methods by which a module uses a pattern of its own; none if it cannot be told from its text."""
    module, _, attribute = name.partition(" ")[0].rpartition(".")
    source = Path(str(import_module(module).__file__)).read_text(encoding="utf-8")
    return frozenset(re.findall(rf"\b{attribute}\.(match|fullmatch|search|finditer|findall|sub|split)\b", source))


def cost(pattern: re.Pattern[str], text: str, *, anchored: bool = False) -> float:
    """Seconds of the processor for all ways in which a pattern is used; the best of two."""

    def once() -> float:
        started = time.process_time()
        for _ in () if anchored else pattern.finditer(text):
            pass
        pattern.match(text)
        pattern.fullmatch(text)
        return time.process_time() - started

    return min(once(), once())


def growth(
    pattern: re.Pattern[str], *, mixed: int, long: int = LONG, anchored: bool = False
) -> tuple[float, float, str]:
    """The worst growth from a text to one four times as long, its seconds, and the unit it was made of."""
    worst = (0.0, 0.0, "")
    for begin, unit in attacks(pattern, mixed=mixed):
        quick = cost(pattern, begin + unit * (long // 4 // len(unit)) + "\x00", anchored=anchored)
        if quick < NOISE_S:
            continue
        slow = cost(pattern, begin + unit * (long // len(unit)) + "\x00", anchored=anchored)
        if slow / quick > MOST_GROWTH:  # a busy machine may have been at something else
            quick = min(quick, cost(pattern, begin + unit * (long // 4 // len(unit)) + "\x00", anchored=anchored))
            slow = min(slow, cost(pattern, begin + unit * (long // len(unit)) + "\x00", anchored=anchored))
        worst = max(worst, (slow / quick, slow, unit))
        if worst[0] > MOST_GROWTH:
            break
    return worst


def test_all_patterns_of_the_library_are_found() -> None:
    names = patterns()
    assert len(names) > 100
    for wanted in ("stitch.core.intent", "stitch.ingest.secret_rules", "stitch.retrieve.quoting"):
        assert any(name.startswith(wanted) for name in names)
    assert stitch.__version__


def test_no_pattern_takes_more_than_its_share_of_time() -> None:
    slow = {}
    for name, pattern in patterns().items():
        if name.startswith(READ_IN_PART):
            continue
        used = uses(name)
        ratio, seconds, unit = growth(pattern, mixed=1, anchored=bool(used) and used <= _ANCHORED)
        if ratio > MOST_GROWTH:
            slow[name] = (round(ratio, 1), round(seconds, 3), unit[:40])
    assert slow == {}


@pytest.mark.parametrize("bad", [r"\s*$", r"[.!]+(?=$)"])
def test_a_pattern_that_takes_too_long_would_be_found(bad: str) -> None:
    ratio, _, _ = growth(re.compile(bad), mixed=0, long=4_000)
    assert ratio > MOST_GROWTH

"""Every pattern of the library takes time in proportion to its text, whatever the text is made of.

Patterns are found where they are: as values of modules and classes, alone or in tables, and written out in functions.
Each is given texts made of its own parts, repeated; six times the text may not take much more than six times the
processor's time. A pattern that a function puts together has to be listed here, by who has looked at it.
"""

from __future__ import annotations

import ast
import random
import re
import time
import warnings
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import stitch
from stitch.ingest.secrets import forms
from stitch.text import foreign_phrases

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
LONG = 1_500
READ_IN_PART = (
    "stitch.label.local.",  # only 4,000 characters of a step are read
    "stitch.text.forms.",
    "stitch.text.values.",
    "stitch.text.value_patterns.",
    "stitch.retrieve.question.reading.",  # and of a question
    "stitch.sources.families.steps._CAME_STAMP",  # the last 300 characters
    "stitch.bench.data.came._STAMP",
    "stitch.ingest.secrets._BEFORE",  # 80 characters before a name
)
"""Patterns that are given only a part of a text: they are tested by what uses them, in `test_poisoned.py`."""
MATCHED_BY_OTHERS = ("stitch.lm.lenient._BEHIND_",)
"""Patterns that are handed to a function, which matches them at one place and searches with none."""
MADE_WHEN_USED = {
    "stitch.ingest.secrets.forms",  # its patterns stand in a table, and are tested
    "stitch.text.value_patterns._value_pattern",  # called when the module is loaded: its patterns are values of tables
    "stitch.text.words.whole_words",
    "stitch.label.model.matching._places",  # an escaped phrase
    "stitch.label.local.acts._shell",  # an escaped word; spaces are bounded
    "stitch.trees.requests.words._path",  # an escaped name of a type or field
    "stitch.retrieve.links.causes._told_first",  # an escaped identifier
    "stitch.retrieve.rank.runs._said",  # an escaped word of a question
    "stitch.retrieve.question.hints.named_speakers",  # an escaped name; of a question
    "stitch.retrieve.question.hints._debaters_named",  # an escaped name of a side; of a question
    "stitch.retrieve.question.local_filter._is_of_another",  # an escaped word; of a question
    "stitch.lifecycle.tree_transfer._comes_after",  # the form of a version, which is another module's
    "stitch.lifecycle.tree_transfer.TreeImport._begin",
    "stitch.lm.reading._behind_names",  # escaped names of fields; all else is bounded
    "stitch.lm.reading._tagged",  # names of fields; a value ends at the next mark
    "stitch.lm.notations._Outline.__init__",  # escaped names of fields; all else is bounded
    "stitch.text.foreign_phrases.phrases_of",  # closed lists of phrases, which are tested
    "stitch.text.foreign._calendar",  # escaped names of months and days
}
"""Functions that put patterns together, and why none of these can be made slow by a text."""
_USES = frozenset({"compile", "match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"})
_ANCHORED = frozenset({"match", "fullmatch"})
NOISE_S = 0.00075
"""What takes less is not looked at: the clock of a busy machine says nothing there. Quadratic, a text takes this where
one of twice its length takes four times as long."""
TIMES = 6
MOST_GROWTH = 15.0
"""Six times the text: 6 is linear, 36 is quadratic, and a busy machine makes of neither the other."""
PARTS = 2
"""Into so many tests the patterns are dealt out for long texts, so that several processes can share them. For short
texts they are not: to load all modules takes a process as long as to try all patterns."""
MOST_TRIES = 2
"""How often the two texts are compared again, one right after the other, before a pattern is called slow."""


@cache
def modules() -> tuple[str, ...]:
    return tuple(_modules())


@cache
def source_of(module: str) -> str:
    return Path(str(import_module(module).__file__)).read_text(encoding="utf-8")


def _modules() -> Iterator[str]:
    for package, folder in ROOTS.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join((package, *(part for part in parts if part != "__init__")))
            if "testing" not in parts and "training" not in parts and parts[-1] != "__main__" and installed(name):
                yield name


@cache
def installed(module: str) -> bool:
    """Whether what a module needs is there: an adapter needs the framework that it adapts to."""
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("stitch"):
            raise
        return False
    return True


@cache
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
        elif depth < 4 and isinstance(value, type) and value.__module__ in own:
            for key, item in list(vars(value).items()):
                walk(item, f"{name}.{key}", depth + 1)

    own = set(modules())
    for module in sorted(own):
        for name, value in vars(import_module(module)).items():
            walk(value, f"{module}.{name}", 0)
    for form in forms():
        walk(form.pattern, f"stitch.ingest.secrets.forms.{form.kind}", 0)
    for name, _, text in written_in_functions():
        if text is not None:
            walk(re.compile(text), name, 0)
    for language in foreign_phrases.languages():
        walk(foreign_phrases.phrases_of(language), f"stitch.text.foreign_phrases.{language}", 0)
    return found


@cache
def written_in_functions() -> tuple[tuple[str, str, str | None], ...]:
    """Each use of `re` inside a function: the function, the method, and the pattern if it is written out there."""

    def visit(node: ast.AST, name: str, inside: bool) -> Iterator[tuple[str, str, str | None]]:
        for child in ast.iter_child_nodes(node):
            here, within = name, inside
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                here, within = f"{name}.{child.name}", inside or not isinstance(child, ast.ClassDef)
            if inside and isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute) and child.args:
                by, first = child.func, child.args[0]
                if isinstance(by.value, ast.Name) and by.value.id == "re" and by.attr in _USES:
                    written = isinstance(first, ast.Constant) and isinstance(first.value, str)
                    yield here, by.attr, first.value if written else None  # type: ignore[attr-defined]
            yield from visit(child, here, within)

    found: list[tuple[str, str, str | None]] = []
    for module in modules():
        if not module.startswith("stitch.bench"):  # which reads nothing of strangers
            found += visit(ast.parse(source_of(module)), module, False)
    return tuple(found)


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
    if name.startswith(MATCHED_BY_OTHERS):
        return frozenset({"match"})
    if methods := frozenset(method for where, method, _ in written_in_functions() if where == name.partition(" ")[0]):
        return methods
    module, _, attribute = name.partition(" ")[0].rpartition(".")
    if module not in modules():  # of a class
        return frozenset()
    used = rf"\b{attribute}\.(match|fullmatch|search|finditer|findall|sub|split)\b"
    return frozenset(re.findall(used, source_of(module)))


def cost(pattern: re.Pattern[str], text: str, *, anchored: bool = False, twice: bool = True) -> float:
    """Seconds of the processor for all ways in which a pattern is used; the best of two if one is worth a look.

    Not `twice` where too much is no harm: it is looked at again.
    """

    def once() -> float:
        started = time.thread_time()
        for _ in () if anchored else pattern.finditer(text):
            pass
        pattern.match(text)
        pattern.fullmatch(text)
        return time.thread_time() - started

    seconds = once()
    return seconds if seconds < NOISE_S or not twice else min(seconds, once())


def growth(pattern: re.Pattern[str], *, mixed: int, long: int, anchored: bool = False) -> tuple[float, float, str]:
    """The worst growth from a text to one six times as long, its seconds, and the unit it was made of.

    The shorter one is longer than any bound of a repetition: what a bound keeps in check does not grow from there.
    """
    worst = (0.0, 0.0, "")

    def cost_of(chars: int, begin: str, unit: str, *, twice: bool = True) -> float:
        return cost(pattern, begin + unit * (chars // len(unit)) + "\x00", anchored=anchored, twice=twice)

    for begin, unit in attacks(pattern, mixed=mixed):
        if (quick := cost_of(long, begin, unit)) < NOISE_S:
            continue
        slow = cost_of(TIMES * long, begin, unit, twice=False)
        for _ in range(MOST_TRIES):  # a busy machine can make one look slow once, and not each time
            if slow / quick <= MOST_GROWTH:
                break
            quick, slow = cost_of(long, begin, unit), cost_of(TIMES * long, begin, unit)
        worst = max(worst, (slow / quick, slow, unit))
        if worst[0] > MOST_GROWTH:
            break
    return worst


def test_all_patterns_of_the_library_are_found() -> None:
    names = patterns()
    assert len(names) > 100
    for wanted in ("stitch.core.intent", "stitch.ingest.secrets", "stitch.retrieve.context.quoting"):
        assert any(name.startswith(wanted) for name in names)
    assert stitch.__version__


def test_every_function_that_puts_a_pattern_together_is_known() -> None:
    assert {name for name, _, text in written_in_functions() if text is None} <= MADE_WHEN_USED


def test_patterns_of_classes_and_functions_are_found_too() -> None:
    names = {name.partition(" ")[0] for name in patterns()}
    assert "stitch.cli.forget._age_s" in names
    assert any(part[:1].isupper() for name in names for part in name.split(".")[:-1]), "of a class"


@pytest.mark.parametrize(
    ("long", "part", "parts"),
    [(LONG, 0, 1), *(pytest.param(16 * LONG, part, PARTS, marks=pytest.mark.slow) for part in range(PARTS))],
)
def test_no_pattern_takes_more_than_its_share_of_time(long: int, part: int, parts: int) -> None:
    slow = {}
    whole = [(name, pattern) for name, pattern in patterns().items() if not name.startswith(READ_IN_PART)]
    for name, pattern in whole[part::parts]:
        used = uses(name)
        ratio, seconds, unit = growth(pattern, mixed=1, long=long, anchored=bool(used) and used <= _ANCHORED)
        if ratio > MOST_GROWTH:
            slow[name] = (round(ratio, 1), round(seconds, 3), unit[:40])
    assert slow == {}


@pytest.mark.parametrize("bad", [r"\s*$", pytest.param(r"[.!]+(?=$)", marks=pytest.mark.slow)])
def test_a_pattern_that_takes_too_long_would_be_found(bad: str) -> None:
    ratio, _, _ = growth(re.compile(bad), mixed=0, long=LONG)
    assert ratio > MOST_GROWTH

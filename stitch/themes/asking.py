"""Lets a model say what steps assert, a window of them a call, and what themes are called.

What of a reply can be used is kept. A window of which nothing can be used is asked of again in halves, and a single
step then speaks for itself. So do all while the model is down or its budget is spent; they are asked of another time.
Steps that assert nothing are shown where they stand between others, and are never asked of alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from stitch.core import Statement, Trust, apply_rewrites
from stitch.errors import CutReplyError
from stitch.label.model.quoting import quote, quote_step, quote_window, shorten
from stitch.lm import CHARS_PER_TOKEN, LanguageModel, Purpose
from stitch.text.markers import seen
from stitch.themes.model_records import ModelStatement, ReadWindow, digest_of
from stitch.themes.statements import MOST_A_STEP, MOST_CHARS, is_instruction, trust_of

if TYPE_CHECKING:
    from stitch.core import Step
    from stitch.journal import Entry
    from stitch.signatures import StatementReading
    from stitch.signatures.programs import StatementProgram

WINDOW_STEPS = 24
"""So many steps that assert something are asked of in one call."""
WINDOW_TOKENS = 3_000
"""The length of the steps of one call together, as far as they are shown."""
EARLIER = 8
"""So many statements that are near are shown, which the new ones may correct."""
THEMES_A_CALL = 20
"""So many themes are named in one call."""
NAMED_FROM = 3
"""A theme of fewer statements keeps its own words."""

_NAME_CHARS = 60
_SHOWN_OF_THEME = 6
_EARLIER_CHARS = 200
_ISO = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")


class Window(NamedTuple):
    """Steps that follow each other in a trajectory: what is of low trust, or nothing that is."""

    entries: tuple[Entry, ...]
    asserting: int
    """Number of those that assert something."""


def windows(
    entries: Iterable[Entry], *, covered: Callable[[Entry], bool], asserts: Callable[[Entry], bool]
) -> Iterator[Window]:
    """Cut those steps of a trajectory that no model has read (`covered`) into windows."""
    group: list[Entry] = []
    asserting = tokens = 0
    for entry in entries:
        apart = covered(entry) or is_instruction(entry)
        size = len(quote_step(_resolved(entry))) // CHARS_PER_TOKEN
        strange = group and (trust_of(entry) is Trust.LOW) is not (trust_of(group[0]) is Trust.LOW)
        if group and (apart or strange or asserting == WINDOW_STEPS or tokens + size > WINDOW_TOKENS):
            yield from _window(group, asserts)
            group, asserting, tokens = [], 0, 0
        if apart:
            continue
        own = asserts(entry)
        if not own and not asserting:
            group, tokens = [], 0  # of steps that assert nothing, the one before the first that does is shown
        group.append(entry)
        tokens += size
        asserting += own
    yield from _window(group, asserts)


def _window(group: Sequence[Entry], asserts: Callable[[Entry], bool]) -> Iterator[Window]:
    asserting = [place for place, entry in enumerate(group) if asserts(entry)]
    if asserting:
        yield Window(tuple(group[: asserting[-1] + 1]), len(asserting))


class StatementModel:
    """A model that says what steps assert, and names themes."""

    def __init__(self, model: LanguageModel, *, program: StatementProgram) -> None:
        self.model, self._program = model, program

    @property
    def name(self) -> str:
        """The model's name, and which compiled program if any."""
        return " ".join(filter(None, (self.model.name, self._program.digest[:8])))

    def read(self, window: Window, *, earlier: Sequence[Statement]) -> ReadWindow:
        """Read what the steps of a window assert; the new statements may correct earlier ones that are near.

        Raises:
            ModelError: The model does not answer, or nothing of its reply can be used.
        """
        entries = window.entries
        said, rejected = [], 0
        purpose = Purpose("statements", entries[0].trajectory, entries[0].position, window.asserting)
        for each in self._said(entries, earlier, purpose):
            if (one := _checked(each, entries, earlier)) is None:
                rejected += 1
            else:
                said.append(one)
        if rejected:
            self.model.note_use(purpose, rejected={"no step": rejected})
        return ReadWindow(
            trajectory=entries[0].trajectory,
            read={entry.id: digest_of(entry) for entry in entries},
            shown=tuple((each.trajectory, step) for each in earlier for step in each.steps),
            trust=min(map(trust_of, entries)),
            said=tuple(_bounded(said)),
            model=self.name,
        )

    def _said(
        self, entries: Sequence[Entry], earlier: Sequence[Statement], purpose: Purpose
    ) -> Sequence[StatementReading]:
        from stitch.lm.reading import whole_items
        from stitch.signatures import StatementReading

        told = [f"{n}: {quote({'text': shorten(each.text, limit=_EARLIER_CHARS)})}"
                for n, each in enumerate(earlier, start=1)]  # fmt: skip
        try:
            prediction = self.model.run(
                self._program.extract_statements,
                purpose=purpose,
                earlier_statements="\n".join(told),
                steps=quote_window([_resolved(entry) for entry in entries]),
            )
        except CutReplyError as error:
            if said := whole_items(error.said, StatementReading):
                return said
            raise
        found: Sequence[StatementReading] = prediction.statements
        return found

    def names(self, themes: Sequence[tuple[int, Sequence[str]]]) -> dict[int, str]:
        """Names of themes by their numbers, of the texts of their statements, the most typical first.

        Those that got no name are not there.

        Raises:
            ModelError: The model does not answer, or its reply cannot be used.
        """
        lines = [
            quote({"n": n, "statements": [shorten(text, limit=_EARLIER_CHARS) for text in texts[:_SHOWN_OF_THEME]]})
            for n, (_, texts) in enumerate(themes, start=1)
        ]
        prediction = self.model.run(self._program.name_themes, purpose=Purpose("theme names"), themes="\n".join(lines))
        found: dict[int, str] = {}
        for each in prediction.names:
            name = " ".join(seen(each.name).split())[:_NAME_CHARS].strip(" .\"'")
            if name and 1 <= each.n <= len(themes):
                found.setdefault(themes[each.n - 1][0], name)
        return found


def _resolved(entry: Entry) -> Step:
    """A step with its references replaced by what the labeler read them as."""
    if entry.labels is None or not entry.labels.references:
        return entry.step
    text = apply_rewrites(entry.step.content, entry.labels.references)
    return entry.step.model_copy(update={"content": text})


def _checked(
    reading: StatementReading, entries: Sequence[Entry], earlier: Sequence[Statement]
) -> ModelStatement | None:
    """A statement, if it says something and stands on steps that were shown."""
    text = " ".join(seen(reading.text).split())[: 2 * MOST_CHARS]
    places = sorted({n for n in reading.steps if 1 <= n <= len(entries)})
    if not text or not places:
        return None
    last = next((n for n in reversed(reading.steps) if n in places), places[-1])
    steps = [*(n for n in places if n < last), last]
    corrected = dict.fromkeys(n for n in reading.corrects if 1 <= n <= len(earlier))
    return ModelStatement(
        text,
        tuple(entries[n - 1].id for n in steps),
        _iso(reading.date),
        tuple(earlier[n - 1].id for n in corrected),
    )


def _bounded(said: Iterable[ModelStatement]) -> Iterator[ModelStatement]:
    """Statements cut to the first few of each step, each text once."""
    counts: dict[str, int] = {}
    seen: set[tuple[str, str]] = set()
    for each in said:
        step, own = each.steps[-1], (each.steps[-1], each.text)
        if own not in seen and counts.get(step, 0) < MOST_A_STEP:
            seen.add(own)
            counts[step] = counts.get(step, 0) + 1
            yield each


def _iso(said: str) -> str | None:
    """A day, month or year as it should have been written; None of anything else."""
    text = said.strip()[: len("2026-03-01")]
    if not _ISO.fullmatch(text):
        return None
    with suppress(ValueError):
        date.fromisoformat(f"{text}-01-01"[: len("2026-03-01")] if len(text) < len("2026-03-01") else text)
        return text
    return None

"""Pieces of a context: statements of the best steps and sentences of the longer ones, scored for the question."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stitch.core import MemorySnippet, ScoredSnippet, Statement, Trust
from stitch.retrieve.neighbors import BESIDE
from stitch.retrieve.question import READ_CHARS, QuestionForm
from stitch.retrieve.themes.constants import ThemeConstants
from stitch.retrieve.themes.wording import Wording, folded
from stitch.text.sentences import sentences
from stitch.text.words import count_tokens

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors
    from stitch.themes.reading import Themes

SPEAKER = "speaker"
"""The part of a score that says who spoke."""
_CHARS_A_TOKEN = 7
"""Texts of so many characters a token are rare."""


class ScoredStatement(NamedTuple):
    """A statement, or a step that makes none, with the step that says it."""

    text: str
    snippet: MemorySnippet
    step: str
    """The id of the snippet."""
    statement: Statement | None
    relevance: float


class Sentence(NamedTuple):
    """A part of what is said that can be shown alone."""

    text: str
    tokens: int
    said: ScoredStatement
    """The statement whose sentence it is."""
    number: int
    """Its place in the statement."""


class Part(NamedTuple):
    """A sentence that may be chosen, before it is known which one it is."""

    of: int
    """The place of the statement among all."""
    turn: int
    """0 for the sentence of it that bears most on the question, then the others as they stand."""
    relevance: float


class Pieces:
    """Statements of the best steps and their sentences, the most relevant first; a sentence is read when it is chosen.

    Of hundreds that may be chosen a context has room for some dozens: which sentence of a statement bears most on the
    question, and what a sentence costs, is found out of those alone.

    Args:
        statements: In order.
        parts: In order.
        apart: The sentences of each statement.
        bearing: Which sentence of a statement bears most on the question, by the place of the statement.
    """

    def __init__(
        self,
        statements: Sequence[ScoredStatement],
        parts: Sequence[Part] = (),
        *,
        apart: Sequence[Sequence[str]] = (),
        bearing: Callable[[int], int] = int,
    ) -> None:
        self.statements, self.parts = statements, parts
        self._apart, self._bearing = apart, cache(bearing)

    def sentence(self, part: Part) -> Sentence:
        """The sentence that a part is."""
        texts, number = self._apart[part.of], 0
        if len(texts) > 1:
            bearing = self._bearing(part.of)
            number = part.turn - (part.turn <= bearing) if part.turn else bearing
        return Sentence(texts[number], count_tokens(texts[number]), self.statements[part.of], number)

    def chosen(self, *, budget_tokens: int, repeat: float, first: int, first_repeat: float) -> list[Sentence]:
        """The most relevant sentences, down to so many tokens; what repeats a step loses for each that it has there.

        Args:
            budget_tokens: How many tokens they have together, or a few more.
            repeat: The loss, as a share of the best relevance.
            first: Of so many steps that are chosen first, sentences lose `first_repeat` instead.
            first_repeat: As `repeat`.
        """
        numbers: dict[str, int] = {}
        steps = np.array([numbers.setdefault(self.statements[part.of].step, len(numbers)) for part in self.parts])
        worth = np.array([part.relevance for part in self.parts])
        best = worth.max(initial=0.0) or 1.0
        seen: dict[int, float] = {}
        found: list[Sentence] = []
        while budget_tokens > 0 and len(found) < len(self.parts):
            place = int(worth.round(9).argmax())  # processors differ in what comes after
            worth[place] = -np.inf
            found.append(self.sentence(self.parts[place]))
            budget_tokens -= found[-1].tokens
            step = int(steps[place])
            worth[steps == step] -= best * seen.setdefault(step, first_repeat if len(seen) < first else repeat)
        return found


@dataclass(frozen=True, kw_only=True)
class PieceReader:
    """Reader of statements and sentences for a question.

    Attributes:
        constants: What counts how much.
        embed: Makes the vectors of sentences.
        form: What the question asks for.
        calls: Whether it asks for calls: they say nothing that stands alone, so words tell little of them, and their
            rank counts more.
        min_trust: A step whose statements took in words that are trusted less is read as it is.
    """

    constants: ThemeConstants
    embed: Callable[[Sequence[str]], Vectors]
    form: QuestionForm
    calls: bool = False
    min_trust: Trust | None = None

    def read(
        self,
        hits: Sequence[ScoredSnippet],
        *,
        question: str,
        vector: Vectors,
        hierarchy: Themes | None,
        tokens: int,
    ) -> Pieces:
        """Score the statements of steps, down to about so many tokens.

        Without a hierarchy, steps are read as they are.
        """
        ranks = self._ranks(hits)
        made = _said(hits, ranks, hierarchy, least=self.min_trust)
        if not made:
            return Pieces(())
        texts = [folded(each.text[:READ_CHARS]) for each in made]
        wording = Wording(question, texts)
        vectors = _vectors(made, hierarchy, dimension=len(vector))
        relevance = self._relevance(made, wording.of_texts, vectors @ vector)
        if by := self._speakers(hits):
            relevance = [told + by.get(each.snippet.role, 0.0) for told, each in zip(relevance, made, strict=True)]
        order = sorted(range(len(made)), key=lambda place: -relevance[place])
        kept: list[int] = []
        for place in order:
            kept.append(place)
            tokens -= len(texts[place]) // 5
            if tokens < 0:
                break
        statements = [made[place]._replace(relevance=relevance[place]) for place in kept]
        return self._pieces(statements, wording, vector)

    def _speakers(self, hits: Sequence[ScoredSnippet]) -> dict[str, float]:
        """Bonus for the steps of each role that is asked of; steps beside hits have no parts, but a role."""
        if self.form.wide:
            return {}
        return {hit.snippet.role: self.constants.speaker * hit.parts[SPEAKER] for hit in hits if hit.parts.get(SPEAKER)}

    def _relevance(self, made: Sequence[ScoredStatement], said: Sequence[float], alike: Vectors) -> list[float]:
        """Score each statement: its own words and vector, and the rank of its step."""
        known = self.constants
        share = known.step_share
        found = []
        for each, words, near in zip(made, said, alike.tolist(), strict=True):
            lexical = words / (words + known.half_lexical)
            own = lexical if each.statement is None else (
                (1 - known.lexical_share) * near + known.lexical_share * lexical
            )  # fmt: skip
            raw = 0.0 if self.form.of_many_steps or each.statement is not None else known.raw
            told = (1 - share) * own + share * each.relevance - raw
            if self.calls and each.statement is None:
                told += known.calls_share * max(0.0, each.relevance - told)
            found.append(round(told, 5))  # processors differ in what comes after
        return found

    def _pieces(self, statements: Sequence[ScoredStatement], wording: Wording, vector: Vectors) -> Pieces:
        """The statements, or their sentences; of each the one that bears most on the question counts in full."""
        known = self.constants
        apart = [_apart(each.text) if self._is_long(each.text) else [each.text] for each in statements]
        several = [number for number, texts in enumerate(apart) if len(texts) > 1]
        compared = frozenset(several[: known.embedded])
        less = known.rest * statements[0].relevance
        parts = [
            Part(number, turn, each.relevance - (less if turn else 0.0))
            for number, (each, texts) in enumerate(zip(statements, apart, strict=True))
            for turn in range(len(texts))
        ]
        parts.sort(key=lambda part: -part.relevance)

        def bearing(number: int) -> int:
            if not less:  # none of them is before the others, so they stay as they stand
                return 0
            return self._bearing(apart[number], wording, vector if number in compared else None)

        return Pieces(statements, parts, apart=apart, bearing=bearing)

    def _is_long(self, text: str) -> bool:
        """Whether a statement is shown sentence by sentence; its beginning mostly tells."""
        most, least_chars = self.constants.whole_tokens, self.constants.whole_tokens * _CHARS_A_TOKEN
        begun = count_tokens(text[:least_chars]) > most
        return begun or (len(text) > least_chars and count_tokens(text) > most)

    def _bearing(self, texts: Sequence[str], wording: Wording, vector: Vectors | None) -> int:
        """Index of the sentence that bears most on the question: by words, and by its vector where one is given."""
        half = self.constants.half_lexical
        told = [each / (each + half) for each in wording.each(map(folded, texts))]
        if vector is not None:
            near = (self.embed(texts) @ vector).tolist()
            told = [value + other for value, other in zip(told, near, strict=True)]
        return max(range(len(told)), key=lambda place: (told[place], -place))

    def _ranks(self, hits: Sequence[ScoredSnippet]) -> dict[str, float]:
        """Rank score of each step, from 0 to 1, by the id of its snippet, smoothed over the steps around."""
        known = self.constants
        if self.form.wide and hits and BESIDE in hits[0].parts:  # those around have been looked at
            return {hit.snippet.id: rank for hit, rank in zip(hits, _of_stretches(hits), strict=True)}
        own = _monotone(hits)
        share, steps = (
            (known.wide_around_share, known.wide_around_steps)
            if self.form.wide
            else (known.around_share, known.around_steps)
        )
        if not share or not hits:
            return {hit.snippet.id: rank for hit, rank in zip(hits, own, strict=True)}
        least = min(own)
        weights = np.exp(-np.arange(int(3 * steps) + 1) / steps)
        weights[0] = 0.0
        of_trajectory: dict[str, list[int]] = {}
        for number, hit in enumerate(hits):
            of_trajectory.setdefault(hit.snippet.trajectory, []).append(number)
        for numbers in of_trajectory.values():
            at = np.array([hits[number].snippet.position for number in numbers])
            away = np.minimum(np.abs(at[:, None] - at[None, :]), len(weights))
            near = np.append(weights, 0.0)[away]
            above = np.array([own[number] for number in numbers]) - least
            around = near @ above / (2 * weights.sum()) + least
            for number, found in zip(numbers, around.tolist(), strict=True):
                own[number] = (1 - share) * own[number] + share * found
        return {hit.snippet.id: rank for hit, rank in zip(hits, own, strict=True)}


def _monotone(hits: Sequence[ScoredSnippet]) -> list[float]:
    """The scores of hits beside the best one's, none below that of a hit that stands lower."""
    scores, highest = [], -math.inf
    for hit in reversed(hits):
        highest = max(highest, hit.score)
        scores.append(highest)
    scores.reverse()
    most = max(scores[:1], default=1.0)
    return [score / most for score in scores] if most > 1 else scores


def _of_stretches(hits: Sequence[ScoredSnippet]) -> list[float]:
    """Rank scores of steps in the order of `with_stretches`: the first by score, those below by place."""
    first = [hit for hit in hits if hit.parts[BESIDE] == 1.0]
    own, others = _monotone(first), [hit.parts[BESIDE] for hit in hits[len(first) :]]
    most = max(others, default=1.0) or 1.0
    return own + [own[-1] * math.sqrt(max(0.0, worth) / most) for worth in others]


def _apart(text: str) -> list[str]:
    """The sentences of a text; of one alone the text as it is."""
    found = sentences(text)
    return found if len(found) > 1 else [text]


def _said(
    hits: Sequence[ScoredSnippet], ranks: Mapping[str, float], hierarchy: Themes | None, *, least: Trust | None
) -> list[ScoredStatement]:
    made: list[ScoredStatement] = []
    steps = [(hit.snippet.trajectory, hit.snippet.step) for hit in hits]
    said = [()] * len(steps) if hierarchy is None else hierarchy.said_in(steps)
    for (name, rank), hit, own in zip(ranks.items(), hits, said, strict=True):
        snippet = hit.snippet
        if own and (least is None or min(each.trust for each in own) >= least):
            made += [ScoredStatement(each.text, snippet, name, each, rank) for each in own]
        elif snippet.text.strip():
            made.append(ScoredStatement(snippet.resolved, snippet, name, None, rank))
    return made


def _vectors(made: Sequence[ScoredStatement], hierarchy: Themes | None, *, dimension: int) -> Vectors:
    vectors = np.zeros((len(made), dimension), np.float32)
    places = [place for place, each in enumerate(made) if each.statement is not None]
    if hierarchy is not None and places:
        vectors[places] = hierarchy.vectors_of([made[place].statement.id for place in places])  # type: ignore[union-attr]
    return vectors

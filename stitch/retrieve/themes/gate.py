"""How uncertain the answer to a question is, given a context: what decides whether showing more pays (Stage II, §4.3).

Three forms behind one protocol, each from 0 (sure) to 1: without a model, by answers of one, by its probabilities.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from stitch.retrieve.context.quoting import quote
from stitch.retrieve.question.reading import read_question
from stitch.retrieve.themes.wording import beginning, folded
from stitch.text.languages import content_stems
from stitch.text.values import find_mentions
from stitch.text.words import stem, words

if TYPE_CHECKING:
    from stitch.lm import LanguageModel, Sample


class Uncertainty(NamedTuple):
    """How uncertain an answer is."""

    value: float
    """From 0, sure, to 1."""
    method: str
    """How it was found: figures of different methods are not to be compared."""


@runtime_checkable
class Gate(Protocol):
    """Tells how uncertain the answer to a question is."""

    def uncertainty(self, question: str, context: Sequence[str]) -> Uncertainty:
        """How uncertain the answer is, given these texts and nothing else."""
        ...


class ClueGate:
    """Without a model: whether what the question names stands together, and beside it what it asks for.

    `1 - (.4 best + .3 all + .2 answered + .1 margin)`: the share of the question's clues that the best text says, the
    share that all say, whether one of the best texts has a value of the class that is asked for, and how far the best
    leads.
    """

    def uncertainty(self, question: str, context: Sequence[str]) -> Uncertainty:
        """How uncertain the answer is, given these texts and nothing else."""
        read = read_question(question)
        clues = [beginning(each) for each in dict.fromkeys(content_stems(question)[:_MOST_CLUES])]
        if not clues or not context:
            return Uncertainty(1.0, "clues")
        texts = [folded(text) for text in context]
        shares = [sum(clue in text for clue in clues) / len(clues) for text in texts]
        order = sorted(range(len(texts)), key=lambda place: (-shares[place], place))
        best = shares[order[0]]
        said = sum(any(clue in text for text in texts) for clue in clues) / len(clues)
        classes = {*read.classes, *read.facts, *([read.kind] if read.kind else [])}
        answered = any(_answers(context[place], classes, clues) for place in order[:_ANSWERING])
        second = shares[order[1]] if len(order) > 1 else 0.0
        margin = (best - second) / best if best else 0.0
        return Uncertainty(1 - (0.4 * best + 0.3 * said + 0.2 * answered + 0.1 * margin), "clues")


_MOST_CLUES = 32
_ANSWERING = 3
_MOST_READ = 1_000
_LEAST_WORDS = 3
"""A text that says so many words beside those of the question may answer it, where no class is asked for."""


def _answers(text: str, classes: set[str], clues: Sequence[str]) -> bool:
    if classes:
        return any(found.entity_type in classes for found in find_mentions(text[:_MOST_READ]))
    own = set(map(beginning, content_stems(text[:_MOST_READ])))
    return len(own.difference(clues)) >= _LEAST_WORDS


class SampledGate:
    """By self-consistency: how little several short answers of a model agree, and how many of them answer at all.

    Args:
        model: Answers.
        answers: How many answers.
    """

    def __init__(self, model: LanguageModel, *, answers: int = 3) -> None:
        self._model, self._answers = model, answers

    def uncertainty(self, question: str, context: Sequence[str]) -> Uncertainty:
        """How uncertain the answer is, given these texts and nothing else."""
        samples = _asked(self._model, question, context, count=self._answers, temperature=0.7)
        sets = [set(map(stem, words(sample.text))) for sample in samples]
        sets = [own for own in sets if own and not _NOTHING.search(" ".join(sorted(own)))]
        pairs = [len(a & b) / len(a | b) for a, b in combinations(sets, 2)]
        agreed = sum(pairs) / len(pairs) if pairs else 0.0
        return Uncertainty(1 - agreed * len(sets) / self._answers, "self-consistency")


class LikelihoodGate:
    """By the probabilities of a model's answer, where its provider tells them; by self-consistency where it does not.

    Args:
        model: Answers.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model, self._otherwise = model, SampledGate(model)

    def uncertainty(self, question: str, context: Sequence[str]) -> Uncertainty:
        """How uncertain the answer is, given these texts and nothing else."""
        [sample] = _asked(self._model, question, context, count=1, temperature=0.0, told=True)
        if (mean := sample.mean_log_probability) is None:
            return self._otherwise.uncertainty(question, context)
        return Uncertainty(1 - math.exp(min(mean, 0.0)), "log-probabilities")


def _asked(
    model: LanguageModel,
    question: str,
    context: Sequence[str],
    *,
    count: int,
    temperature: float,
    told: bool = False,
) -> list[Sample]:
    from stitch.lm import Purpose
    from stitch.signatures.gates import ANSWER_SHORTLY

    lines = "\n".join(f"<step>{quote(text)}</step>" for text in context)
    return model.sample(
        f"{lines}\n\nQuestion: {quote(question)}\nAnswer:",
        purpose=Purpose("gate"),
        system=ANSWER_SHORTLY,
        count=count,
        temperature=temperature,
        log_probabilities=told,
    )


_NOTHING = re.compile(r"\bunknown\b")

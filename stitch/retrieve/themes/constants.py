"""Every constant of this lens that was chosen on data, with where; what was tried stands in `bench/EXPERIMENTS.md`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from stitch.retrieve.question import QuestionForm

T = TypeVar("T", int, float)

CHOSEN_ON = "chosen_on"
"""Under this key the metadata of a field names the sets on which it was chosen."""

_SETS = "LoCoMo (multi-hop), BEAM, QMSum"
_SPANS = "QMSum, BEAM"
_FIRST = "LoCoMo (every fifteenth question, multi-hop), agent_runs, experience"
_POOLS = "LoCoMo, BEAM, QMSum, agent_runs, experience"
_HALF = "five conversations of LoCoMo (multi-hop)"


def chosen(value: T, on: str) -> T:
    """A field with the name of the sets on which its default was chosen."""
    made: T = field(default=value, metadata={CHOSEN_ON: on})
    return made


@dataclass(frozen=True, kw_only=True)
class ThemeConstants:
    """Constants of the lens of themes. Relevances are between 0 and 1."""

    pool: int = chosen(300, _SETS)
    """So many steps at most, as the intent lens ranks them, are looked at sentence by sentence."""
    least_pool: int = chosen(60, _POOLS)
    """So many at least, and one more for each `tokens_a_step` of the budget: in few tokens the hundredth step has no
    place, and takes that of a better one. What was said over a stretch, and in what order, is asked of all."""
    tokens_a_step: int = chosen(17, _POOLS)
    least_read_tokens: int = chosen(5_700, "LoCoMo, BEAM")
    """Statements of so many tokens at least are read sentence by sentence, however small the budget: a context in which
    each step has one sentence needs many more steps than it has room for whole."""
    lexical_share: float = chosen(0.5, _SETS)
    """How much words count beside vectors in the likeness of a statement and a question."""
    half_lexical: float = chosen(10.0, _SETS)
    """The sum of lexical weights that counts one half."""
    step_share: float = chosen(0.75, _SETS)
    """How much the rank of a step counts beside what its statement says."""
    around_share: float = chosen(0.4, _SETS)
    """Of the rank of a step, so much is that of the steps around it."""
    around_steps: float = chosen(6.0, _SETS)
    """At so many steps, a third of the weight is left."""
    speaker: float = chosen(1.3, "LoCoMo (multi-hop), BEAM")
    """So many times what who said a step adds to its rank counts here once more, unless a summary or a discussion is
    asked for: what both speak of, the one who is asked of tells."""
    wide_around_share: float = chosen(0.7, _SPANS)
    """The share of the steps around where a question asks for a summary or a discussion."""
    wide_around_steps: float = chosen(8.0, _SPANS)
    repeat: float = chosen(0.3, _HALF)
    """What a sentence loses for each one of its step that is chosen already, as a share of the best relevance."""
    first_steps: int = chosen(5, _FIRST)
    """Of so many steps that are chosen first a sentence loses less, unless a summary or an order is asked for: one of
    them mostly says the fact that is asked for, and not in the sentence that is most like the question."""
    first_repeat: float = chosen(0.12, _FIRST)
    rest: float = chosen(0.05, _SETS)
    """What all sentences of a statement lose but the one that bears most on the question."""
    raw: float = chosen(0.03, _SETS)
    """What a step loses that says nothing which stands alone, unless a summary or an order is asked for: of what was
    said over a stretch it is a part."""
    calls_share: float = chosen(0.5, "experience, agent_runs")
    """Where calls are asked for, a step that says nothing is lifted by so much of the way up to its rank."""
    whole_tokens: int = chosen(20, _SETS)
    """Statements of up to so many tokens are shown whole; of longer ones, sentence by sentence."""
    embedded: int = chosen(100, _SETS)
    """Of so many statements the sentences are compared with the question by vectors too, and not by words alone."""

    def depth(self, form: QuestionForm, *, budget_tokens: int) -> int:
        """The number of steps looked at for a question of a form."""
        if form.of_many_steps:
            return self.pool
        return min(self.pool, self.least_pool + budget_tokens // self.tokens_a_step)


THEME_CONSTANTS = ThemeConstants()

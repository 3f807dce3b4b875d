"""Whether the scores of hits tell which of them may be left out."""

from __future__ import annotations

from collections.abc import Sequence

from stitch.core import ScoredSnippet
from stitch.retrieve.constants import Constants
from stitch.retrieve.question.form import QuestionForm, form_of
from stitch.retrieve.rank.scorers import tells_of_runs
from stitch.retrieve.rank.stretches import among_many
from stitch.text.languages import is_foreign, language_of

_WIDE = frozenset((QuestionForm.COMPARISON, QuestionForm.ORDER, QuestionForm.SUMMARY))
"""Where several matters are asked about, what is told of one lies far below the best hit, which tells of another."""


def scores_tell(hits: Sequence[ScoredSnippet], query: str, *, constants: Constants) -> bool:
    """Whether a context may stop where hits lie far below the best one.

    Not where labels decide or an agent's runs are asked, for there the score alone is not what finds; nor where several
    matters are asked about, where many talk, where nothing is alike, and in languages of which the vectors know little.
    """
    if tells_of_runs(hits) or any(hit.density for hit in hits):
        return False
    if max((hit.similarity for hit in hits), default=0.0) < constants.stop_similarity:
        return False
    if among_many(hits, constants=constants):
        return False
    return form_of(query) not in _WIDE and not is_foreign(language_of(query))

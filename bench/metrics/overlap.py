"""Words of answers and contexts: overlap with gold by tokens and subsequences, BLEU, names that are said."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from stitch.bench.metrics.answers import normalize
from stitch.bench.metrics.scores import harmonic
from stitch.errors import require_extra

# Words as answer metrics see them: lower case, no marks; content words are those that are no function words.

_WORD = re.compile(r"[^\W_]+(?:\.\d+)?(?:'[^\W_]+)?")

_FUNCTION_WORDS = """
a about an and are as at be been being but by can could did do does for from had has have he her here him his how i
if in into is it its may me might must my no not of on or our she should so than that the their them then there
these they this those to us was we were what when where which who whom why will with would you your
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English words that carry no content of their own."""


def words(text: str) -> list[str]:
    """The words and numbers of a text, folded, in order."""
    return _WORD.findall(text.casefold().replace("’", "'"))


# Token F1 of an answer (Rajpurkar et al. 2016, SQuAD).
#
# After folding case and dropping marks and articles, with c the number of shared tokens, repeated as they occur:
# P = c / |answer|, R = c / |gold|, F1 harmonic. Two empty texts agree; one empty text scores 0.


def token_f1(answer: str, gold: str) -> float:
    """Token F1, from 0 to 1."""
    given, wanted = normalize(answer).split(), normalize(gold).split()
    if not given or not wanted:
        return float(given == wanted)
    shared = (Counter(given) & Counter(wanted)).total()
    return harmonic(shared / len(given), shared / len(wanted))


# ROUGE-L F1 (Lin 2004, §3.1): with l the longest common subsequence of tokens, P = l / |answer|, R = l / |gold|.


def rouge_l(answer: str, gold: str) -> float:
    """ROUGE-L F1 over folded words, from 0 to 1; two empty texts agree, one empty text scores 0."""
    given, wanted = words(answer), words(gold)
    if not given or not wanted:
        return float(given == wanted)
    longest = _common_subsequence(given, wanted)
    return harmonic(longest / len(given), longest / len(wanted))


def _common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    lengths = [0] * (len(other) + 1)
    for word in one:
        above_left = 0
        for place, candidate in enumerate(other, start=1):
            above = lengths[place]
            lengths[place] = above_left + 1 if word == candidate else max(above, lengths[place - 1])
            above_left = above
    return lengths[-1]


# BLEU (Papineni et al. 2002), by sacrebleu: BLEU-1 of one answer.


def bleu_1(answer: str, gold: str) -> float:
    """Unigram BLEU of one answer, from 0 to 1: clipped unigram precision times the brevity penalty; unsmoothed."""
    metric = _bleu(max_ngram_order=1, lowercase=True, smooth_method="none", effective_order=True)
    return float(metric.sentence_score(answer, [gold]).score) / 100


def _bleu(**options: Any) -> Any:
    require_extra("bench", package="sacrebleu", needed_by="BLEU")
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(**options)


# Entity resolution recall: the share of implicit references spelled out in the memory (Appendix B, Eq. 1).
#
# ERR = Σ V(e_i, m_i) / |T_gold|, where V is 1 if the gold entity e_i of operation i stands in the text of snippet m_i,
# after lower-casing and trimming blanks.


def surfaces(entity: str, snippet: str) -> bool:
    """V(e, m): whether the entity's name stands in the snippet; blanks and letter case do not count."""
    name = " ".join(entity.lower().split())
    return bool(name) and name in " ".join(snippet.lower().split())


_ENDS = re.compile(r"\n(?=<step |</memory>)")
_STEP = re.compile(r"<step (\d+)([^>]*)>(.*)", re.DOTALL)
_SCOPE = re.compile(r' about (?:"(?P<quoted>[^"]*)"|(?P<plain>[^"]+?))(?= superseded | because |$)')


def said_in_context(context: str) -> str:
    """The words of the steps of a context, with their scopes: no number of a step is taken for an answer."""
    found = list(filter(None, map(_STEP.match, _ENDS.split(context))))
    if not found:
        return context
    return "\n".join(html.unescape(f"{_scope(step[2])} {step[3]}") for step in found)


def _scope(told: str) -> str:
    found = _SCOPE.search(told)
    return (found["quoted"] or found["plain"] or "") if found else ""

"""Words of answers and contexts: overlap with gold by tokens and subsequences, BLEU, names that are said."""

from __future__ import annotations

import html
import re
from collections import Counter

from stitch.bench.metrics.answers import normalize
from stitch.bench.metrics.scores import harmonic
from stitch.errors import require_extra

_WORD = re.compile(r"[^\W_]+(?:\.\d+)?(?:'[^\W_]+)?")


def words(text: str) -> list[str]:
    """The words and numbers of a text, folded, in order."""
    return _WORD.findall(text.casefold().replace("’", "'"))


def token_f1(answer: str, gold: str) -> float:
    """Token F1 (Rajpurkar et al. 2016, SQuAD): shared tokens, repeated as they occur, without marks and articles.

    Two empty texts agree; one empty text scores 0.
    """
    given, wanted = normalize(answer).split(), normalize(gold).split()
    return _f1((Counter(given) & Counter(wanted)).total(), given, wanted)


def rouge_l(answer: str, gold: str) -> float:
    """ROUGE-L F1 (Lin 2004, §3.1): the longest common subsequence of folded words; of empty texts as `token_f1`."""
    given, wanted = words(answer), words(gold)
    lengths = [0] * (len(wanted) + 1)
    for word in given:
        above_left = 0
        for place, candidate in enumerate(wanted, start=1):
            above = lengths[place]
            lengths[place] = above_left + 1 if word == candidate else max(above, lengths[place - 1])
            above_left = above
    return _f1(lengths[-1], given, wanted)


def _f1(shared: int, given: list[str], wanted: list[str]) -> float:
    if not given or not wanted:
        return float(given == wanted)
    return harmonic(shared / len(given), shared / len(wanted))


def bleu_1(answer: str, gold: str) -> float:
    """Unigram BLEU of one answer by sacrebleu: clipped unigram precision times the brevity penalty; unsmoothed."""
    require_extra("bench", package="sacrebleu", needed_by="BLEU")
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(max_ngram_order=1, lowercase=True, smooth_method="none", effective_order=True)
    return float(metric.sentence_score(answer, [gold]).score) / 100


def surfaces(entity: str, snippet: str) -> bool:
    """V(e, m) of entity resolution recall (Appendix B, Eq. 1): whether the entity's name stands in the snippet.

    Blanks and letter case do not count.
    """
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

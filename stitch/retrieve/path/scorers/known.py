"""Scores that depend on a text alone, kept by scorer, condition and text: a commit has only its changes scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stitch.core.text_cache import text_cache
from stitch.retrieve.path.scorers.protocol import Scorer

_MOST_TEXTS = 50_000


def scored_once(
    scorer: Scorer, condition: str, texts: Sequence[str], score: Callable[[str, Sequence[str]], Sequence[float]]
) -> tuple[float, ...]:
    """The score of each text; what is not known yet is scored in one batch, each different text once.

    Args:
        scorer: Whose scores these are.
        condition: What is asked.
        texts: What is scored; an empty one is 0.
        score: Scores different texts, in their order.
    """
    known = _known(scorer, condition)
    new = tuple(dict.fromkeys(text for text in texts if text.strip() and text not in known))
    if len(known) + len(new) > _MOST_TEXTS:
        known.clear()
        new = tuple(dict.fromkeys(text for text in texts if text.strip()))
    if new:
        known.update(zip(new, score(condition, new), strict=True))
    return tuple(known.get(text, 0.0) for text in texts)


@text_cache(maxsize=256)
def _known(scorer: Scorer, condition: str) -> dict[str, float]:
    return {}

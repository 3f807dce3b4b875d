"""Gold items count where a reader can tell whose they are, what was done with them, and when."""

from __future__ import annotations

import pytest

from stitch.bench.metrics.attribution import NOTHING_TIES, Frame, frames_of, tied_items
from stitch.bench.metrics.containment import normalize

SPEECH = 'I cannot accept the second reason you gave. It is not so. "AIC (2023)" found the contrary.'
ITEM = normalize("AIC (2023)")
ASKED = "List the evidence used by the con side to attack the opponent."


def context(*steps: tuple[int, str, str]) -> str:
    return "<memory>\n" + "".join(f"<step {n} con{told}>{text}\n" for n, told, text in steps) + "</memory>"


def test_a_bare_item_is_not_tied_and_one_behind_its_opening_is() -> None:
    frames = list(frames_of([ITEM], [(4, SPEECH)]))
    assert frames == [Frame(4, ITEM, normalize("I cannot accept the second reason you gave."))]
    for text, score in (
        ('"AIC (2023)" found the contrary.', 0.0),
        ('I cannot accept the second reason you gave. … "AIC (2023)" found the contrary.', 1.0),
        ("I cannot accept the second reason you gave.", 0.0),
        (SPEECH, 1.0),
    ):
        assert tied_items(ASKED, context((4, "", text)), items=[ITEM], frames=frames) == score
    assert tied_items(ASKED, context((5, "", SPEECH)), items=[ITEM], frames=frames) == 0.0


@pytest.mark.parametrize(
    ("steps", "score"),
    [
        ([(3, " about day 2", "It is $76.22.")], 0.0),
        ([(3, ' about "day 1, Hyperion Horizon Dining"', "It is $76.22.")], 1.0),
        ([(3, "", "At the Hyperion Horizon Dining on day 1 it is $76.22.")], 1.0),
        ([(2, "", "What is the Hyperion Horizon Dining of day 1?"), (3, "", "It is $76.22.")], 1.0),
        ([(1, "", "What is the Hyperion Horizon Dining of day 1?"), (3, "", "It is $76.22.")], 0.0),
        ([(2, " about day 1", "Well?"), (3, "", "Hyperion Horizon Dining: $76.22.")], 1.0),
        ([(2, " about day 1", "Well?"), (3, ' about ""', "Hyperion Horizon Dining: $76.22.")], 0.0),
    ],
)  # fmt: skip
def test_what_a_question_names_ties_an_item_beside_it(steps: list[tuple[int, str, str]], score: float) -> None:
    asked = "What is the price of the Hyperion Horizon Dining as mentioned on Day 1?"
    assert tied_items(asked, context(*steps), items=[normalize("$76.22")], frames=[]) == score


def test_what_nothing_could_tie_is_left_out() -> None:
    assert tied_items("Which was it?", context((1, "", "AIC (2023)")), items=[ITEM], frames=[]) == NOTHING_TIES
    assert tied_items("Which?", context(), items=[ITEM, "x"], frames=[Frame(1, ITEM, "i say")]) == 0.0

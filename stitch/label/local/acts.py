"""Event types (§2.2.2): what a step does, from one closed list, whatever it is about.

Calls, results and instructions show it by what they are; words are weighed by a linear model over the vector of the
step and a few cues (`python -m stitch.bench.fit acts`). An act of which the model is not sure is not given.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from stitch.core.intent import GOAL_OPENED, INSTRUCTS
from stitch.label.local.calls import deeds_of
from stitch.label.local.outcomes import BAD_OUTCOMES, FAILURE, outcome_of_step
from stitch.label.local.reading import CALL, INSTRUCTIONS, NOTICE, RESULT, StepFeatures
from stitch.label.local.weights import ActWeights, shipped_act_weights
from stitch.text.sentences import SentenceForm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

IN_WORDS = (
    "ask", "answer", "inform", "request", "propose", "offer", "check", "decide", "confirm", "reject", "correct",
    "thank", "greet", "part",
)  # fmt: skip
"""Acts of words: *offer* is help or a service, *propose* a thing to choose; *check* asks whether something is right;
*part* is to say goodbye."""
CALL_TOOL, REPORT_RESULT, REPORT_ERROR, NOTIFY = "call tool", "report result", "report error", "notice"
_SECOND_CHANCE = 0.3
"""From this probability on, an act is given beside a more probable one."""
_FORMS = tuple(SentenceForm)
_CUES = tuple(
    re.compile(rf"(?<!\w)(?:{words})(?!\w)")
    for words in (
        r"it is\W*$|then we|(?:we|i)(?:'ll| will)? (?:take|have|go with|stay)|let's (?:say|take|use)|settled|decided",
        r"actually|wait|i (?:meant|mean|said|misread)|was wrong|mistake|no,? (?:it|that|not)|not \w+ \w+, it",
        r"(?:how|what) about|maybe|(?:we|you|i) could|why don't|suggest|recommend|shall we|option",
        r"can't|cannot|won't|don't|not possible|no way|unfortunately|afraid|impossible|nah",
        r"(?:right|correct|ok|okay|sure|true)\W*\?|you mean|to (?:be|make) sure|did(?:n't)? you",
    )
)
"""Words of deciding, correcting, proposing, rejecting and checking."""


def cues_of(reading: StepFeatures, turn_cues: Sequence[float]) -> list[float]:
    """Cues of an act beside the words: forms of sentences, who speaks, what was asked before."""
    said = reading.lowered.rstrip()
    first = reading.forms[0] if reading.forms else SentenceForm.STATEMENT
    return [
        *(float(form in reading.forms) for form in _FORMS),
        *(float(form is first) for form in _FORMS),
        *turn_cues,
        *(float(cue.search(said) is not None) for cue in _CUES),
        float(said.endswith("?")),
        float(len(reading.forms) == 1),
        float(bool(reading.mentions)),
        min(len(reading.mentions), 4) / 4,
    ]


def acts_in_words(
    cues: Sequence[float], vector: NDArray[np.float32], weights: ActWeights | None = None
) -> list[tuple[str, float]]:
    """The most probable act of words, and a second one that is probable as well, each with its probability."""
    weights = weights or shipped_act_weights()
    ranked = sorted(zip(weights.acts, weights.chances(cues, vector), strict=True), key=itemgetter(1), reverse=True)
    return [ranked[0], *(pair for pair in ranked[1:2] if pair[1] >= _SECOND_CHANCE)]


def acts_by_structure(reading: StepFeatures, *, deed: str) -> list[str]:
    """The acts of a step that is no words; empty for words. `deed` is what the last call of its scope did."""
    if reading.kind == INSTRUCTIONS:
        return [INSTRUCTS]
    if reading.kind == CALL:
        return [CALL_TOOL, *deeds_of(reading.calls)]
    if reading.kind == RESULT or reading.step.metadata.get("outcome") == FAILURE:
        outcome = outcome_of_step(reading.step, act=deed)
        return [REPORT_ERROR if outcome in BAD_OUTCOMES else REPORT_RESULT, outcome]
    if reading.kind == NOTICE:
        return [NOTIFY]
    return []


CLOSED = (*IN_WORDS, CALL_TOOL, REPORT_RESULT, REPORT_ERROR, NOTIFY, INSTRUCTS, GOAL_OPENED)
"""All acts; a call has the verb of its tool beside it, a result how it came out."""

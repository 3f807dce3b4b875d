"""What tells the scope of a step in another language than English: whether it answers, and where its words are known.

The weights of `scope_weights.json` were learned on English, where much is read that is not read here.
"""

from __future__ import annotations

from collections.abc import Collection

from stitch.label.local.evidence import Scope, Stream
from stitch.label.local.reading import AGENTS, Reading
from stitch.text.forms import SentenceForm

_FEW_WORDS = 3
"""With fewer words that carry a subject, nobody turns to one."""
_SETTLING = (SentenceForm.AGREEMENT, SentenceForm.REFUSAL)


def goes_on(reading: Reading, current: Scope, stream: Stream) -> bool:
    """Whether a step takes up what another said last: an assistant's turn, an answer, a "yes", a few words."""
    if stream.last_role == reading.role:
        return False
    if reading.role in AGENTS:
        return True
    if reading.switches or reading.returns:
        return False
    is_answer = current.asker not in ("", reading.role) and current.opens != "request"  # advice awaits nothing
    settles = bool(reading.forms) and reading.forms[0] in _SETTLING
    return is_answer or settles or len(reading.stem_set) < _FEW_WORDS


def known_in(reading: Reading, scopes: Collection[Scope], stream: Stream) -> dict[int, float]:
    """By scope, its share of the weight of those words of a step that any of the scopes knows.

    New words speak for no scope and against none: where words are cut into pairs of signs, or change their endings,
    most are new.
    """
    shares = {scope.number: 0.0 for scope in scopes}
    for stem, weight in stream.weigh(sorted(reading.stem_set)).items():
        counts = {scope.number: scope.terms[stem] for scope in scopes if stem in scope.terms and not stem.isdigit()}
        for number, count in counts.items():
            shares[number] += weight * count / sum(counts.values())
    total = sum(shares.values()) or 1.0
    return {number: share / total for number, share in shares.items()}

"""Trust propagation: the trust of a step falls to that of the least trusted words it took in, and never rises."""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from stitch.core import (
    CorrectableSession,
    LabelInventory,
    LabelSession,
    RevisingSession,
    Step,
    StepLabels,
    Trust,
)
from stitch.core.intent import LABEL_FIELDS
from stitch.core.summaries import head_of
from stitch.core.text_cache import text_cache
from stitch.journal.entries import Entry, borrowed_trust

WINDOW_STEPS = 96
"""Among so many steps before it a step's borrowed words are looked for: more than a prompt shows that labels it."""

_REMEMBERED_STEPS = 1_024
"""Of so many steps the trust is remembered: more than are labeled before their labels are in the journal."""
_HEAD_CHARS, _TAIL_CHARS = 6_000, 2_000
_WORD = re.compile(r"\w{3,}")
"""A word of one or two letters is nobody's."""


class Past(NamedTuple):
    """An earlier step."""

    id: str | None
    trust: Trust
    """Of its resolved text, with all that it took in."""
    said: Trust
    """Of its own words."""
    words: frozenset[str]


class LineageSession:
    """A labeling that also says how far its labels' borrowed words may be believed (`StepLabels.trust`).

    A reference that was resolved from an earlier step has that step's trust. Every other word of the summary or a
    replacement that is not the step's own has the trust of the most trusted of the last 96 steps, and of the steps
    referred to, that says it; a word that none of them says was found by whoever labels, and is trusted as an agent's.
    A context with words that only tools and documents say is left out, unless the step is no more trusted than these.
    Labels that already know their trust are left as they are.
    A step that `earlier` does not find is not trusted.
    """

    def __init__(
        self,
        session: LabelSession,
        *,
        before: Iterable[Entry] = (),
        earlier: Callable[[str], Entry | None] = lambda step: None,
    ) -> None:
        self._session = session
        self._past: deque[Past] = deque(maxlen=WINDOW_STEPS)
        self._earlier = earlier
        self._trusts: OrderedDict[str, Trust] = OrderedDict()
        for entry in before:
            if entry.labels is not None:
                self._take(entry.step, entry.labels)

    def label(self, steps: Sequence[Step]) -> list[StepLabels]:
        """Label the next steps of the trajectory; see `LabelSession.label`."""
        labels = self._session.label(steps)
        if len(labels) != len(steps):  # whoever asked says what is wrong
            return labels
        traced = []
        for step, made in zip(steps, labels, strict=True):
            if made.trust is None:
                trust, context = self._borrowed(step, made)
                made = made.model_copy(update={"trust": trust, "context": context})
            self._take(step, made)
            traced.append(made)
        return traced

    def replay(self, steps: Sequence[Step], labels: Sequence[StepLabels]) -> None:
        """Take in steps whose labels are known already."""
        self._session.replay(steps, labels)
        for step, made in zip(steps, labels, strict=False):
            self._take(step, made)

    def correct(self, position: int, *, before: tuple[Step, StepLabels], after: tuple[Step, StepLabels]) -> bool:
        """Take in that an earlier step says something else, or has other labels; False if the labeling cannot."""
        session, (step, labels) = self._session, after
        if not isinstance(session, CorrectableSession) or not session.correct(position, before=before, after=after):
            return False
        right = _past_of(step, labels)
        for place, past in enumerate(self._past):
            if past.id == step.id:
                self._past[place] = right
        if step.id is not None and step.id in self._trusts:
            self._trusts[step.id] = right.trust
        return True

    def unsettled(self) -> list[str]:
        """The ids of the steps that the labeling has misread; none if it never says so."""
        return self._session.unsettled() if isinstance(self._session, RevisingSession) else []

    def settle(self, step: str, labels: StepLabels | None) -> StepLabels | None:
        """The labels that an earlier step is to have; see `RevisingSession.settle`."""
        if not isinstance(self._session, RevisingSession):
            return None
        made = self._session.settle(step, labels)
        entry = self._earlier(step) if made is not None else None
        if made is None or labels is None or entry is None or made.summary == labels.summary:
            return made
        trust, _ = self._borrowed(entry.step, made)
        return made.model_copy(update={"trust": min(trust, labels.trust or Trust.LOW)})

    def inventory(self) -> LabelInventory:
        """The label space so far."""
        return self._session.inventory()

    def save(self) -> bytes:
        """Everything the labeling remembers; what stands before is in the journal."""
        return self._session.save()

    def _take(self, step: Step, labels: StepLabels) -> None:
        past = _past_of(step, labels)
        self._past.append(past)
        if step.id is not None:
            self._trusts[step.id] = past.trust
            if len(self._trusts) > _REMEMBERED_STEPS:
                self._trusts.popitem(last=False)

    def _borrowed(self, step: Step, labels: StepLabels) -> tuple[Trust, str]:
        """The trust of a step with what it borrowed, and the context that it may have at that."""
        own = step.whence().trust
        if not (labels.references or labels.context or labels.summary):
            return own, ""
        lowest: Trust = own
        head = head_of(step.role, events=labels.intent.event_types, scope=labels.intent.scope)
        borrowed = [labels.summary.removeprefix(head)]
        far: list[Past] = []
        for reference in labels.references:
            if reference.antecedent is not None:
                named = self._named(reference.antecedent)
                if named is None:
                    return Trust.LOW, labels.context
                lowest = min(lowest, named.trust)
                far.append(named)
            borrowed.append(reference.replacement)
        # What labels say is no text: it is cleaned and bounded, and stands in the summary too.
        values = chain.from_iterable(map(labels.intent.of, LABEL_FIELDS))
        known = _words(step) | _split(" ".join((step.role, *values)))
        for word in _split(" ".join(borrowed)) - known:
            if lowest is Trust.LOW:
                break
            lowest = min(lowest, self._trust_of(word, enough=lowest, far=far))
        # The context is not shown: it helps to find an answer by its question, which is the agent's as a rule.
        # One that only tools and documents say is left out: who speaks after them must not lose trust by that.
        for word in _split(labels.context) - known if lowest is not Trust.LOW else ():
            if self._trust_of(word, enough=Trust.MEDIUM, far=far) is Trust.LOW:
                return lowest, ""
        return lowest, labels.context

    def _named(self, step: str) -> Past | None:
        """An earlier step by its id; None if there is none, or nobody has labeled it."""
        near = next((past for past in reversed(self._past) if past.id == step), None)
        entry = None if near else self._earlier(step)
        if entry is None:
            return near
        if (trust := self._trusts.get(step)) is not None:
            return Past(step, trust, entry.step.whence().trust, _words(entry.step))
        # So long ago that its labels are in the journal.
        return None if entry.labels is None else _past_of(entry.step, entry.labels)

    def _trust_of(self, word: str, *, enough: Trust, far: Sequence[Past]) -> Trust:
        """The trust of the most trusted step that says a word; the search ends where it is `enough`."""
        best: Trust | None = None
        for past in chain(far, reversed(self._past)):
            if word in past.words:
                best = past.said if best is None else max(best, past.said)
                if best >= enough:
                    break
        return best or Trust.MEDIUM


def _past_of(step: Step, labels: StepLabels) -> Past:
    said = step.whence().trust
    trust = min(said, borrowed_trust(labels, rewritten=bool(labels.references)))
    return Past(step.id, trust, said, _words(step))


def _words(step: Step) -> frozenset[str]:
    text = step.content
    if len(text) > _HEAD_CHARS + _TAIL_CHARS:
        text = f"{text[:_HEAD_CHARS]} {text[-_TAIL_CHARS:]}"
    return _split(text)


@text_cache(maxsize=64)  # a step is asked for its words when it borrows, and again when it is remembered
def _split(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))

"""Statements of a step that can be read alone, found without a model.

The sentences that assert something, with their references replaced by what the labeler read them as; neighbors that are
short are read together. An answer has the question before it, so that "Yes, two weeks ago." can be understood.
Greetings, thanks and what else carries no matter are left out; so are instructions given before a run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stitch.core import Statement, Trust, apply_rewrites, is_setup
from stitch.journal import Entry
from stitch.journal.entries import borrowed_trust
from stitch.text.dates import day_meant
from stitch.text.languages import content_words
from stitch.text.sentences import SentenceForm, sentence_form, sentence_spans

TOGETHER_CHARS = 80
"""A statement shorter than this takes in the next sentence of its step."""
MOST_CHARS = 320
"""The longest statement that takes in another sentence; one sentence is cut at twice this."""
MOST_A_STEP = 6
"""So many statements at most are made of a step: of a long one they are longer."""
READ_CHARS = 12_000
"""The part of a step that is read."""
QUESTION_CHARS = 200
"""A longer question is not put before its answer."""

_TAIL_CHARS = 2 * QUESTION_CHARS
_LEAST_WORDS = 2
"""A sentence with fewer words that carry matter asserts nothing alone."""
_LEAST_WORDS_OF_COURTESY = 4
_LAST_SPACED = "\u2e7f"
"""Scripts behind this one write words without spaces between them."""
_LETTERS_A_WORD = 3
_COURTESIES = {
    SentenceForm.GREETING, SentenceForm.FAREWELL, SentenceForm.THANKS, SentenceForm.AGREEMENT, SentenceForm.REFUSAL,
    SentenceForm.APOLOGY,
}  # fmt: skip
_NO_ANSWERS = {SentenceForm.QUESTION, SentenceForm.GREETING, SentenceForm.FAREWELL}
"""Forms of sentences that say nothing behind a question either; others do: "No, two."."""


class Sentence(NamedTuple):
    """A sentence of a step, as it is read alone."""

    number: int
    """Its place among all sentences of the step."""
    text: str
    form: SentenceForm
    matter: int
    """Number of its words that carry matter."""

    @property
    def asserts(self) -> bool:
        """Whether it says something that may be remembered."""
        least = _LEAST_WORDS_OF_COURTESY if self.form in _COURTESIES else _LEAST_WORDS
        return self.form is not SentenceForm.QUESTION and self.matter >= least


def statement_id(tenant: str, trajectory: str, step: str, *, number: int) -> str:
    """The id of the statement that begins with a sentence of a step, by its number."""
    named = f"{len(tenant)}:{tenant}{len(trajectory)}:{trajectory}{len(step)}:{step}{number}"
    return "s" + hashlib.blake2b(named.encode(), digest_size=8).hexdigest()


def statements_of(entry: Entry, *, before: Entry | None) -> list[Statement]:
    """The statements of a step, in order, given the step before it, of those that can be found."""
    if is_instruction(entry):
        return []
    spans = sentence_spans(entry.step.content[:READ_CHARS])
    read = [_sentence(entry, span, number=number) for number, span in enumerate(spans)]
    question = "" if before is None else asked(entry, before=before)
    told = [each for each in read if each.asserts or (question and each is read[0] and each.form not in _NO_ANSWERS)]
    own, statements = trust_of(entry), []
    for group in _together(told):
        text, trust = " ".join(each.text for each in group), own
        steps: tuple[str, ...] = (entry.id,)
        if question and group[0] is read[0]:
            assert before is not None
            text, steps = f"{question} {text}", (before.id, entry.id)
            trust = min(trust, trust_of(before))
        name = statement_id(entry.tenant, entry.trajectory, entry.id, number=group[0].number)
        statements.append(made_of(entry, name, text, steps=steps, trust=trust))
    return statements


def made_of(
    entry: Entry, name: str, text: str, *, steps: tuple[str, ...], trust: Trust, day: str | None = None,
    corrects: tuple[str, ...] = (),
) -> Statement:  # fmt: skip
    """A statement that a step says, without its episode; the day that its text names, unless one is given."""
    return Statement(
        id=name,
        trajectory=entry.trajectory,
        text=text,
        speaker=entry.step.role,
        said_at=entry.step.timestamp,
        happened_at=day or day_meant(text, said=entry.step.timestamp),
        steps=steps,
        episode="",
        trust=trust,
        supersedes=corrects,
        recorded=entry.recorded,
        position=entry.position,
    )


def is_instruction(entry: Entry) -> bool:
    """Whether a step tells an agent beforehand what to do: nothing that happened."""
    labels = entry.labels
    return labels is not None and is_setup(labels.intent)


def trust_of(entry: Entry) -> Trust:
    """The trust in the statements of a step: that of its snippet."""
    own, labels = entry.step.whence().trust, entry.labels
    return own if labels is None else min(own, borrowed_trust(labels, rewritten=bool(labels.references)))


def asked(entry: Entry, *, before: Entry) -> str:
    """The question with which another speaker ended the step before; empty if there is none."""
    if before.step.role == entry.step.role or entry.step.tool_name is not None or is_instruction(before):
        return ""
    content = before.step.content
    tail = max(0, len(content) - _TAIL_CHARS)
    spans = sentence_spans(content[tail:])
    if not spans:
        return ""
    last = _sentence(before, (tail + spans[-1][0], tail + spans[-1][1]), number=0)
    is_one = last.form is SentenceForm.QUESTION and last.matter and len(last.text) <= QUESTION_CHARS
    return last.text if is_one else ""


def _sentence(entry: Entry, span: tuple[int, int], *, number: int) -> Sentence:
    start, end = span
    text = entry.step.content[start:end]
    if entry.labels is not None and entry.labels.references:
        own = tuple(
            each.model_copy(update={"start": each.start - start, "end": each.end - start})
            for each in entry.labels.references
            if start <= each.start and each.end <= end
        )
        text = apply_rewrites(text, own)
    text = " ".join(text.split())[: 2 * MOST_CHARS]
    return Sentence(number, text, sentence_form(text), _matter(text))


def _matter(text: str) -> int:
    """Number of words that carry matter."""
    return len(content_words(text)) + sum(letter > _LAST_SPACED for letter in text) // _LETTERS_A_WORD


def _together(told: Sequence[Sentence]) -> Iterator[list[Sentence]]:
    """Sentences that are read together: neighbors that are short, and more of them where there are many."""
    least = max(TOGETHER_CHARS, sum(len(each.text) + 1 for each in told) // MOST_A_STEP)
    most = max(MOST_CHARS, 2 * least)
    group: list[Sentence] = []
    chars = 0
    for each in told:
        follows = group and each.number - group[-1].number <= 2
        if group and (chars >= least or not follows or chars + len(each.text) > most):
            yield group
            group, chars = [], 0
        group.append(each)
        chars += len(each.text) + 1
    if group:
        yield group

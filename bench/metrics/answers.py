"""Answers against gold: their items, forms and judges, precision, recall and F1."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections import Counter
from enum import Enum
from typing import NamedTuple, Protocol

from stitch.bench.metrics.scores import Unscored, harmonic

_MARKS = re.compile(r"[^\w.]+")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_OUTER_POINTS = re.compile(r"(?<!\d)\.|\.(?!\d)")
_SEPARATORS = re.compile(r"[;,\n]")
_PREFIX = re.compile(r"^(stay|breakfast|lunch|dinner|visit)\s*(?:(?:at\b|:)\s*)?", re.IGNORECASE)
_VISITS = re.compile(r",|\band\b")


def normalize(text: str) -> str:
    """Fold case, width and accents' forms; drop marks and English articles; one blank between words.

    Decimal points stay, so that "$76.22" and "7622" differ while "$76.22" and "76.22" do not.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = _OUTER_POINTS.sub(" ", _MARKS.sub(" ", folded))
    return " ".join(_ARTICLES.sub(" ", folded).split())


def contains(text: str, item: str) -> bool:
    """Whether the normalized item stands in the normalized text, at word boundaries; an empty item never does."""
    return contains_normalized(normalize(text), normalize(item))


def contains_normalized(text: str, item: str) -> bool:
    """As `contains`, for what is normalized already."""
    return bool(item) and f" {item} " in f" {text} "


def _same(one: str, other: str) -> bool:
    return contains_normalized(one, other) or contains_normalized(other, one)


def candidates(text: str) -> tuple[str, ...]:
    """The candidates of an answer, in order, repeated as they occur; none in an empty answer.

    The rules of CAME-Bench's released evaluation: a JSON list is split item by item, anything else as one text, at `;`,
    `,` and line breaks. So a comma inside prose or "$1,234" makes a further candidate, as it does there.
    """
    try:
        loaded = json.loads(text)
    except ValueError:
        loaded = text
    texts = [str(item) for item in loaded] if isinstance(loaded, list) else [text]
    return tuple(part.strip() for item in texts for part in _SEPARATORS.split(item) if part.strip())


class PlanPart(NamedTuple):
    """One filled slot of a plan."""

    slot: str
    """`stay`, `breakfast`, `lunch`, `dinner`, `visit`; empty if the part names none."""
    name: str
    """Normalized."""


def plan_parts(text: str) -> tuple[PlanPart, ...]:
    """The parts of a plan, in order, as the released code splits them; every place to visit is a part of its own.

    A plan is "Stay at X; Breakfast at X; Lunch at X; Dinner at X; Visit X, Y and Z".
    """
    parts: list[PlanPart] = []
    for piece in filter(None, map(str.strip, text.split(";"))):
        found = _PREFIX.match(piece)
        slot, rest = (found.group(1).lower(), piece[found.end() :]) if found else ("", piece)
        names = _VISITS.split(rest) if slot == "visit" else [rest]
        parts.extend(PlanPart(slot, name) for name in map(normalize, names) if name)
    return tuple(parts)


def is_plan(type_: str, gold: str | None) -> bool:
    """Whether the gold answer of a question of this type is a plan, and not a set: a debate's has no slots."""
    return type_ == "type_4" and any(part.slot for part in plan_parts(gold or ""))


def items_of(type_: str, gold: str | None) -> list[str]:
    """The items of a gold answer, normalized: the places of a plan, else its candidates."""
    if is_plan(type_, gold):
        return [part.name for part in plan_parts(gold or "")]
    return [normalize(item) for item in candidates(gold or "")]


def count_contained(gold: tuple[str, ...], generated: tuple[str, ...]) -> int:
    """Number of correct candidates: each gold item may be met once, by containment either way."""
    return _met([PlanPart("", normalize(item)) for item in gold], [PlanPart("", normalize(item)) for item in generated])


def count_slots(gold: str, generated: str) -> int:
    """Number of places of a generated plan that stand in the same slot of the gold plan, by normalized containment."""
    return _met(list(plan_parts(gold)), list(plan_parts(generated)))


def _met(open_parts: list[PlanPart], generated: list[PlanPart]) -> int:
    correct = 0
    for part in generated:
        met = next((each for each in open_parts if each.slot == part.slot and _same(each.name, part.name)), None)
        if met is not None:
            open_parts.remove(met)
            correct += 1
    return correct


class AnswerSetScore(NamedTuple):
    """Score of a generated set against the gold set (CAME-Bench §3.2, Listing 12); questions are averaged.

    With c = min(judge's count, |gold|, |generated|): P = c / |generated|, R = c / |gold|, F1 their harmonic mean.
    """

    precision: float
    recall: float
    f1: float

    @property
    def correct(self) -> bool:
        """Every gold item was given (the released code's `is_correct_frq`)."""
        return self.recall == 1.0


class Verdict(NamedTuple):
    """The judgement of one answer, kept so that it can be scored again without asking again."""

    correct: int | Unscored
    """How many generated candidates are correct."""
    reason: str = ""
    given: int | None = None
    """How many slots of a plan the judge saw filled; None if it did not say."""


class Judge(Protocol):
    """Compares a generated answer with the gold one. A judge that fails says `Unscored`; it does not raise."""

    @property
    def name(self) -> str:
        """The name that stands beside every figure."""
        ...

    def count(self, question: str, *, gold: str, generated: str) -> Verdict:
        """Count the correct candidates of an answer set (Listing 12)."""
        ...

    def fill(self, question: str, *, gold: str, generated: str) -> Verdict:
        """Count the slots of a plan that hold what the gold plan has there (the released code's judge of plans)."""
        ...

    def accept(self, question: str, *, gold: str, generated: str) -> Verdict:
        """Whether a single answer is correct (Listing 11): a count of 1 or 0."""
        ...


class ContainmentJudge:
    """Judges by normalized containment; needs no model and gives the same verdict each time."""

    name = "containment"

    def count(self, question: str, *, gold: str, generated: str) -> Verdict:
        """Count generated candidates that contain a gold item or stand in one."""
        return Verdict(count_contained(candidates(gold), candidates(generated)))

    def fill(self, question: str, *, gold: str, generated: str) -> Verdict:
        """Count places that contain the gold place of the same slot or stand in it."""
        return Verdict(count_slots(gold, generated))

    def accept(self, question: str, *, gold: str, generated: str) -> Verdict:
        """Accept an answer in which the gold answer stands."""
        return Verdict(int(contains(generated, gold)))


_SINGLE_TYPES = frozenset(("type_1", "type_2"))
"""Revised states and facts; a question of the other types asks for several things, even where there is one."""
_AMOUNT = re.compile(r"\s*[$€£¥]?\s?\d[\d.,]*\s?[%$€£¥]?\s*")
_REFUSALS = frozenset(map(normalize, (
    "Question not answerable", "Not answerable", "Unanswerable", "I don't know", "I do not know", "Don't know",
    "Unknown", "No answer", "None", "N/A", "Not mentioned", "Not specified", "The question is not answerable",
)))  # fmt: skip
_NEGATION = re.compile(r"\b(?:not|no|never|cannot|unknown|unanswerable|n't|none)\b")


class AnswerForm(str, Enum):
    """The form of a gold answer, which says which judge it goes to."""

    SINGLE = "single"
    """One thing, right or wrong (Listing 11)."""
    SET = "set"
    """Candidates that are counted (Listing 12)."""
    PLAN = "plan"
    """Slots, each filled as in the plan (the released code's judge of travel plans)."""


def form_of(type_: str, gold: str | None, *, came: bool) -> AnswerForm:
    """The form of a gold answer; sets other than CAME-Bench ask for one answer each."""
    if not came:
        return AnswerForm.SINGLE
    if is_plan(type_, gold):
        return AnswerForm.PLAN
    one = len(candidates(gold or "")) == 1 or _AMOUNT.fullmatch(gold or "") is not None
    return AnswerForm.SINGLE if type_ in _SINGLE_TYPES and one else AnswerForm.SET


def settled(form: AnswerForm, *, gold: str, generated: str) -> Verdict | None:
    """The verdict on an answer that needs no judge: empty, a refusal, or exactly the gold one; None if it needs one."""
    said = normalize(generated)
    wanted, given = (sorted(map(normalize, candidates(each))) for each in (gold, generated))
    if said == normalize(gold) or (form is AnswerForm.SET and wanted == given):
        every = {AnswerForm.PLAN: len(plan_parts(gold)), AnswerForm.SET: len(wanted), AnswerForm.SINGLE: 1}
        return Verdict(every[form], "exactly the reference")
    if not said:
        return Verdict(0, "the answer is empty")
    if said in _REFUSALS and not declines(gold):
        return Verdict(0, "the answer declines")
    return None


def declines(gold: str) -> bool:
    """Whether a gold answer says that there is none; then a refusal in other words may be right."""
    return _NEGATION.search(gold.casefold()) is not None


def judge_by(form: AnswerForm, judge: Judge, question: str, *, gold: str, generated: str) -> Verdict:
    """The verdict by the judge of a form."""
    told = {AnswerForm.SINGLE: judge.accept, AnswerForm.PLAN: judge.fill, AnswerForm.SET: judge.count}[form]
    return told(question, gold=gold, generated=generated)


def score_by(
    form: AnswerForm, *, gold: str, generated: str, count: int | Unscored, given: int | None = None
) -> AnswerSetScore | Unscored:
    """The score of a judged answer, by its form: one is right or wrong, of a set candidates count, of a plan slots.

    Of what a judge found correct, no more counts than there is on either side. Where it does not say how many slots
    of a plan were filled (`given`), the parts of the text are counted.
    """
    if isinstance(count, Unscored):
        return count
    if form is AnswerForm.SINGLE:
        return AnswerSetScore(*[float(count > 0)] * 3)
    parts = plan_parts if form is AnswerForm.PLAN else candidates
    wanted, filled = len(parts(gold)), given or len(parts(generated))
    if not wanted:
        return Unscored("gold plan has no part" if form is AnswerForm.PLAN else "gold answer has no candidate")
    correct = max(0, min(count, wanted, filled))
    precision, recall = correct / filled if filled else 0.0, correct / wanted
    return AnswerSetScore(precision, recall, harmonic(precision, recall))


def token_f1(answer: str, gold: str) -> float:
    """Token F1 (Rajpurkar et al. 2016, SQuAD): shared tokens, repeated as they occur, without marks and articles.

    Two empty texts agree; one empty text scores 0.
    """
    given, wanted = normalize(answer).split(), normalize(gold).split()
    if not given or not wanted:
        return float(given == wanted)
    shared = (Counter(given) & Counter(wanted)).total()
    return harmonic(shared / len(given), shared / len(wanted))


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

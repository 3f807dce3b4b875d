"""Reasons of hits in words: at most three that a person understands, such as "same goal: bank import"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from stitch.core import MemorySnippet, RetrievalResult, ScoredSnippet, goal_of
from stitch.core.intent import labels_in_words
from stitch.core.ranking import GOAL
from stitch.retrieve.kinds import Kind, failed, kind_of
from stitch.retrieve.neighbors import BESIDE
from stitch.retrieve.question import Question, read_request
from stitch.text.languages import content_stems
from stitch.text.values import find_mentions
from stitch.text.words import stem, words

MOST_REASONS = 3
_LEAST = 0.05
"""Parts of a score below this moved nothing."""
_MOST_WORDS, _MOST_VALUES = 4, 2
_KINDS = {
    Kind.CALL: "a call",
    Kind.RESULT: "what came of a call",
    Kind.USER: "words of the user",
    Kind.AGENT: "words of the agent",
    Kind.SETUP: "instructions",
}
_AGENTS = frozenset({"assistant", "agent", "ai", "bot", "model"})
"""Roles of an agent that has no name."""


def reasons(hit: ScoredSnippet, result: RetrievalResult) -> list[str]:
    """The reasons why a step is a hit, the one that counts most first."""
    if result.rule.is_strict and hit.matched:
        return [f"carries {labels_in_words(hit.matched)}"]
    question = read_request(result.request)
    parts = [name for name in result.rule.parts if hit.parts.get(name, 0.0) >= _LEAST]
    parts.sort(key=lambda name: -hit.parts[name])
    known = {(one.snippet.trajectory, one.snippet.position): one for one in result.hits}
    said = (_in_words(name, hit, question, known=known) for name in parts)
    found = list(dict.fromkeys(filter(None, said)))[:MOST_REASONS]
    if not found and hit.parts.get(BESIDE, 0.0) > 0:
        return ["stands beside one of the first hits"]
    return found or ["nothing speaks against it"]


Places = Mapping[tuple[str, int], ScoredSnippet]


def _in_words(name: str, hit: ScoredSnippet, question: Question, *, known: Places) -> str:
    one = hit.snippet
    if name == "words":
        return _words(one, question)
    if name == "beside":
        return _beside(hit, known)
    if name == "kind":
        return _kind(one, question)
    if name == GOAL:
        return f"same goal: {goal_of(one.intent.scope)}" if one.intent.scope else ""
    plain = {
        "meaning": "near in meaning",
        "similarity": "alike in words and meaning",
        "density": f"carries {labels_in_words(hit.matched)}",
        "near": "near what the question says of where to look",
        "late": "early in its matter" if question.order < 0 else "late in its matter",
        "speaker": f"said by {one.role}",
        "time": "from the day that is asked for",
        "standing": "an instruction or a preference that stands",
        "clock": "the last or first, as asked for",
    }
    return plain.get(name, "")


def _words(one: MemorySnippet, question: Question) -> str:
    asked = set(content_stems(question.text))
    shared = dict.fromkeys(word for word in words(one.text) if stem(word) in asked)
    return f"says {_quoted(list(shared)[:_MOST_WORDS])}" if shared else ""


def _kind(one: MemorySnippet, question: Question) -> str:
    """The value of a class that is asked for, or what kind of step it is."""
    values = [own.value for own in find_mentions(one.text) if own.entity_type in question.classes]
    if values:
        return f"says {' and '.join(dict.fromkeys(values[:_MOST_VALUES]))}"
    what = kind_of(one)
    if what is Kind.AGENT and one.role.casefold() not in _AGENTS:
        return f"words of {one.role}"
    return "what went wrong" if what is Kind.RESULT and failed(one) else _KINDS[what]


def _beside(hit: ScoredSnippet, known: Places) -> str:
    """The neighbor that is more alike."""
    one = hit.snippet
    beside: Iterator[tuple[str, ScoredSnippet | None]] = (
        (where, known.get((one.trajectory, one.position + offset))) for where, offset in (("after", -1), ("before", 1))
    )
    found = [(own.similarity, where, own.snippet.step) for where, own in beside if own is not None]
    if not found:
        return "beside a step that is more alike"
    _, where, step = max(found)
    return f"the step {where} {step}"


def _quoted(said: Sequence[str]) -> str:
    return ", ".join(f'"{word}"' for word in said)

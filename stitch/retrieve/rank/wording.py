"""The parts of a score in words, for people who ask why a step stands where it does."""

from __future__ import annotations

from collections.abc import Mapping

_PHRASES = {
    "verbatim": "the question's own words",
    "density": "matched labels",
    "similarity": "similarity",
    "labels": "likely labels",
    "scope": "the scope of most of the steps most like the question",
    "nearness": "nearness to what the question says",
    "speaker": "the speaker asked for",
    "time": "the time asked for",
    "asking": "asks and tells nothing",
    "standing": "an instruction or preference that stands",
    "clock": "early or late among equals, as asked for",
    "exchange": "similarity of its call, its result or what follows",
    "goal": "the goal that is asked about",
    "inside": "what else is asked, inside its goal",
    "deed": "what was done, as asked for",
    "opening": "opens a goal, as asked for",
    "kind": "says what requests of its kind say",
    "place": "late or early in its goal, as asked for",
    "beside": "one of the first hits, or beside one",
    "newest": "the last goal with what is named",
}


def phrase(part: str) -> str:
    """What a part of a score says; its name with blanks if it is no part of ours."""
    return _PHRASES.get(part, part.replace("_", " "))


def in_words(parts: Mapping[str, float]) -> str:
    """All parts that count, each with its number: "matched labels 2, similarity 0.41"."""
    said = [f"{phrase(name)} {number:.3g}" for name, number in parts.items() if number]
    return ", ".join(said) or "nothing"

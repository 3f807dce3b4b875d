"""Acts of those who take sides in a debate: to put forward, attack, defend, concede, give background, sum up.

A turn is named by a multinomial logit (`arguing_weights.json`, fitted by `python -m stitch.bench.fit_arguing`) over
named features: whose claims its opening takes up (possessives, and what either side "said"), words of general lexica
and of their kind by the shipped vectors, whether it cites, how far the debate has come. None knows what it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import orjson

from stitch.core.protocols import ErasedText, Forgotten
from stitch.core.text_cache import text_cache
from stitch.label.local.reading import Reading
from stitch.label.local.replies import vectors
from stitch.text.words import fold_case, whole_words

ACTS = ("argue", "attack", "defend", "concede", "give background", "sum up")
"""The acts, in the order of the weights."""

MIN_ARGUED_CHARS = 60
"""Shorter turns react rather than argue."""
_MOST_READ_CHARS = 1_500
_OPENING_CHARS = 60
"""The opening is so long at least, in whole sentences."""
_CONTINUED_CHARS = 900
_MOST_WORDS = 4_096

_TAKES_SIDES = re.compile(
    r"(?<![a-z])(?:pro|con|for|against|side|debat\w+|affirmative|negative|proposition|opposition|proponents?"
    r"|opponents?)(?![a-z])",
    re.IGNORECASE,
)
"""Roles of those who debate."""
_WE = re.compile(r"\b(?:our|ours|my|mine|we|us)\b(?! (?:opponents|opposing))", re.IGNORECASE)
_OTHER_SIDE = r"opponents?|opposing|opposition|other (?:side|lot|team|bench|party|camp)"
_THEY = re.compile(rf"\b(?:your|yours|you|their|theirs|they|them|{_OTHER_SIDE})\b", re.IGNORECASE)
_SAID = r"(?:said|say|says|claimed|argued|opened|brought|put|raised|gave|made|proposed|advanced)"
_OUR_CLAIM = re.compile(
    r"\b(?:our|ours|my|mine)\b(?! (?:opponents?|opposing))|\bwhat (?:we|I)\b"
    rf"|\b(?:we|I) (?:have |just |first |had )*{_SAID}\b",
    re.IGNORECASE,
)
_THEIR_CLAIM = re.compile(
    r"\b(?:your|yours|their|theirs)\b|\bwhat (?:you|they)\b"
    rf"|\b(?:you|they) (?:lot |have |just |first |had )*{_SAID}\b|\b(?:{_OTHER_SIDE})\b",
    re.IGNORECASE,
)
_CITES = re.compile(r"\((?:\d{4}|n\.d\.)\)")
_LEXICA = {
    "reject": whole_words(
        r"""disagree\w*|dissent|objects?|dispute|contest|challenge|reject\w*|deny|doubts?|refute\w*|rebut\w*|wrong|false
        |untrue|not true|mistaken|flawed|weak|nonsense|misleading|overstat\w*|exaggerat\w*|ignor\w*|overlook\w*
        |neglect\w*|confus\w*|contradict\w*|undercut\w*|undermin\w*|fails?|attack|against
        |(?:not|n't) (?:follow|hold|work|accept|believe|agree|convinced|do|survive)
        |cannot (?:accept|believe|agree|be)"""
    ),
    "hold": whole_words(
        r"""still|stand(?:s|ing)? (?:by|firm)|stands|hold(?:ing)? (?:firm|to)|maintain\w*|uphold|defend\w*|defen[cs]e
        |in support|remains?|intact|untouched|unanswered|survives?|stick(?:ing)? (?:with|to|by)|on the contrary
        |stronger|criticisms?|objections?|misread|misunderst\w+"""
    ),
    "concede": whole_words(
        r"""concede\w*|grant|admit\w*|withdraw\w*|retract\w*|abandon\w*|drop(?:ping)?|g[ia]ve (?:\w+ )?up|let go
        |yield|relinquish|(?:we|i) (?:was|were) (?:wrong|mistaken)|(?:you|they)(?:'re| are) right|right about
        |fair (?:point|enough|cop)|convinced (?:us|me)|no longer|(?:not|n't) \w+ (?:it |this |that )?any ?more
        |(?:took|take|taking) (?:\w+ )?back|off the table|you win|we lose"""
    ),
    "background": whole_words(
        """background|context|history|historical|setting|neutral|facts|taking sides|dispute[ds]?|those who
        |for information|situation|overview"""
    ),
    "sum up": whole_words(
        r"""sum(?:ming)? up|summary|in (?:sum|conclusion|closing)|conclude|recap|to finish|all in all|wrap up
        |in short|at the end|our (?:whole )?case"""
    ),
}
"""Words of the language for rejecting, holding, conceding, informing and closing, whatever it is about."""
_KIN = {
    "reject": """wrong false mistaken disagree reject refute object objection doubt fail fails flawed weak nonsense
    problem confuse collapse dispute against contrary""",
    "concede": """concede grant admit withdraw abandon drop yield relinquish surrender retreat retract lose lost
    mistaken abandoned dropping quit resign""",
    "hold": """still stand stands hold maintain keep remain remains sound defend support firm stronger correct uphold
    stick believe""",
    "background": """background context history setting facts situation neutral information explain picture outside
    story known""",
    "sum up": "sum conclude conclusion closing finally end recap summary summarize finish outline together last whole",
}
"""Words whose likes, by the shipped vectors, count as well."""
_ALIKE = 0.3
_WORD = re.compile(r"[a-z']{3,}")
_NEGATIVE = re.compile(r"\b(?:not|no|never|nothing|none|nobody|cannot|\w+n't|without)\b", re.IGNORECASE)


@text_cache(maxsize=256)
def _takes_sides(role: str) -> bool:
    return _TAKES_SIDES.search(role) is not None


class Arguing:
    """Follows one trajectory: how often each role has spoken, and whether anything was argued about yet."""

    def __init__(self) -> None:
        self._turns: dict[str, int] = {}
        self._argued = 0

    def act(self, reading: Reading) -> str | None:
        """What a turn does in a debate; None of who takes no side by its role, and of short turns."""
        if len(reading.text) < MIN_ARGUED_CHARS or not _takes_sides(reading.role):
            return None
        text = reading.text[:_MOST_READ_CHARS]
        numbers = features(
            _sentences(text, reading.spans), turns=self._turns.get(reading.role, 0), argued=self._argued > 0
        )
        return best_act(numbers, shipped_weights())

    def take(self, role: str, events: Sequence[str]) -> None:
        """Take in what a turn did."""
        if _takes_sides(role):
            self._turns[role] = self._turns.get(role, 0) + 1
            self._argued += _goes_on(events)

    def forget(self, gone: Iterable[Forgotten], *, erased: ErasedText) -> None:
        """Forget turns; roles that nobody else had are gone."""
        for each in gone:
            role = each.step.role.lower()
            if role in self._turns:
                self._turns[role] -= 1
                self._argued -= _goes_on(each.labels.intent.event_types)
        self._turns = {role: count for role, count in self._turns.items() if count > 0 and not erased.said_in(role)}

    def save(self) -> dict[str, Any]:
        """Everything remembered, as JSON values."""
        return {"turns": self._turns, "argued": self._argued}

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> Arguing:
        """Continue from what `save` returned."""
        arguing = cls()
        arguing._turns, arguing._argued = dict(data["turns"]), data["argued"]
        return arguing


def _goes_on(events: Sequence[str]) -> bool:
    """Whether something other than a first claim was said."""
    return any(act in events for act in ACTS[1:])


def _sentences(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    return [text[start:end] for start, end in spans if start < len(text)] or [text]


def features(sentences: Sequence[str], *, turns: int, argued: bool) -> dict[str, float]:
    """What tells what a turn does, by name; each between -1 and about 2.

    Args:
        sentences: The turn.
        turns: How often its speaker spoke before.
        argued: Whether anything but first claims was said before.
    """
    size = 1
    while size < len(sentences) and len(" ".join(sentences[:size])) < _OPENING_CHARS:
        size += 1
    opening, follows = " ".join(sentences[:size]), " ".join(sentences[size : size + 2])
    rest = " ".join(sentences[size + 2 :])
    ours, theirs = _OUR_CLAIM.search(opening), _THEIR_CLAIM.search(opening)
    we, they = len(_WE.findall(opening)), len(_THEY.findall(opening))
    length = 3 * max(1.0, len(rest) / 500)
    found = {
        "always": 1.0,
        "we": min(we, 2) / 2,
        "they": min(they, 2) / 2,
        "we or they": float((we > they) - (we < they)),
        "we, then": min(len(_WE.findall(follows)), 2) / 2,
        "they, then": min(len(_THEY.findall(follows)), 2) / 2,
        "we, later": len(_WE.findall(rest)) / length,
        "they, later": len(_THEY.findall(rest)) / length,
        "neither": float(not we and not they),
        "our claim": float(ours is not None),
        "their claim": float(theirs is not None),
        "whose first": _whose_first(ours, theirs),
        "cites": float(any(map(_CITES.search, sentences))),
        "argued": float(argued),
        "first turns": 1 / (1 + turns),
        "negative": float(_NEGATIVE.search(opening) is not None),
        "length": sum(map(len, sentences)) / 3_000,
    }
    opening, after = fold_case(opening), fold_case(f"{follows} {rest[:_CONTINUED_CHARS]}")
    for name, lexicon in _LEXICA.items():
        found[name] = float(lexicon.search(opening) is not None)
        found[f"{name}, later"] = min(3, len(lexicon.findall(after))) / 3
        found[f"like {name}"] = max((_kinship(word)[name] for word in _WORD.findall(opening)), default=0.0)
    for name in ("reject", "hold", "concede"):
        found[f"our claim: {name}"] = found[name] * found["our claim"]
    return found


def _whose_first(ours: re.Match[str] | None, theirs: re.Match[str] | None) -> float:
    """1 if the first claim that is taken up is one's own, -1 if it is the other side's."""
    if ours is None or theirs is None:
        return float(ours is not None) - float(theirs is not None)
    return 1.0 if ours.start() < theirs.start() else -1.0


@text_cache(maxsize=_MOST_WORDS)
def _kinship(word: str) -> Mapping[str, float]:
    """How alike a word is to each kind of words, from 0 on."""
    (row,) = vectors([word])
    return {name: max(0.0, float((kin @ row).max()) - _ALIKE) * 2 for name, kin in _kin().items()}


@lru_cache(maxsize=1)
def _kin() -> Mapping[str, Any]:
    return {name: vectors(words.split()) for name, words in _KIN.items()}


def best_act(numbers: Mapping[str, float], weights: Mapping[str, Sequence[float]]) -> str:
    """The likeliest act."""
    scores = [sum(numbers[name] * row[place] for name, row in weights.items()) for place in range(len(ACTS))]
    return ACTS[max(range(len(ACTS)), key=scores.__getitem__)]


@lru_cache(maxsize=1)
def shipped_weights() -> Mapping[str, Sequence[float]]:
    """The weights of each feature, one an act, made by `stitch.bench.fit_arguing`."""
    data = orjson.loads(files("stitch.label.local").joinpath("arguing_weights.json").read_bytes())
    weights: Mapping[str, Sequence[float]] = data["weights"]
    return weights

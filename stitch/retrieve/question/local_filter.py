"""The choice of the filter F_q without a model: a label is chosen only if the question licenses it (Appendix D).

Two failures are to be avoided (Appendix D.2): labels that are typical of the memory but that nothing in the question
asks for, and labels of the wrong granularity, which admit half of the memory or a fragment of what is asked about. A
question licenses a scope by a name under which it was taken up ("for day 1"). A clause of its own that says where to
look ("In the request where the city is Oslo, what ...") makes labels likely. Without either, its words are those of the
answer as well: they only hint at labels, which then are weighed lightly beside similarity.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import pairwise
from threading import Lock

from stitch.core import (
    EntityTypeSummary,
    IntentFilter,
    LabelInventory,
    LabelKind,
    Moment,
    SearchRequest,
    Selection,
)
from stitch.core.text_cache import tell_of_erasures
from stitch.retrieve.constants import CONSTANTS, Constants
from stitch.retrieve.question.label_space import LabelSpace
from stitch.retrieve.question.reading import NAMES, Question, read_question
from stitch.text.numbers import NUMBER_WORDS
from stitch.text.values import VALUE_CLASSES
from stitch.text.words import FUNCTION_WORDS, is_verb, stem, words

_EQUALS = ("is", "was", "are", "were", "called", "named")
"""Words after which even a common word is a value ("where the destination is home")."""
_LONGEST_VALUE = 8
"""In words."""
_REMEMBERED = 16
"""Of how many tenants and trajectories, those asked for last, the label space is kept."""

_POINTING = frozenset(map(stem, ("of", "for", "about", "with", "regarding", "concerning", "on", "in", "during")))
"""Stems of words that say, before the name of a scope, that it is where to look and not what was done."""
_FUNCTION_STEMS = frozenset(map(stem, FUNCTION_WORDS))
_NUMBER = stem("number")
_QUANTITY = "quantity"
_COUNTED = frozenset((_QUANTITY, "phone"))
"""Kinds of numbers that are told apart from any number."""
_GENERIC = frozenset(map(stem, ("name", "number", "type", "id", "code", "kind", "detail", "information")))
"""Heads that say nothing without what stands before them."""
_DETERMINERS = "(?:the|a|an|my|our|your|his|her|their|this|that)"
_CALLED = {
    kind: frozenset(tuple(map(stem, name.split())) for name in names)
    for kind, names in {
        "phone": ("phone number", "telephone", "telephone number", "contact number", "mobile number", "contact phone"),
        "price": ("cost", "fare", "fee", "amount"),
        "address": ("street address", "location address"),
        "email": ("email address", "mail address", "e mail"),
        "url": ("website", "web site", "link", "web page"),
        "rating": ("average rating", "star rating", "review score"),
        "time": ("start time", "opening time", "hour"),
        "date": ("calendar date", "appointment date"),
    }.items()
}
"""How classes of values are called where a model names them."""
_TAKEN_FOR = {
    **dict.fromkeys(NAMES, NAMES),
    "place": NAMES | {"address"},
    "date": frozenset(("date", "day")),
}
"""The classes under which a step may carry what is asked for, by its kind."""
_COUNT = re.compile(rf"(?:\d{{1,2}}|an?|{'|'.join(NUMBER_WORDS)}) ")
"""How values begin that are so many of something ("2 stops")."""


class LocalFilterSelector:
    """Chooses labels by what a question and the label inventory share, without a model.

    Scopes: by the scope's name; or by values that the question names and that stand in the scope, most of all, and by
    its words. Scopes found so are likely and no more, and so is every label beside them (`Selection.likely`).
    Key entity types: the class of what is asked for. Event types: operations that the question names.
    Entity and event types are licensed only beside a scope, for alone they would prefer any price to the words of the
    question; except that a question for a list of things licenses their class.
    """

    def __init__(self, *, constants: Constants = CONSTANTS) -> None:
        self._constants = constants
        self._spaces: dict[tuple[str, str | None, Moment | None], LabelSpace] = {}
        self._lock = Lock()
        tell_of_erasures(self)

    def select(self, request: SearchRequest, inventory: LabelInventory) -> Selection:
        """Return the labels that the question licenses; an empty filter if it licenses none."""
        index = self._space(request)
        with index.lock:
            index.update(inventory)
            return self._chosen(request, index)

    def forget_trajectory(self, trajectory: str, *, tenant: str) -> None:
        """Forget what a trajectory says; the next question is told what is left of it."""
        with self._lock:
            spaces = [space for (owner, *_), space in self._spaces.items() if owner == tenant]
        for space in spaces:
            with space.lock:
                space.forget_trajectory(trajectory)

    def _chosen(self, request: SearchRequest, index: LabelSpace) -> Selection:
        question, constants = read_question(request.query), self._constants
        named = _named_scopes(question, index)
        if question.context and not named:
            return _likely(question, index, constants)
        lists = question.lists or (bool(named) and question.several)
        asked = _entity_types(question, index, constants) if named or lists else ()
        entity_types, event_types = dict(asked), dict(_event_types(question, index) if named else ())
        if not any((named, event_types, entity_types)):
            return _likely(question, index, constants)
        reasons = {name: f"the question names {said!r}" for name, said in named.items()}
        chosen = _selection(reasons, event_types, entity_types)
        return _in_scopes(chosen, question, index, named, lists=lists) if named else chosen

    def _space(self, request: SearchRequest) -> LabelSpace:
        key = (request.tenant, request.trajectory, request.as_of)
        with self._lock:
            space = self._spaces.pop(key, None) or LabelSpace(counts=_counts)
            self._spaces[key] = space
            while len(self._spaces) > _REMEMBERED:
                del self._spaces[next(iter(self._spaces))]
            return space


def _in_scopes(
    chosen: Selection, question: Question, index: LabelSpace, named: dict[str, str], *, lists: bool
) -> Selection:
    """The choice beside scopes that are named: their names are taken out, and a list is of names if it goes by them."""
    classes = chosen.intent_filter.entity_types
    names = dict(_names_of_members(question, index, classes=classes)) if lists else {}
    entity_types = tuple(dict.fromkeys((*names, *classes)))
    return chosen._replace(
        intent_filter=chosen.intent_filter.model_copy(update={"entity_types": entity_types}),
        reasons=(*chosen.reasons, *(f"entity type {name!r}: {names[name]}" for name in names if name not in classes)),
        remainder=_without(question.text, set(named.values())),
        lists_names=bool(names),
    )


def _selection(
    scopes: dict[str, str], event_types: dict[str, str], entity_types: dict[str, str], how: str = ""
) -> Selection:
    return Selection(
        IntentFilter(scopes=tuple(scopes), event_types=tuple(event_types), entity_types=tuple(entity_types)),
        tuple(
            f"{how}{kind} {name!r}: {reason}"
            for kind, chosen in (("scope", scopes), ("event type", event_types), ("entity type", entity_types))
            for name, reason in chosen.items()
        ),
    )


def _likely(question: Question, index: LabelSpace, constants: Constants) -> Selection:
    """The labels that a question hints at; none of them is sure, so that they are weighed."""
    asked = dict(_entity_types(question, index, constants))
    certain = bool(asked) or not question.context
    asked = dict(_likely_entity_types(question, index, certain=certain)) | asked
    chosen = _selection(
        _scopes_hinted_at(question, index, constants), dict(_event_types(question, index)), asked, how="likely "
    )
    return chosen._replace(likely=True)


def _counts(name: str, known: EntityTypeSummary) -> bool:
    """Whether most of the values of an entity type say how many of something there are."""
    said = sum(_COUNT.match(value) is not None for value in known.values)
    return (name == _QUANTITY or name not in VALUE_CLASSES) and 2 * said > len(known.values)


def _named_scopes(question: Question, index: LabelSpace) -> dict[str, str]:
    """Scopes that the question calls by name: a unit ("day 1"), or what was taken up again ("... of the NAME")."""
    said, called = question.said.split(), dict[int, str]()
    for unit in map(" ".join, pairwise(said)):
        called |= dict.fromkeys(index.by_unit.get(unit), unit)
    for start, word in enumerate(said, start=1):
        for size in range(2, index.longest_name + 1) if word == "the" else ():
            name = " ".join(said[start : start + size])
            if name in index.by_name and _points_to(name, question.said):
                called = dict.fromkeys(index.by_name.get(name), name) | called
    return {index.names[number]: called[number] for number in index.in_order(called)}


def _points_to(name: str, said: str) -> bool:
    before, _, after = said.partition(f" the {name} ")
    whole = not after or after.split(" ", 1)[0] in _FUNCTION_STEMS  # not "the NAME conference"
    return whole and before.rsplit(" ", 1)[-1] in _POINTING


def _without(text: str, names: set[str]) -> str:
    """The text without names that a label stands for; similarity would find whoever says the name once more."""
    left = [(word, stem(word)) for word in words(text)]
    for name in names:
        said = name.split()
        size = len(said)
        for start in range(len(left) - size, -1, -1):
            if [folded for _, folded in left[start : start + size]] == said:
                del left[start : start + size]
    return " ".join(word for word, _ in left)


def _scopes_hinted_at(question: Question, index: LabelSpace, constants: Constants) -> dict[str, str]:
    if len(index.names) < 2:
        return {}
    evidence: dict[int, float] = defaultdict(float)
    clues: dict[int, list[str]] = defaultdict(list)
    values = list(_values_in(question, index))
    for clue, holders, weight in _evidence(question, index, values, constants=constants):
        told = weight * index.telling(holders)
        for number in holders:
            evidence[number] += told
            clues[number].append(clue)
    best = max(evidence.values(), default=0.0)
    least = 0.0 if _equated(question, values) else constants.filter_least_evidence
    chosen = index.in_order(n for n, weight in evidence.items() if weight >= constants.filter_margin * best)
    if best <= 0 or best < least or len(chosen) > constants.filter_scopes:
        return {}
    return {index.names[n]: "the question says " + ", ".join(map(repr, clues[n][:4])) for n in chosen}


def _evidence(
    question: Question, index: LabelSpace, values: Iterable[tuple[str, Set[int]]], *, constants: Constants
) -> Iterator[tuple[str, Set[int], float]]:
    """What the question says that scopes hold: the clue, the scopes, and what it counts."""
    named: set[str] = set()
    for phrase, holders in values:
        tells = phrase in question.names and 2 * len(holders) <= len(index.names)
        yield phrase, holders, constants.filter_name if tells else 1.0
        named.update(map(stem, phrase.split()))
    for moment in question.moments:
        yield moment, index.by_moment.get(moment), constants.filter_name
    for term in sorted(question.clue_stems - named):
        yield term, index.by_term.get(term), 1.0


def _equated(question: Question, values: Iterable[tuple[str, Set[int]]]) -> bool:
    """Whether the question says of something that it *is* a value of a scope."""
    told = f" {' '.join(words(question.clues))} "
    return any(f" {verb} {phrase} " in told for phrase, _ in values for verb in _EQUALS)


def _values_in(question: Question, index: LabelSpace) -> Iterator[tuple[str, Set[int]]]:
    """Values that the question names, longest first, each word once; with the scopes that hold them.

    What looks like a name may be a part of a value; anything else has to be one.
    """
    taken = [False] * len(question.words)
    for size in range(min(_LONGEST_VALUE, len(taken)), 0, -1):
        for start in range(len(taken) - size + 1):
            phrase = " ".join(question.words[start : start + size])
            if any(taken[start : start + size]) or phrase in FUNCTION_WORDS:
                continue
            if phrase in question.names or phrase in index.by_value:
                holders = index.holders(phrase)
                if holders:
                    taken[start : start + size] = [True] * size
                    yield phrase, holders


def _entity_types(question: Question, index: LabelSpace, constants: Constants) -> Iterator[tuple[str, str]]:
    """The classes of what is asked for: by its name, its head, and the form of the question, in this order."""
    kind = _kind_called(question)
    stems = {*question.asked_stems, *(each for said in _CALLED.get(kind, ()) for each in said)}
    named = {question.kind, kind, *question.classes}.intersection(index.entity_types)
    possible = named.union(*(index.types_by_stem.get(each, ()) for each in stems))  # no other fits, and few are these
    found = {name: fits for name in possible if (fits := _fits(question, name, index.entity_types[name], kind=kind))}
    order = sorted(found, key=lambda name: (found[name][0], name))
    for name in order[: constants.filter_entity_types]:
        yield index.vocabulary.canonical(LabelKind.ENTITY_TYPE, name), found[name][1]


def _fits(question: Question, name: str, said: Sequence[str], *, kind: str) -> tuple[int, str] | None:
    """How well a class fits what is asked for, 0 for best, and why; `said` are the stems of its name."""
    asked = question.asked_stems
    if name == question.kind:
        return 0, "what the question asks for is of this class"
    if _is_another_name(name, said, question, kind=kind):
        return 0, "it is another name of what the question asks for"
    if question.kind in _COUNTED and said and said[-1] == _NUMBER:
        return None
    if said and asked and (said == asked or said[-1] == asked[-1]):
        return _named_alike(question, said)
    if name in question.classes:
        return 1, "the form of the question asks for it"
    if said and set(said) < set(asked):
        return 2, "the question asks for something of its kind"
    return None


def _is_another_name(name: str, said: Sequence[str], question: Question, *, kind: str) -> bool:
    """Whether a class and what is asked for are called differently and are the same: phone and contact number."""
    return (kind != question.kind and name == kind) or (kind in _CALLED and tuple(said) in _CALLED[kind])


def _kind_called(question: Question) -> str:
    """The class of what is asked for, where that is called by another of its names."""
    asked = tuple(question.asked_stems)
    return next((kind for kind, names in _CALLED.items() if asked in names), question.kind)


def _named_alike(question: Question, said: Sequence[str]) -> tuple[int, str] | None:
    """How well a class fits whose name ends as what is asked for."""
    if said == question.asked_stems:
        return 0, "the question asks for it by name"
    if said[:-1] and _is_of_another(said, question):
        return None
    return min(len(said), 2), "it is the kind of thing the question asks for"


def _is_of_another(said: Sequence[str], question: Question) -> bool:
    """Whether a class such as "salon name" is of another thing than is asked of: "the name of the therapist"."""
    *before, head = question.asked_stems
    if head not in _GENERIC:
        return False
    whose = set(before) or set(re.findall(rf" {re.escape(head)} of (?:{_DETERMINERS} )?(\S+)", f" {question.said} "))
    return bool(whose) and not whose & set(said[:-1])


def _likely_entity_types(question: Question, index: LabelSpace, *, certain: bool) -> Iterator[tuple[str, str]]:
    """Classes that what is asked for may have been taken for; a thing of no known class may be a name."""
    likely = _TAKEN_FOR.get(question.kind, frozenset())
    if question.kind == _QUANTITY:
        likely = index.counted
    elif not (question.kind or certain) and question.asked_stems:
        likely = NAMES
    for name in sorted(likely.intersection(index.entity_types)):
        yield index.vocabulary.canonical(LabelKind.ENTITY_TYPE, name), "what the question asks for may be of this class"


def _names_of_members(question: Question, index: LabelSpace, *, classes: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Classes of names, for a list of things of a class under which hardly a value is known: they go by their names."""
    of_names = question.kind in ("", *NAMES) and NAMES.issuperset(question.classes)
    things = bool(question.asked_stems) and not is_verb(question.asked_stems[-1])  # not "all changes"
    if not of_names or not (things or question.asks_for_names) or not index.valued.isdisjoint(classes):
        return
    for name in sorted(NAMES.intersection(index.entity_types)):
        yield index.vocabulary.canonical(LabelKind.ENTITY_TYPE, name), "what is listed goes by names"


def _event_types(question: Question, index: LabelSpace) -> Iterator[tuple[str, str]]:
    """Operations that the question names, outside of what tells where to look."""
    for name, said in index.event_types.items():
        if said and said[0] in question.verbs:
            yield name, "the question names the operation"
        elif name in question.operations:
            yield name, "the question asks for what was done so"

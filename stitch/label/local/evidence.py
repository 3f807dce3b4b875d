"""Evidence for the scope of a step: what is remembered of a trajectory, and what that says about the next step.

All of it is structure: how words repeat, who speaks and answers, what was left open, cues, time. Nothing is a word of a
domain. The numbers of each candidate are weighed by a linear model (`scope_weights.json`).

More than 400 lines because the names of the numbers, which are data, stand beside the code that makes them.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log, log1p
from typing import NamedTuple

from stitch.label.local.reading import INSTRUCTING, Reading
from stitch.text.forms import SentenceForm

_LONG_ANSWER = 400
"""Characters from which on an answer has words of many subjects."""
_SHORT_ANSWERS = (SentenceForm.AGREEMENT, SentenceForm.REFUSAL)

STEP_FEATURES = (
    "always", "request", "question", "short answer", "thanks", "farewell", "greeting", "apology", "few words",
    "anaphora", "cue of a switch", "cue of a return", "closed before", "asked before", "call before",
    "result of a tool", "calls a tool", "role switches", "switches so far", "time gap", "new session", "notice",
    "same role", "many speakers", "length of run", "number of scopes", "names somebody", "new speaker",
    "opened the trajectory", "follows a result", "answers the role", "novelty", "new values", "known values",
    "better cohesion elsewhere", "new matter asked", "new matter told", "no words", "short answer though asked",
    "few words though asked", "asks all new", "asks mostly new", "asks mostly known", "tells all new",
    "tells mostly new", "tells mostly known", "opener asks all new", "opener asks mostly new",
    "asks all new though asked", "asks all new after a close", "asks all new after a result",
    "tells all new though asked", "opener tells all new", "asks what is known elsewhere", "wishes all new",
    "with tools: always", "with tools: asks all new", "with tools: tells all new", "with tools: novelty",
    "in service: always", "in service: asks all new", "in service: tells all new", "in service: novelty",
    "among many: always", "among many: asks all new", "among many: tells all new", "among many: novelty",
    "returns so far", "open scopes", "interruptions so far", "share of open scopes",
    "interleaved: always", "interleaved: asks all new", "interleaved: tells all new", "interleaved: novelty",
    "interleaved: asked before", "interleaved: anaphora", "interleaved: closed before", "interleaved: role switches",
    "interleaved: same role", "interleaved: length of run", "reply here", "reply to nothing", "better reply elsewhere",
    "interleaved: reply here", "interleaved: reply to nothing",
)  # fmt: skip
"""What is said of a step against the current scope; weighed once for returning and once for opening a scope."""

SCOPE_FEATURES = (
    "cohesion with last step", "cohesion with recent steps", "cohesion with scope", "best cohesion", "shared values",
    "shared rare values", "same call", "other calls", "gap", "size", "speaker took part", "speaker was here last",
    "speaker spoke last", "addressee was here last", "addressee spoke last", "addressee took part",
    "speaker was addressed", "question is open", "asked matter known here alone", "told matter known here alone",
    "closed", "asks what it asked", "asks what it told", "new values of known classes", "new values of new classes",
    "latest", "latest open", "interleaved: latest open", "interleaved: gap", "interleaved: closed",
    "interleaved: cohesion with last step", "interleaved: cohesion with scope", "pointed at known",
    "pointed at known in last step", "pointed at unknown",
    "reply", "best reply", "reply less the next best", "own reply", "interleaved: reply",
    "interleaved: reply less the next best",
)  # fmt: skip
"""What is said of a step and one scope; weighed once for the current scope and once for earlier ones."""


class Rival(NamedTuple):
    """What an earlier scope was when another one was opened instead of returning to it."""

    margin: float
    """Its score less that of a new scope."""
    last: int
    """The position of its last step."""
    closed: bool


@dataclass
class Scope:
    """What is remembered of one scope."""

    number: int
    spans: list[list[int]] = field(default_factory=list)
    steps: int = 0
    terms: dict[str, int] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)
    recent: list[list[str]] = field(default_factory=list)
    """Stems of the last steps, the latest last."""
    speakers: dict[str, int] = field(default_factory=dict)
    """Last position of each speaker."""
    last_role: str = ""
    asker: str = ""
    """Who asked the question that is still open."""
    opens: str = ""
    """What its last step left open, see `moves`."""
    closed: bool = False
    """Whether its last step winds it up."""
    asked: dict[str, int] = field(default_factory=dict)
    """Stems of what was wanted in it."""
    told: dict[str, int] = field(default_factory=dict)
    """Stems of the other sentences."""
    kinds: dict[str, int] = field(default_factory=dict)
    """Classes of the values named in it."""
    pointed: dict[str, int] = field(default_factory=dict)
    """Stems of what it speaks of as known."""
    left: int | None = None
    """The scope that was left for it."""
    rivals: dict[str, Rival] = field(default_factory=dict)
    """The earlier scopes it was weighed against when it was opened, by number; none where the text decided."""
    into: int | None = None
    """The earlier scope that it turned out to continue."""
    addressed: list[str] = field(default_factory=list)
    """Whom its last step named."""
    calls: dict[str, int] = field(default_factory=dict)
    gist: list[float] = field(default_factory=list)
    """Its recent steps as something to go on with, see `replies`."""
    said: list[float] = field(default_factory=list)
    """That and its last step as something to answer."""
    unit: str = ""
    """The unit the scope is about, such as "day 1", where the text names one."""
    given: bool = False
    """Somebody else named it, a model or a person: it stands for itself."""

    @property
    def last(self) -> int:
        """The position of its last step."""
        return self.spans[-1][1]


@dataclass
class Stream:
    """What is remembered of the trajectory as a whole. Notices of the medium leave no trace but their words."""

    position: int = 0
    current: int | None = None
    """The scope of the last step."""
    df: dict[str, int] = field(default_factory=dict)
    """In how many steps each stem stood."""
    turns: dict[str, list[int]] = field(default_factory=dict)
    """Steps and switches of each role."""
    voices: dict[str, int] = field(default_factory=dict)
    """Where each who has said something did so first; calls and results are nobody's voice."""
    spoke: dict[str, int] = field(default_factory=dict)
    """The scope in which each role spoke last."""
    run: int = 0
    """Steps since the last switch."""
    switches: int = 0
    returns: int = 0
    interruptions: int = 0
    """Switches that left a question or an offer unanswered."""
    tools: bool = False
    """Whether a tool was called."""
    service: int = 0
    """How many steps ask somebody to do something, or offer to."""
    at_length: bool = False
    """Whether an assistant answered somebody at length."""
    opener: str = ""
    """Who spoke first."""
    last_role: str = ""
    last_closed: bool = False
    last_called: bool = False
    last_answered_tool: bool = False
    time_s: float | None = None
    session: str | None = None

    @property
    def interleaved(self) -> float:
        """How much subjects are left unfinished and taken up again, from 0 to 1."""
        return min(1.0, 6.0 * (self.returns + self.interruptions) / (self.position + 16))

    @property
    def is_chat(self) -> bool:
        """Whether one talks with an assistant that answers at length."""
        return self.at_length and len(self.voices.keys() - INSTRUCTING) <= 2

    def leads(self, role: str) -> bool:
        """Whether a role, folded, spoke first, after instructions; so does the first to speak."""
        return next((voice for voice in self.voices if voice not in INSTRUCTING), role) == role

    def is_answered_at_length(self, reading: Reading) -> bool:
        """Whether one of two answers the turn before it at length, as assistants do."""
        speakers = {*self.voices, reading.role}.difference(INSTRUCTING)
        is_long = len(reading.step.content) >= _LONG_ANSWER
        return is_long and len(speakers) == 2 and reading.role != self.last_role and not self.leads(reading.role)

    def weigh(self, stems: Iterable[str]) -> dict[str, float]:
        """The inverse document frequency of each stem in this trajectory so far, in the order given."""
        steps, count = self.position + 8, self.df.get
        return {stem: log1p(steps / (count(stem, 0) + 0.5)) for stem in stems}


def known_weight(weights: Mapping[str, float], known: Container[str]) -> float:
    """The sum of the weights of what is known, in their order."""
    return sum(map(weights.__getitem__, filter(known.__contains__, weights)))


def step_evidence(
    reading: Reading,
    stream: Stream,
    current: Scope | None,
    *,
    weights: Mapping[str, float],
    scopes: int,
    here: float,
    elsewhere: float,
    known: int,
    unfinished: int,
    reply: float,
    reply_elsewhere: float,
    reply_to_nothing: float,
) -> list[float]:
    """The values of `STEP_FEATURES`.

    Args:
        reading: The step.
        stream: The trajectory so far.
        current: The scope of the last step.
        weights: The stems of the step, in order, with how telling they are.
        scopes: How many scopes there are.
        here: Cohesion with the current scope, from 0 to 1.
        elsewhere: The best cohesion with another scope.
        known: How many of the step's values were named before.
        unfinished: How many other scopes were not wound up.
        reply: How well it follows the last step of the current scope, see `replies`.
        reply_elsewhere: The best of that for another scope.
        reply_to_nothing: How well it follows nothing.
    """
    forms, role = reading.forms, reading.role
    turns = stream.turns.get(role)
    short_answer = float(bool(forms) and forms[0] in _SHORT_ANSWERS)
    few_words = 1.0 / (1.0 + len(reading.stems))
    closed = float(stream.last_closed)
    asked = float(current is not None and bool(current.asker) and current.asker != role)
    result = float(stream.last_answered_tool)
    opener = float(stream.opener == role)
    novelty = 1.0 - here if reading.stem_set else 0.0
    terms: Mapping[str, int] = current.terms if current is not None else {}
    asks, tells = _new(reading.asking, terms), _new(reading.telling, terms)
    request, anaphoric, same = SentenceForm.REQUEST in forms, float(reading.anaphoric), float(stream.last_role == role)
    switching = _log_odds(turns[1], turns[0]) if turns else -1.5
    asks_all, asks_most, asks_little = _share(len(asks), len(reading.asking))
    tells_all, tells_most, tells_little = _share(len(tells), len(reading.telling))
    values = [
        1.0,
        float(request),
        float(SentenceForm.QUESTION in forms),
        short_answer,
        float(SentenceForm.THANKS in forms),
        float(SentenceForm.FAREWELL in forms),
        float(SentenceForm.GREETING in forms),
        float(SentenceForm.APOLOGY in forms),
        few_words,
        anaphoric,
        float(reading.switches),
        float(reading.returns),
        closed,
        asked,
        float(stream.last_called),
        float(reading.answers_tool),
        float(bool(reading.data.calls)),
        switching,
        _log_odds(stream.switches, stream.position),
        log1p(_gap_s(reading, stream) / 60.0),
        float(stream.session != reading.step.session),
        float(reading.is_notice),
        same,
        log(max(2, len(stream.voices)) / 2.0),
        log1p(stream.run),
        log1p(scopes),
        float(bool(reading.addressees)),
        float(turns is None and len(stream.voices) > 1),
        opener,
        result,
        float(stream.last_role != role),
        novelty,
        min(len(reading.values) - known, 5) / 2,
        min(known, 5) / 2,
        elsewhere - here,
        log1p(sum(map(weights.__getitem__, asks))),
        log1p(sum(map(weights.__getitem__, tells))),
        float(not reading.stem_set),
        short_answer * asked,
        few_words * asked,
        asks_all,
        asks_most,
        asks_little,
        tells_all,
        tells_most,
        tells_little,
        opener * asks_all,
        opener * asks_most,
        asks_all * asked,
        asks_all * closed,
        asks_all * result,
        tells_all * asked,
        opener * tells_all,
        asks_all * float(any(map(stream.df.__contains__, asks))),
        asks_all * float(request),
    ]
    for degree in (float(stream.tools), stream.service / (stream.position + 2), float(len(stream.voices) > 2)):
        values += [degree, degree * asks_all, degree * tells_all, degree * novelty]
    values += [
        _log_odds(stream.returns, stream.position),
        log1p(unfinished),
        _log_odds(stream.interruptions, stream.position),
        unfinished / (scopes + 1),
    ]
    interleaved = stream.interleaved
    together = (1.0, asks_all, tells_all, novelty, asked, anaphoric, closed, switching, same, log1p(stream.run))
    values += [interleaved * value for value in together]
    replies = (reply, reply_to_nothing)
    return [*values, *replies, reply_elsewhere - reply, *[interleaved * value for value in replies]]


def scope_evidence(
    reading: Reading,
    scope: Scope,
    stream: Stream,
    *,
    current: Scope | None,
    weights: Mapping[str, float],
    cohesion: float,
    is_best: bool,
    is_latest: bool,
    is_latest_open: bool,
    holders: Mapping[str, Sequence[int]],
    reply: float,
    other_reply: float,
) -> list[float]:
    """The values of `SCOPE_FEATURES`.

    Args:
        reading: The step.
        scope: The scope it may belong to.
        stream: The trajectory so far.
        current: The scope of the last step.
        weights: The stems of the step, in order, with how telling they are.
        cohesion: The share of these weights that the scope knows, from 0 to 1.
        is_best: Whether no scope knows more.
        is_latest: Whether it is the earlier scope that was left last.
        is_latest_open: Whether it is that among those not wound up.
        holders: The numbers of the scopes that name a value.
        reply: How well the step follows the last one of the scope, see `replies`.
        other_reply: How well it follows the best other scope, or nothing.
    """
    role, known, interleaved = reading.role, scope.terms, stream.interleaved
    total = sum(weights.values()) or 1.0
    last = frozenset(scope.recent[-1]) if scope.recent else frozenset()
    recent = last.union(*scope.recent)
    open_question = bool(scope.asker) and scope.asker != role
    gap = stream.position - scope.last
    log_gap = log(gap) if gap > 0 else 0.0
    here: Mapping[str, int] = current.terms if current is not None else {}
    # Of the current scope itself, nothing is known here alone.
    alone = {} if scope is current else {s: weights[s] for s in filter(known.__contains__, weights) if s not in here}
    with_last = known_weight(weights, last) / total
    pointed_known = _among(reading.pointed, known)
    together = (is_latest_open, log_gap, scope.closed, with_last, cohesion)
    return [
        with_last,
        known_weight(weights, recent) / total,
        cohesion,
        float(is_best),
        *_of_shared(reading, scope, holders),
        *_of_calls(reading, scope, stream),
        log_gap,
        log1p(scope.steps),
        *_of_voices(reading, scope, stream),
        float(open_question),
        log1p(known_weight(alone, reading.asking)),
        log1p(known_weight(alone, reading.telling)),
        float(scope.closed),
        _among(reading.asking, scope.asked),
        _among(reading.asking, scope.told),
        *_of_new_classes(reading, scope),
        float(is_latest),
        float(is_latest_open),
        *[interleaved * value for value in together],
        pointed_known,
        _among(reading.pointed, last),
        1.0 - pointed_known if reading.pointed else 0.0,
        reply,
        float(reply >= other_reply),
        reply - other_reply,
        reply * float(scope.last_role == role),
        interleaved * reply,
        interleaved * (reply - other_reply),
    ]


def _of_shared(reading: Reading, scope: Scope, holders: Mapping[str, Sequence[int]]) -> tuple[float, float]:
    """The values of a step that a scope names: how many, and how few other scopes do."""
    shared = list(filter(scope.values.__contains__, reading.values))
    if not shared:
        return 0.0, 0.0
    rare = sum(1.0 / len(holders[value]) for value in shared if value in holders)
    return min(len(shared), 4) / 2, min(rare, 2.0)


def _of_calls(reading: Reading, scope: Scope, stream: Stream) -> tuple[float, float]:
    """Whether a step calls what was called in a scope, or something else.

    In a chain of calls, each tool says little of the goal; a call right after somebody's turn says more.
    """
    calls = reading.data.calls
    if not calls or stream.last_answered_tool:
        return 0.0, 0.0
    same = any(call.name in scope.calls for call in calls)
    return float(same), float(bool(scope.calls) and not same)


def _of_voices(reading: Reading, scope: Scope, stream: Stream) -> tuple[float, ...]:
    """What who speaks, and to whom, has to do with a scope."""
    role, addressees, where = reading.role, reading.addressees, stream.spoke.get
    return (
        float(role in scope.speakers),
        float(where(role) == scope.number),
        float(scope.last_role == role),
        float(scope.number in map(where, addressees)),
        float(scope.last_role in addressees),
        float(any(map(scope.speakers.__contains__, addressees))),
        float(role in scope.addressed),
    )


def _of_new_classes(reading: Reading, scope: Scope) -> tuple[float, float]:
    """Of the classes of values that a step names, the shares with new values that the scope knows, and does not."""
    new = {kind for value, kind in reading.values.items() if value not in scope.values}
    if not new:
        return 0.0, 0.0
    count, known = len(set(reading.values.values())), sum(map(scope.kinds.__contains__, new))
    return known / count, (len(new) - known) / count


def _gap_s(reading: Reading, stream: Stream) -> float:
    then, now = stream.time_s, reading.time_s
    return 0.0 if now is None or then is None else max(0.0, now - then)


def _new(stems: Iterable[str], known: Container[str]) -> list[str]:
    return [stem for stem in sorted(stems) if stem not in known]


def _among(some: Collection[str], of: Container[str]) -> float:
    """The share of `some` that is among the others, 0 if there is nothing."""
    return sum(map(of.__contains__, some)) / len(some) if some else 0.0


def _share(part: int, whole: int) -> tuple[float, float, float]:
    """Whether all, at least half, or less is part of the whole; nothing holds of an empty whole."""
    if not whole:
        return 0.0, 0.0, 0.0
    return float(part == whole), float(part < whole <= 2 * part), float(2 * part < whole)


def _log_odds(count: int, total: int) -> float:
    count = min(count, total)  # of steps that were erased it is not known how often they switched
    return log((count + 0.5) / (total - count + 2.0))

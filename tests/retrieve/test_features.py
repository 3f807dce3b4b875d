"""Features: the contract of each, and for each one step that it speaks for and one that it does not."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.scoring import pool_of, ranked, snippet
from stitch.core import ContextualIntent, FilterMaker, IntentFilter, MemorySnippet, Origin, Selection, StoreHit
from stitch.retrieve import FEATURES
from stitch.retrieve.explain import phrase
from stitch.retrieve.order import OF_A_DAY, weights
from stitch.retrieve.question import read_question
from stitch.text.dates import day_of

CLAUSE = "In the order where the city is Oslo, what was the price?"
LAMP, DOOR = "mend the lamp", "mend the door"
LONG = "We talked for hours of all that a garden needs, of soil and seeds and rain, and of who shall water it. " * 8


def of(one: MemorySnippet, *, cosine: float = 0.4, lexical: float = 0.2) -> StoreHit:
    return StoreHit(one, 0.0, 0.0, cosine, lexical)


def said(position: int, text: str = "Fine by me.", *, alike: float = 0.3, **fields: Any) -> StoreHit:
    """A step of a talk."""
    if classes := fields.pop("classes", ()):
        fields["intent"] = ContextualIntent(scope=fields.pop("scope", None), entity_types=classes)
    return of(snippet(text, position=position, **fields), cosine=alike, lexical=alike)


def step(position: int, role: str, text: str, *, scope: str = LAMP, alike: float = 0.1, **fields: Any) -> StoreHit:
    """A step of a run: a tool is called by who has one, and answers."""
    origin = {"tool": Origin.TOOL, "user": Origin.USER}.get(role, Origin.AGENT)
    return said(position, text, role=role, scope=scope, alike=alike, origin=origin, **fields)


RUN = (
    step(1, "user", "The lamp of customer c_17 is dark, please mend it."),
    step(2, "assistant", 'find_part(name="bulb")', tools=("find_part",)),
    step(3, "tool", "Error: no part of that name", tools=("find_part",)),
    step(4, "assistant", "The search failed because the part has another name."),
    step(5, "assistant", 'order_part(name="globe")', tools=("order_part",)),
    step(6, "tool", "ordered, 4 dollars", tools=("order_part",)),
    step(7, "user", "The door of customer c_18 squeaks.", scope=DOOR),
    step(8, "assistant", 'find_part(name="oil")', scope=DOOR, tools=("find_part",)),
    step(9, "tool", "oil, 2 dollars", scope=DOOR, tools=("find_part",)),
)

LAMPS = (
    said(1, "The lamp is dark.", scope="hall", alike=0.6),
    said(5, "A new bulb for the lamp.", scope="shop", alike=0.5),
    said(9, "The door squeaks.", scope="door", alike=0.1),
)
RENTS = (
    said(1, "The rent is 540.", role="Ana", scope="a", alike=0.6),
    said(9, "The rent is 610.", role="Ana", scope="b", alike=0.4),
)
CHOIR = (
    said(1, "Choir practice is on Monday.", role="Ana", alike=0.6),
    said(2, "Good.", role="Bo", alike=0.5),
    said(4, "Practice moves to Friday.", role="Ana", alike=0.4),
    said(5, "Fine, Friday.", role="Bo", alike=0.4),
)


def numbers(name: str, query: str, *candidates: StoreHit, **fields: Any) -> dict[str, float]:
    """What a feature says of each step."""
    pool = pool_of(query, candidates, **fields)
    column = FEATURES[name](pool)
    column = np.zeros(len(candidates)) if column is None else column
    return dict(zip([one.snippet.step for one in pool.candidates], column.tolist(), strict=True))


def best(name: str, query: str, *candidates: StoreHit, **fields: Any) -> set[str]:
    """The steps for which it speaks most; none if for no one."""
    found = numbers(name, query, *candidates, **fields)
    most = max(found.values())
    return {step for step, number in found.items() if number == most} if most > min(found.values()) else set()


CASES: list[tuple[str, str, tuple[StoreHit, ...], set[str]]] = [
    ("meaning", "?", (of(snippet(position=1), cosine=0.8), of(snippet(position=2), cosine=0.2)), {"1"}),
    ("meaning", "?", (of(snippet(position=1), cosine=0.0), of(snippet(position=2), cosine=0.0)), set()),
    ("words", "?", (of(snippet(position=1), lexical=0.1), of(snippet(position=2), lexical=0.5)), {"2"}),
    ("words", "?", (of(snippet(position=1), lexical=0.0), of(snippet(position=2), lexical=0.0)), set()),
    ("beside", "?", (said(1, alike=0.9), said(2, alike=0.2), said(4, alike=0.1)), {"2"}),
    ("beside", "?", (said(1, alike=0.9), said(2, alike=0.2, session="next day")), set()),
    ("near", CLAUSE, (said(1, "Oslo, then."), said(2, "It is $7."), said(90, "It is $9.")), {"1"}),
    ("near", "Is there?", (said(1, "Oslo, then."), said(2, "It is $7.")), set()),
    ("goal", "What came of c_17?", RUN, {"1", "2", "3", "4", "5", "6"}),
    ("goal", "I want my lamp mended.", RUN, set()),
    ("goal", "What came of it?", (said(1, scope=LAMP), said(2, scope=DOOR)), set()),
    ("kind", CLAUSE, (said(1, classes=("price",)), said(2, classes=("name",)), said(3)), {"1"}),
    ("kind", "What did Ann say?", (said(1, classes=("price",)), said(2)), set()),
    ("kind", "Which error did the search give?", RUN, {"3", "4"}),
    ("kind", "By which calls was the lamp settled?", RUN, {"5"}),
    ("kind", "I want my lamp mended.", RUN, {"1", "7"}),
    ("kind", "What did the customer contact us about?", RUN, {"1", "7"}),
    ("late", "Where did we end up?", (said(1, scope="trip"), said(5, scope="trip"), said(9, scope="car")), {"5"}),
    ("late", "What was said first?", (said(1, scope="trip"), said(5, scope="trip")), {"1"}),
    ("late", "Where did we go?", (said(1, scope="trip"), said(5, scope="trip")), set()),
    ("late", "What did he say about the lamp last?", LAMPS, {"5"}),
    ("late", "What did he first say about the lamp?", LAMPS, {"1"}),
    ("late", "What is the rent at the moment?", RENTS, {"9"}),
    ("late", "How does c_18 stand now?", RUN, {"9"}),
    ("late", "When is choir practice now?", CHOIR, {"4"}),
    ("late", "When is choir practice?", CHOIR, set()),
    ("speaker", "What did Ann say?", (said(1, role="Ann"), said(2, role="Bo")), {"1"}),
    ("speaker", "Was hat Ann zuletzt gesagt?", (said(1, role="Ann"), said(2, role="Bo")), {"1"}),
    ("speaker", "What was said?", (said(1, role="Ann"), said(2, role="Bo")), set()),
    ("speaker", "Where did I park?", (said(1), said(2, LONG, role="assistant")), {"1"}),
    ("speaker", "What did you suggest to me?", (said(1), said(2, LONG, role="assistant")), set()),
    ("time", "What was said on 8 May 2023?", (said(1, happened="2023-05-08"), said(2, happened="2023-07-08")), {"1"}),
    ("time", "What was said?", (said(1, happened="2023-05-08"), said(2)), set()),
    ("asking", "Which inn is good?", (said(1, "Is the inn good?"), said(2, "It is good.")), {"2"}),
    ("asking", "Which inn is good?", (said(1, f"{LONG} Is it?"), said(2, "It is good.")), set()),
    ("standing", "Which inn should I take?", (said(1, "Always name the price first."), said(2)), {"1"}),
    ("standing", "Which inn should I take?", (said(1, "I prefer an inn by a lake."), said(2)), {"1"}),
    ("standing", "Which inn did I take?", (said(1, "Always name the price first."), said(2)), set()),
    ("standing", "Which inn should I take?", (said(1, "Always name the price.", role="assistant"), said(2)), set()),
]  # fmt: skip


@pytest.mark.parametrize(("name", "query", "candidates", "expected"), CASES)
def test_each_feature_speaks_for_what_it_is_for_and_for_nothing_else(
    name: str, query: str, candidates: tuple[StoreHit, ...], expected: set[str]
) -> None:
    assert best(name, query, *candidates) == expected


def test_hints_count_less_where_steps_are_long() -> None:
    for name in ("near", "kind"):
        short, long = (
            numbers(name, CLAUSE, said(1, f"Oslo. {text}", classes=("price",)), said(2, text))
            for text in ("Yes.", LONG)
        )
        assert 0 < long["1"] < short["1"]


def test_a_question_that_was_asked_before_loses_more_than_one_that_asks_for_something_else() -> None:
    same, other, empty = (said(n, text) for n, text in enumerate(("A good inn?", "Is the inn open?", "And then?")))
    found = numbers("asking", "Which inn is good?", same, other, empty, said(3, "It is."))
    assert found["0"] < found["1"] == found["2"] < found["3"] == 0


def test_of_what_is_said_in_several_talks_word_for_word_the_last_one_loses_nothing() -> None:
    texts = ("I forgot.", "I forgot.", "In the blue box.", "I forgot.")
    talks = [said(n, text, trajectory=f"talk {n}", recorded=float(n)) for n, text in enumerate(texts)]
    found = numbers("asking", "Where is the key?", *talks)
    assert found["0"] == found["1"] < found["2"] == found["3"] == 0


def test_a_class_that_every_step_has_tells_less() -> None:
    rare, frequent = (
        numbers("kind", CLAUSE, said(1, classes=("price",)), *(said(n, classes=own) for n in range(2, 9)))
        for own in ((), ("price",))
    )
    assert 0 < frequent["1"] < rare["1"]


def test_each_feature_holds_in_one_case_and_not_in_another_and_has_a_weight_and_words() -> None:
    assert FEATURES.keys() == {name for name, *_, found in CASES if found} == {name for name, *_, no in CASES if not no}
    assert FEATURES.keys() == weights().keys()
    assert all(phrase(name) != name for name in FEATURES)


QUERIES = [query for _, query, *_ in CASES]
ELSEWHERE = tuple(one._replace(snippet=one.snippet.model_copy(update={"trajectory": "run"})) for one in RUN)
TALK = (
    said(1, "Is Oslo good?", role="Ann", scope="trip", alike=0.5),
    said(2, "It is $7, I prefer it.", role="Bo", scope="trip", happened="2023-05-08", alike=0.2),
    said(3, "Or by car, always.", role="Ann", scope="car", alike=0.3),
    said(9, "We take the car today.", role="Bo", scope="car", happened="2023-05-08", alike=0.3),
)


@given(query=st.sampled_from(QUERIES), turned=st.permutations(range(len(TALK) + len(ELSEWHERE))))
def test_a_number_is_finite_and_does_not_depend_on_the_order_of_all(query: str, turned: list[int]) -> None:
    every = [*TALK, *ELSEWHERE]
    for feature in FEATURES.values():
        plain, other = feature(pool_of(query, every)), feature(pool_of(query, [every[n] for n in turned]))
        assert (plain is None) == (other is None)
        if plain is not None and other is not None:
            assert all(map(math.isfinite, plain.tolist()))
            assert other.tolist() == pytest.approx(plain.tolist())
        assert feature(pool_of(query, [])) is None or len(feature(pool_of(query, []))) == 0  # type: ignore[arg-type]


@pytest.mark.parametrize("query", QUERIES)
def test_the_order_of_a_talk_is_the_same_beside_the_run_of_an_agent(query: str) -> None:
    alone = [hit.snippet.position for hit in ranked(pool_of(query, TALK))]
    beside = ranked(pool_of(query, [*TALK, *ELSEWHERE]))
    assert [hit.snippet.position for hit in beside if hit.snippet.trajectory == "t"] == alone


def voting(*scopes: str | None, by: str | None = "gpt-x") -> tuple[StoreHit, ...]:
    return tuple(said(n, scope=scope, labeled_by=by, alike=1 - n / 100) for n, scope in enumerate(scopes))


@pytest.mark.parametrize(
    ("hits", "scope"),
    [
        (voting("car", "boat"), "car"),  # the better hit has more of a vote
        (voting("car", *["boat"] * 4), "boat"),
        (voting("car", "boat", "house", "tree"), None),  # none has half of the votes
        (voting(*["car"] * 2, "boat", "house", "tree", *["hill"] * 30), "car"),  # only the first ones have a vote
        (voting("car", None, None), None),
        (voting("car", "car", by="local-9"), None),
        (voting("car", "car", by=None), None),
    ],
)
def test_the_scope_of_most_of_the_first_hits_counts_if_a_model_named_it(
    hits: tuple[StoreHit, ...], scope: str | None
) -> None:
    found = numbers("goal", "x", *hits)
    assert {one.snippet.intent.scope for one in hits if found[one.snippet.step]} == {scope} - {None}
    chosen = Selection(IntentFilter(), made_by=FilterMaker.PERSON)
    assert not any(numbers("goal", "x", *hits, selection=chosen).values())


def test_a_scope_that_the_question_names_counts() -> None:
    named = Selection(IntentFilter(scopes=("day 1",)))
    found = numbers("goal", "?", said(1, scope="day 1"), said(2, scope="day 2"), selection=named)
    assert found == {"1": 1.0, "2": 0.0}


def test_of_a_day_alone_what_was_said_then_stands_first() -> None:
    for query in ("What was said on 8 May 2023?", "What happened on 08.05.2023?", "What did they talk about on May 8?"):
        assert read_question(query).of_a_day
        talk = (said(1, happened="2023-05-08", alike=0.0), said(2, happened="2023-06-08", alike=0.9))
        first, _ = ranked(pool_of(query, talk, rule=OF_A_DAY))
        assert first.snippet.step == "1"
    for query in (
        "Was habe ich am 08.05.2023 gemacht?",
        "¿Qué hice el 8 de mayo de 2023?",
        "Que s'est passé le 8 mai ?",
    ):
        assert read_question(query).of_a_day
    for query in (
        "What was the fare on 8 May 2023?",
        "What did we pay last week?",
        "What was said?",
        "Was hat Anna am 8. Mai 2023 gekauft?",
    ):
        assert not read_question(query, asked=day_of("2023-05-20")).of_a_day
    assert read_question("What happened last week?", asked=day_of("2023-05-20")).of_a_day


def test_few_calls_among_much_talk_are_no_run() -> None:
    talk = [said(n, "We talk of lamps.", scope=LAMP, role="assistant") for n in range(20)]
    pool = pool_of("?", [*talk, step(20, "assistant", "x", tools=("find_part",))])
    assert pool.running.tolist() == [False]
    assert pool_of("?", RUN).running.tolist() == [True]


def test_a_feature_that_says_nothing_leaves_no_part() -> None:
    [hit, *_] = ranked(pool_of("?", [said(1), said(2)]))
    assert "time" not in hit.parts
    assert "similarity" in hit.parts
    assert hit.score == pytest.approx(sum(number for name, number in hit.parts.items() if name != "similarity"))

"""Agents' runs: goals, exchanges of calls and results, and which of them a question asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.scorer import ScorerContract
from doubles.scoring import pool_of, retriever_of, snippet
from stitch.core import (
    ContextualIntent,
    IntentFilter,
    LabelInventory,
    MemorySnippet,
    Origin,
    RetrievalResult,
    ScopeSummary,
    SearchRequest,
)
from stitch.retrieve import SCORERS, Candidate, IntentRetriever, Pool, Scorer
from stitch.retrieve.constants import CONSTANTS
from stitch.retrieve.rank.runs import Runs, runs
from stitch.retrieve.rank.scorers import tells_of_runs
from stitch.retrieve.rank.wording import phrase


def step(
    position: int, role: str, text: str, *, scope: str = "mend the lamp", tools: tuple[str, ...] = (),
    events: tuple[str, ...] = (), origin: Origin = Origin.AGENT,
) -> MemorySnippet:  # fmt: skip
    intent = ContextualIntent(scope=scope, event_types=events)
    return snippet(text, position=position, role=role, tools=tools, origin=origin, intent=intent)


def system(position: int, text: str = "You mend things.") -> MemorySnippet:
    return step(position, "system", text, scope="setup", origin=Origin.USER)


def user(position: int, text: str, scope: str) -> MemorySnippet:
    return step(position, "user", text, scope=scope, origin=Origin.USER)


def call(position: int, text: str, scope: str, tool: str = "find_part") -> MemorySnippet:
    return step(position, "assistant", text, scope=scope, tools=(tool,))


def result(position: int, text: str, scope: str, tool: str = "find_part") -> MemorySnippet:
    return step(position, "tool", text, scope=scope, tools=(tool,), origin=Origin.TOOL)


def said(position: int, text: str, scope: str) -> MemorySnippet:
    return step(position, "assistant", text, scope=scope)


LAMP, DOOR = "mend the lamp", "mend the door"
RUN = (
    system(0),
    user(1, "The lamp of customer c_17 is dark, please mend it.", LAMP),
    call(2, 'find_part(name="bulb")', f"{LAMP} / look up"),
    result(3, "Error: no part of that name", f"{LAMP} / look up"),
    said(4, "The search failed because the part has another name.", f"{LAMP} / look up"),
    call(5, 'order_part(name="globe")', f"{LAMP} / act", tool="order_part"),
    result(6, "ordered, 4 dollars", f"{LAMP} / act", tool="order_part"),
    user(7, "The door of customer c_18 squeaks.", DOOR),
    call(8, 'find_part(name="oil")', DOOR),
    result(9, "oil, 2 dollars", DOOR),
    call(10, 'order_part(name="oil")', DOOR, tool="order_part"),
    result(11, "Error: out of stock", DOOR, tool="order_part"),
    said(12, "The oil is out of stock.", DOOR),
)


def candidates(*similar: int, of: tuple[MemorySnippet, ...] = RUN) -> list[Candidate]:
    """The steps of a run; those named are alike, the others hardly."""
    return [Candidate(one, frozenset(), 0.0, 0.6 if one.position in similar else 0.1) for one in of]


def read(query: str, *similar: int) -> Runs:
    found = runs(pool_of(query, candidates(*similar)))
    assert found is not None
    return found


def test_a_call_its_result_and_what_follows_are_partners() -> None:
    found = read("What was ordered?")
    assert found.partners[2:7] == [[3], [2], [3], [6], [5]]
    assert [found.result_of[number] for number in (3, 6, 9, 11)] == [2, 5, 8, 10]
    assert found.result_of[4] == -1


def test_few_calls_among_much_talk_are_no_run() -> None:
    talk = tuple(said(n, "We talk of lamps.", LAMP) for n in range(20))
    assert runs(pool_of("lamps?", candidates(of=(*talk, call(20, "x", LAMP))))) is None
    assert runs(pool_of("lamps?", [])) is None


QUERIES = {
    "newest": "How does c_17 stand now?",
    "opening": "I want my lamp mended.",
    "kind": "I want my lamp mended.",
    "deed": "Which error did the search give?",
}


@pytest.mark.parametrize("name", ["exchange", "goal", "inside", "deed", "opening", "kind", "place", "newest"])
class TestScorersOfRuns(ScorerContract):
    @pytest.fixture
    def scorer(self, name: str) -> Scorer:
        return SCORERS[name]

    @pytest.fixture
    def pool(self, name: str) -> Pool:
        shelf = (user(20, "The shelf leans.", "mend the shelf"), call(21, "find_part(x)", "mend the shelf"))
        return pool_of(QUERIES.get(name, "What was ordered for the lamp?"), candidates(2, 9, of=(*RUN, *shelf)))


def retriever(*steps: MemorySnippet, pool: int = 400) -> IntentRetriever:
    names = dict.fromkeys(each.intent.scope for each in steps if each.intent.scope)
    scopes = tuple(ScopeSummary(name=name, trajectory="t", spans=((0, 1),), steps=1) for name in names)
    constants = replace(CONSTANTS, pool=pool, pool_of_hints=pool)
    return retriever_of(steps, inventory=LabelInventory(scopes=scopes, steps=len(steps)), constants=constants)


def ask(query: str, *, k: int = 20, pool: int = 400, **given: object) -> RetrievalResult:
    request = SearchRequest.model_validate({"query": query, "tenant": "a", "k": k, **given})
    return retriever(*RUN, pool=pool).search(request)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Which error did the search for the lamp's bulb give?", "3"),
        ("By which calls was the door of c_18 settled?", "10"),
        ("Why was the lamp mended that way?", "1"),
        ("What was ordered last for the lamp?", "6"),
        ("What came of the order for the door?", "11"),
        ("How does c_17 stand now?", "6"),
        ("I want my lamp mended.", "1"),
    ],
)
def test_what_a_question_asks_of_a_run_stands_first(query: str, first: str) -> None:
    found = ask(query)
    assert found.hits[0].snippet.step == first
    assert tells_of_runs(found.hits)
    assert [hit.snippet.step for hit in sorted(found.hits, key=found.rule.key)] == [hit.snippet.step for hit in found]
    assert all(phrase(part) != part.replace("_", " ") for part in found.hits[0].parts if part != "similarity")
    missed = retriever(*RUN).why_not(SearchRequest(query=query, tenant="a", k=1), step="9", trajectory="t")
    assert (missed.rank > 1, missed.ranked) == (True, len(RUN))


def test_labels_that_a_person_chose_and_none_at_all_are_ranked_as_ever() -> None:
    assert not tells_of_runs(ask("Which error did it give?", intent_filter=IntentFilter()).hits)
    assert ask("Which error did it give?", intent_filter=IntentFilter(scopes=(DOOR,))).hits[0].density == 1.0
    assert ask("Which error did it give?", ranking="strict").rule.tiers == (("density",),)


def test_of_the_goals_asked_about_all_steps_are_looked_at_however_few_are_alike() -> None:
    many = [said(n, f"The lamp shines, said number {n}.", f"goal {n}") for n in range(20, 60)]
    calls = [call(n, f"The lamp is looked at, {n}.", f"goal {n}") for n in range(60, 90)]
    request = SearchRequest(query="What came of the order for the lamp of c_17?", tenant="a", k=30)
    found = retriever(*RUN, *many, *calls, pool=12).search(request)
    assert tells_of_runs(found.hits)
    assert {"1", "2", "3", "4", "5", "6"} <= {hit.snippet.step for hit in found.hits}


def test_a_goal_is_found_by_an_identifier_that_its_opening_alone_says() -> None:
    alike = [result(n, f"Nothing came of it, number {n}.", f"goal {n}") for n in range(20, 80)]
    opens = user(90, "Q-7731: mend whatever is broken.", "Q-7731")
    mended = call(91, 'order_part(name="cord")', "Q-7731", tool="order_part")
    asked = "What came of Q-7731?"
    request = SearchRequest(query=asked, tenant="a", k=5)
    found = retriever(*RUN, *alike, opens, mended, pool=12).search(request)
    assert found.hits[0].snippet.step == "91"


def test_what_somebody_wanted_is_what_opens_the_goal_that_names_them_only_later() -> None:
    run = (
        user(1, "Hi, the lamp that I bought is broken.", LAMP),
        said(2, "May I have your name?", LAMP),
        user(3, "It is Ann Bell.", LAMP),
        call(4, 'find_customer(name="Ann Bell")', LAMP, tool="find_customer"),
        result(5, "ann_bell_77", LAMP, tool="find_customer"),
        user(6, "Hello, the hinge squeaks.", DOOR),
        said(7, "May I have your name?", DOOR),
        user(8, "It is Bo Hill.", DOOR),
        call(9, 'find_customer(name="Bo Hill")', DOOR, tool="find_customer"),
        result(10, "bo_hill_12", DOOR, tool="find_customer"),
    )
    for who, opens in (("Ann Bell", "1"), ("Bo Hill", "6")):
        asked = SearchRequest(query=f"What did {who} contact us about?", tenant="a", k=1)
        assert [hit.snippet.step for hit in retriever(*run).search(asked).hits] == [opens]

"""Agents' runs: goals, exchanges of calls and results, and which of them a question asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.retriever import EMBEDDER, LEXICAL, record
from contracts.scorer import ScorerContract
from doubles.scoring import pool_of, ranked
from doubles.storing import ListStore
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
from stitch.retrieve import SCORERS, Candidate, IntentRetriever, LocalFilterSelector, PieceCounter, Pool, Scorer
from stitch.retrieve.constants import CONSTANTS
from stitch.retrieve.kinds import Kind, changes, failed, goal_of, kind_of
from stitch.retrieve.question.run_question import read_run_question
from stitch.retrieve.rank.runs import Runs, runs, without_things
from stitch.retrieve.rank.scorers import WEIGHTED, tells_of_runs
from stitch.retrieve.rank.wording import phrase


def step(
    position: int, role: str, text: str, *, scope: str = "mend the lamp", tools: tuple[str, ...] = (),
    events: tuple[str, ...] = (), origin: Origin = Origin.AGENT,
) -> MemorySnippet:  # fmt: skip
    return MemorySnippet(
        tenant="a", trajectory="t", step=str(position), position=position, role=role, text=text, resolved=text,
        tools=tools, origin=origin, intent=ContextualIntent(scope=scope, event_types=events), recorded=0.0,
    )  # fmt: skip


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


def test_goals_are_scopes_without_their_phases_and_setup_is_none() -> None:
    assert [goal_of(scope) for scope in (f"{LAMP} / act", LAMP, "setup", None)] == [LAMP, LAMP, "", ""]
    found = read("What was ordered?")
    assert [goal.name for goal in found.named] == [LAMP, DOOR]
    assert found.members == [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]]
    assert found.goals[0] == -1
    assert found.openings == {1, 7}


def test_a_call_its_result_and_what_follows_are_partners() -> None:
    found = read("What was ordered?")
    assert found.partners[2:7] == [[3], [2], [3], [6], [5]]
    assert [found.result_of[number] for number in (3, 6, 9, 11)] == [2, 5, 8, 10]
    assert found.result_of[4] == -1


def test_calls_in_text_are_calls_and_what_is_said_after_them_is_their_result() -> None:
    of = (
        user(0, "Mend the lamp.", LAMP),
        said(1, "I look first.\n```\nls\n```", LAMP),
        user(2, "lamp.py", LAMP),
        said(3, "Act: open lamp", LAMP),
        user(4, "It is dark.", LAMP),
        said(5, "I am done.", LAMP),
        user(6, "Thanks.", LAMP),
    )
    found = runs(pool_of("What was found?", candidates(of=of)))
    assert found is not None
    assert found.kinds == [
        Kind.USER, Kind.CALL, Kind.RESULT, Kind.CALL, Kind.RESULT, Kind.AGENT, Kind.USER,
    ]  # fmt: skip


def test_labels_say_what_a_step_is_where_its_fields_do_not() -> None:
    assert kind_of(step(1, "assistant", "open it", events=("call tool",))) is Kind.CALL
    assert kind_of(step(1, "user", "4 passed", events=("success",), origin=Origin.USER)) is Kind.RESULT
    assert kind_of(step(1, "assistant", "be brief", scope="setup")) is Kind.SETUP


def test_a_call_changes_something_by_its_label_or_by_the_name_of_its_tool() -> None:
    named = [changes(call(1, "x", LAMP, tool=tool)) for tool in ("order_part", "shop.get_part", "search")]
    assert named == [True, False, False]
    labeled = [step(1, "assistant", "x", tools=("part",), events=(event,)) for event in ("book", "read", "say")]
    assert [changes(each) for each in labeled] == [True, False, True]


def test_what_failed_is_told_by_its_label_or_by_its_words() -> None:
    told = ("Error: no such part", "ValueError: x", "part found", "Unfortunately that is out.")
    assert [failed(result(1, text, LAMP)) for text in told] == [True, True, False, True]
    assert not failed(step(1, "tool", "0 errors", events=("success",)))
    assert failed(step(1, "tool", "[]", events=("empty",)))


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


@pytest.mark.parametrize("query", ["What was he called?", "Was it ever tried?", "Was it called off?"])
def test_what_is_called_or_tried_is_no_call(query: str) -> None:
    assert not read_run_question(query).calls
    assert read_run_question("What happened when we tried that?").calls


REQUESTS = (
    user(0, "The kettle ORD-1 came in pieces.", "kettle"),
    user(1, "The cup ORD-2 arrived broken, it came in pieces.", "cup"),
    user(2, "My lamp arrived broken.", "lamp"),
    user(3, "ORD-4 arrived broken, money back please.", "vase"),
    user(4, "Where is my parcel ORD-2?", "parcel"),
    call(5, "find_part(x)", "parcel"),
)


def kinds(query: str, *similar: int, of: tuple[MemorySnippet, ...] = REQUESTS) -> list[float]:
    return list(SCORERS["kind"](pool_of(query, candidates(*similar, of=of))) or [])


def test_a_request_is_of_the_kind_whose_words_the_most_alike_ones_share() -> None:
    told = kinds("I hold a pot that came in pieces.", 0, 1, 2)

    assert max(told) == pytest.approx(CONSTANTS.runs_kind)
    assert told[2] > told[4]
    assert told[3] > told[4]
    assert told[5] == 0.0


def test_numbers_and_identifiers_tell_of_no_kind() -> None:
    same_order = (user(0, "Send the lamp ORD-2.", "a"), user(1, "Send ORD-2 on.", "b"), user(2, "ORD-2", "c"))
    told = kinds("I want ORD-2 to be sent on.", 0, of=(*same_order, call(3, "find_part(x)", "c")))

    assert told[0] > 0.0
    assert told[2] == 0.0


def test_a_task_is_compared_without_the_names_of_things_that_results_give() -> None:
    named = result(6, '{"id": "o-9", "name": "Red Globe Lamp", "note": "mended before"}', LAMP)
    pool = pool_of("x", candidates(of=(*RUN[:6], named)))
    assert without_things("Please have the red lamp of o-9 mended again, and the door", pool) == (
        "Please have the of mended again and the door"
    )
    assert without_things("the red lamp", pool) == "the red lamp"


def test_an_opening_that_labels_name_is_one_wherever_it_stands() -> None:
    of = (*RUN, step(13, "planner", "The shelf leans.", scope="mend the shelf", events=("state task",)))
    found = runs(pool_of("What was ordered?", candidates(of=of)))
    assert found is not None
    assert found.openings == {1, 7, 13}


def test_a_goal_that_labels_open_makes_a_run_of_few_calls() -> None:
    talk = tuple(said(n, "We talk of lamps.", LAMP) for n in range(20))
    opened = step(20, "user", "Mend it.", events=("state task",), origin=Origin.USER)
    assert runs(pool_of("lamps?", candidates(of=(*talk, opened)))) is not None


def retriever(*steps: MemorySnippet, pool: int = 400) -> IntentRetriever:
    from dataclasses import replace

    store = ListStore()
    store.put([record(each) for each in steps])
    names = dict.fromkeys(each.intent.scope for each in steps if each.intent.scope)
    scopes = tuple(ScopeSummary(name=name, trajectory="t", spans=((0, 1),), steps=1) for name in names)
    return IntentRetriever(
        store=store, selector=LocalFilterSelector(), embedder=EMBEDDER, lexical=LEXICAL, counter=PieceCounter(),
        inventories=lambda tenant, trajectory: LabelInventory(scopes=scopes, steps=len(steps)),
        constants=replace(CONSTANTS, pool=pool, pool_of_hints=pool),
    )  # fmt: skip


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


@pytest.mark.parametrize(
    ("query", "asks"),
    [
        ("Why did the run stop?", {"cause"}),
        ("Which command was used to start it?", {"action", "first", "calls"}),
        ("Which error did it give?", {"error", "result"}),
        ("How many tests passed in the last run?", {"result", "last", "action"}),
        ("I want my money back.", {"task"}),
        ("What did this customer want before?", {"requests"}),
        ("What did Yusuf Rossi contact us about?", {"requests"}),
        ("What did customer user_001 ask for when she first called?", {"requests"}),
        ("Why did Mia's mother write to us?", {"requests", "cause"}),
        ("How does the order stand now?", {"state", "last"}),
    ],
)
def test_what_a_question_asks_of_runs(query: str, asks: set[str]) -> None:
    found = read_run_question(query)
    flags = ("action", "result", "error", "cause", "last", "first", "state", "task", "requests", "calls")
    assert asks <= {name for name in flags if getattr(found, name)}


@pytest.mark.parametrize(
    "query", ["What did the agent ask for?", "What did Raj want looked up before?", "Why did the run call find_part?"]
)
def test_what_an_agent_asked_for_and_what_was_wanted_of_it_are_no_requests(query: str) -> None:
    assert not read_run_question(query).requests


@pytest.mark.parametrize("query", ["Which class is BK-1000 booked in?", "How much is still to be paid for the house?"])
def test_how_something_is_now_asks_for_no_call_whatever_verb_it_has(query: str) -> None:
    asked = read_run_question(query)
    assert not asked.action
    assert not asked.calls
    assert read_run_question(query.replace("is", "was")).action


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


def test_identifiers_are_known_by_their_form() -> None:
    asked = read_run_question("How does ORD-7214 of cust_003 stand, and 20231105, but not day 1 or well-known things?")
    assert asked.identifiers == ("ord-7214", "cust_003", "20231105")


@given(st.text(max_size=200))
def test_any_question_can_be_read(text: str) -> None:
    found = read_run_question(text)
    assert len(set(found.terms)) == len(found.terms)


ASKING = st.sampled_from(
    ["I", "my", "each", "both", "why", "which error", "last", "first", "now", "c_17", "which calls", "lamp",
     "this customer", "wanted", "how many", "the door", "was ordered", "in each case"]
)  # fmt: skip


@given(st.lists(ASKING, min_size=1, max_size=6).map(" ".join))
def test_whatever_a_question_asks_at_once_its_hits_are_in_the_order_of_their_parts(query: str) -> None:
    of = (*RUN, user(20, "The shelf leans.", "mend the shelf"), call(21, "find_part(x)", "mend the shelf"))
    found = ranked(pool_of(query, candidates(2, 9, of=of), of_runs=True))
    assert [hit.snippet.step for hit in sorted(found, key=WEIGHTED.key)] == [hit.snippet.step for hit in found]


@given(st.lists(st.sampled_from(["all", "of", "the", "shelves", "mended", "now"]), max_size=6))
def test_who_says_again_what_was_said_in_a_run_finds_it_though_it_sounds_like_a_task(words: list[str]) -> None:
    text = " ".join(["I want it mended, please", *words])
    opened = [
        step(n, "user", f"Shelf {n} leans.", scope=f"goal {n}", events=("state task",), origin=Origin.USER)
        for n in range(20, 60)
    ]
    found = retriever(*RUN, *opened, said(60, text, "goal 20"), pool=12).search(
        SearchRequest(query=text, tenant="a", k=3)
    )
    assert found.hits[0].snippet.step == "60"
    assert found.hits[0].parts["verbatim"]

"""A user asks: questions, filters, time, and why."""

from datetime import date, timedelta

import pytest

from stitch import IntentFilter, StitchError, open_memory


def steps(result):
    return [hit.snippet.step for hit in result.hits]


def test_a_question_finds_the_step_that_answers_it(memory):
    result = memory.search("What does the boat to Faro cost?", k=3)
    assert "boat" in steps(result)
    assert "35 euros" in result.context()


def test_a_question_in_other_words_about_one_of_two_goals_finds_that_goal(memory):
    assert "hotel" in steps(memory.search("What does the hotel of day 1 cost?", k=4))


def test_without_k_ten_come_and_the_context_shows_what_has_room(memory):
    for number in range(30):
        memory.add(f"The ferry number {number} to Tavira leaves at {number}:15.", trajectory="ferries")
    asked = {"query": "When does the ferry to Tavira leave?", "trajectory": "ferries"}
    result = memory.search(**asked)
    assert len(result.hits) == 10
    every = memory.search(**asked, k=30).hits
    assert result.hits == every[:10]
    behind = [hit.snippet.step for hit in every[10:] if hit.snippet.id in result.context_hits]
    why = memory.why(asked["query"], step=behind[0], trajectory="ferries")
    assert (why.found, why.in_context, why.place.k) == (False, True, 10)
    assert len(memory.search(**asked, k=4).context_hits) <= 4


def test_a_context_is_in_the_order_in_which_it_happened(memory):
    context = memory.search("the hotel and the boat", k=8, min_share=0).context()
    assert context.index("Casa Azul") < context.index("boat to Faro")


def test_a_search_may_be_of_one_trajectory(memory):
    memory.add({"role": "user", "content": "The boat to Faro is sold out."}, trajectory="other")
    found = memory.search("the boat to Faro", trajectory="other")
    assert {hit.snippet.trajectory for hit in found.hits} == {"other"}
    with pytest.raises(StitchError):
        memory.search("anything", trajectory="no such trip")


def test_a_filter_by_hand_decides_by_density(memory):
    scope = memory.get("trip", "boat").snippet().intent.scope
    result = memory.search("price", intent_filter=IntentFilter(scopes=(scope,)), k=8)
    densities = [hit.density for hit in result.hits]
    assert densities == sorted(densities, reverse=True)
    assert densities[0] > 0
    assert result.reasons == ("the filter came with the request",)
    misspelt = memory.search("price", intent_filter=IntentFilter(entity_types=("prise",)))
    assert "no step carries entity_type 'prise'" in misspelt.reasons


@pytest.mark.parametrize("ranking", ["auto", "strict"])
@pytest.mark.parametrize("retriever", ["auto", "themes", "dense"])
def test_every_lens_and_ranking_answers(memory, ranking, retriever):
    result = memory.search("What does the boat to Faro cost?", retriever=retriever, ranking=ranking, k=5)
    assert "35 euros" in result.context()


def test_steps_that_differ_can_be_asked_for(memory):
    for n in range(4):
        memory.add(
            {"role": "user", "content": "The boat to Faro leaves at nine.", "id": f"again{n}"}, trajectory="trip"
        )
    texts = [hit.snippet.text for hit in memory.search("the boat to Faro", k=4, diverse=True).hits]
    assert len(set(texts)) >= 2


def test_a_time_that_no_calendar_has_is_said_as_it_is(tmp_path):
    with open_memory(tmp_path / "m") as memory:
        for seconds in (1e30, -1e11, 0.0):
            memory.add({"role": "user", "content": "The cat is called Mog.", "timestamp": seconds}, trajectory="t")
        times = [node.fields["time"] for node in memory.select("//Step")]
    assert times == ["1e+30", "-100000000000.0", "1970-01-01T00:00:00+00:00"]


def test_words_of_our_own_lower_no_trust(tmp_path):
    with open_memory(tmp_path / "m") as memory:
        memory.add({"role": "tool", "tool_name": "log", "content": "and on and on"}, trajectory="t")
        memory.add({"role": "user", "content": "Yes. What time is it?"}, trajectory="t")
        snippet = list(memory.steps("t"))[1].snippet()
        assert " and " in snippet.summary
        assert [hit.snippet.step for hit in memory.search("what time", min_trust="high", min_relevance=0).hits] == ["1"]


def test_when_it_is_asked_says_what_last_week_is(tmp_path):
    with open_memory(tmp_path / "m") as memory:
        for day, thing in (("2026-03-02", "a kettle"), ("2026-04-20", "a lamp")):
            memory.add({"role": "user", "content": f"I bought {thing} today.", "timestamp": day}, trajectory="t")
        found = memory.search("What did I buy last week?", asked_at="2026-03-10T12:00", k=1)
    assert "kettle" in found.context()


DIARY = [
    ("2025-07-20", "I paid the electricity bill."),
    ("2025-07-22", "I called the landlord."),
    ("2025-07-24", "I work at the mill as a clerk."),
    ("2025-07-26", "I cleaned the attic."),
    ("2025-07-28", "I now work at the bakery as a clerk."),
]


@pytest.fixture
def diary(tmp_path):
    with open_memory(tmp_path / "diary.memory") as memory:
        for day, said in DIARY:
            memory.add({"role": "user", "content": said, "timestamp": f"{day}T12:00:00"}, trajectory="diary")
        yield memory


@pytest.mark.parametrize(
    "question",
    ["What did I do on 22 July 2025?", "Was war am 22.07.2025?", "Qu'ai-je fait le 22 juillet ?", "2025年7月22日"],
)
def test_the_day_that_is_asked_for_stands_first_however_it_is_written(diary, question):
    assert diary.search(question, k=5).hits[0].snippet.text == "I called the landlord."


def test_what_holds_now_stands_above_what_held_before(diary):
    assert "bakery" in diary.search("Where do I work?").hits[0].snippet.text
    assert len(diary.search("Where do I work?", k=5).hits) > 1


@pytest.mark.parametrize(
    ("question", "before", "now"),
    [
        ("What is the code of the garage?", "The code of the garage is 4411.", "The code of the garage is 9027."),
        ("Who is my dentist?", "My dentist is Doctor Amsel.", "My dentist is no longer Amsel, it is Kruse."),
        ("How many students do I have now?", "I have 12 students.", "I teach 15 students by now."),
        ("When is the meeting?", "The meeting is on Monday at 10.", "The meeting was moved to Wednesday."),
        ("Wie ist meine Nummer?", "Meine Nummer ist 0301234.", "Meine neue Nummer ist 0309876."),
    ],
)  # fmt: skip
def test_the_newest_of_two_statements_stands_first(tmp_path, question, before, now):
    said = (before, "The attic is full of boxes.", now, "I like long walks.")
    for talks in ("aaaa", "abcd", "dcba"):  # one talk, or as many as statements
        with open_memory(tmp_path / talks) as memory:
            for month, (text, talk) in enumerate(zip(said, talks, strict=True), start=1):
                memory.add({"role": "user", "content": text, "timestamp": f"2026-0{month}-05"}, trajectory=talk)
            assert [hit.text for hit in memory.search(question, k=2).hits] == [now, before]


def test_the_newest_of_other_talks_is_what_the_memory_took_last_where_no_time_is_told(tmp_path):
    with open_memory(tmp_path / "m") as memory:
        memory.add({"role": "user", "content": "My locker is number 12."}, trajectory="z")
        memory.add({"role": "user", "content": "My locker is number 40 since the move."}, trajectory="a")
        assert [hit.snippet.trajectory for hit in memory.search("Which is my locker?", k=2).hits] == ["a", "z"]


def test_one_word_in_other_signs_is_found(tmp_path):
    with open_memory(tmp_path / "signs.memory") as memory:
        for said in ("昼はカレーだった", "注文番号はＡＢＣ１２３です", "ﾊﾟｽﾜｰﾄﾞは冷蔵庫の裏", "رقم الطلب ١٢٣٤"):
            memory.add({"role": "user", "content": said}, trajectory="t")
        for asked, found in (("ABC123", "ＡＢＣ"), ("パスワード", "ﾊﾟ"), ("1234", "رقم")):
            assert found in memory.search(asked, k=1).hits[0].snippet.text


def test_a_date_alone_is_the_end_of_its_day(diary):
    recorded = date.today()
    assert diary.search("Where do I work?", as_of=recorded.isoformat()).hits
    assert not diary.search("Where do I work?", as_of=(recorded - timedelta(days=1)).isoformat()).hits


def test_what_is_added_late_happened_when_it_says(tmp_path):
    with open_memory(tmp_path / "m") as memory:
        said = (("2026-05-01", "The rent is 900 euros."), ("2026-01-01", "The rent is 800 euros."))
        memory.add_messages(
            [{"role": "user", "name": "Ann", "content": text, "timestamp": day} for day, text in said],
            trajectory="flat",
        )
        assert "900" in memory.search("What is the rent now?").hits[0].text
        assert "800" in memory.search("What was the rent at first?").hits[0].text
        assert "800" in memory.search("What did Ann say on 1 January 2026?").hits[0].text
        assert "<step 1 Ann" in memory.search("What did Ann say on 1 January 2026?").context()


def test_a_talk_as_a_whole_may_be_asked_for(tmp_path):
    with open_memory(tmp_path / "m") as memory:
        for n in range(12):
            memory.add(
                {"role": ("Ann", "Bo")[n % 2], "content": f"The {n}th oak stands near the river."}, trajectory="t"
            )
        assert memory.search("Summarize the whole conversation").hits
        assert not memory.search("Summarize the submarine engine").hits


def test_a_talk_is_found_beside_the_run_of_an_agent_however_many_are_asked_for(memory):
    call = {"name": "read_file", "arguments": {"path": "brakes.py"}}
    for n in range(20):
        memory.add({"role": "assistant", "content": f"Reading part {n}.", "tool_calls": [call]}, trajectory="run")
        memory.add({"role": "tool", "tool_name": "read_file", "content": f"{n}: def price_of()"}, trajectory="run")
    for n, said in enumerate(("Dinner at the harbor?", "Yes, the fish place with the blue door.", "I'll call them.")):
        memory.add({"role": ("Ann", "Bo")[n % 2], "content": said}, trajectory="talk")
    asked = "What did they want to eat, and where?"
    assert memory.search(asked, min_relevance=0).hits[0].snippet.trajectory != "run"
    for question in (asked, "What does the boat to Faro cost?", "Who repaired the brakes?"):
        assert len({bool(memory.search(question, k=k).hits) for k in (1, 3, 10, 40)}) == 1

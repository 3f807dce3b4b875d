"""What every `Memory` does, wherever it is: subclass `MemoryContract`, give it a `memory` fixture, run pytest."""

import asyncio
from pathlib import Path

import pytest

from stitch.core import IntentFilter, Ranking, Rejection, SourcedStep, Step, StepState, Trust
from stitch.core.retention import RetentionRule
from stitch.errors import InputError, SettingsError, StepRejectedError, StitchError
from stitch.lifecycle.selection import Selector
from stitch.memory import Memory

TRIP = (
    Step(role="user", content="Let us plan day 1: find a hotel in Kyoto.", timestamp="2026-03-01T09:00:00Z"),
    Step(role="assistant", content="The Maple Inn costs 120 dollars a night.", metadata={"tokens": 12}),
    Step(role="user", content="Now day 2: which train goes to Nara?", session="b"),
    Step(role="assistant", content="It leaves at 9:40 and costs 8 dollars."),
)
MESSAGES = (
    {"role": "user", "content": "What is the price of the onsen?"},
    {"role": "assistant", "content": [{"type": "text", "text": "It costs 30 dollars."}]},
)


class MemoryContract:
    """The tests every memory passes.

    A subclass gives a fixture `memory`: an empty memory of one tenant without a model, which is closed behind the test.
    """

    # Steps come in.

    def test_steps_that_are_added_are_stored_and_found(self, memory: Memory) -> None:
        receipts = memory.add_many(TRIP, trajectory="trip")
        assert [(each.step, each.position, each.state) for each in receipts] == [
            (str(number), number, StepState.STORED) for number in range(len(TRIP))
        ]
        assert {each.tenant for each in receipts} == {memory.tenant}
        found = memory.search("What does the hotel cost?", k=2)
        assert found[0].snippet.text in {step.content for step in TRIP[:2]}
        assert "Maple Inn" in found.context()

    def test_a_step_is_added_as_it_is_or_as_its_fields(self, memory: Memory) -> None:
        assert memory.add(TRIP[0], trajectory="trip").position == 0
        assert memory.add({"role": "user", "content": "hello", "id": 7}, trajectory="trip").step == "7"
        with pytest.raises(StepRejectedError):
            memory.add({"role": "user", "words": "hello"}, trajectory="trip")
        with pytest.raises(InputError):
            memory.add_many({"role": "user", "content": "hello"}, trajectory="trip")  # type: ignore[dict-item]

    def test_a_text_goes_to_notes_and_a_step_says_where(self, memory: Memory) -> None:
        receipt = memory.add("The gate code is kept in the blue book.")
        assert (receipt.trajectory, receipt.state) == ("notes", StepState.STORED)
        assert memory.add("The dentist moved.", trajectory="diary").trajectory == "diary"
        hit = memory.search("Where is the gate code?", trajectory="notes")[0]
        assert (hit.text, hit.score > 0) == ("The gate code is kept in the blue book.", True)
        with pytest.raises(InputError, match="goes to a trajectory"):
            memory.add(TRIP[0])
        with pytest.raises(InputError, match="no call takes user_id="):
            memory.add("hello", user_id="ann")  # type: ignore[call-arg]

    def test_all_that_a_step_says_of_itself_is_kept(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        kept = [entry.step for entry in memory.steps("trip")]
        assert [step.model_copy(update={"id": None}) for step in kept] == list(TRIP)

    def test_what_is_known_word_for_word_changes_nothing(self, memory: Memory) -> None:
        step = Step(id="a", role="user", content="Find a hotel.")
        first, second = memory.add(step, trajectory="trip"), memory.add(step, trajectory="trip")
        assert (first.repeated, second.repeated) == (False, True)
        assert len(list(memory.steps("trip"))) == 1

    def test_a_step_of_an_id_that_another_has_is_rejected_and_nothing_of_the_rest_is_stored(
        self, memory: Memory
    ) -> None:
        memory.add(Step(id="a", role="user", content="one"), trajectory="trip")
        steps = [Step(id="b", role="user", content="two"), Step(id="a", role="user", content="other")]
        with pytest.raises(StepRejectedError):
            memory.add_many(steps, trajectory="trip")
        assert [entry.id for entry in memory.steps("trip")] == ["a"]

    def test_a_rejected_step_is_handed_back_in_its_place_where_each_is_added(self, memory: Memory) -> None:
        steps = [Step(id="a", role="user", content="one"), Step(id="a", role="user", content="other"), TRIP[0]]
        first, second, third = memory.add_each(steps, trajectory="trip")
        assert isinstance(second, StepRejectedError)
        assert not isinstance(first, StepRejectedError)
        assert not isinstance(third, StepRejectedError)
        assert (first.step, third.position) == ("a", 1)

    def test_mappings_are_steps_wherever_steps_are_taken(self, memory: Memory) -> None:
        good, wrong = {"role": "user", "content": "hello"}, {"role": "user", "colour": "red"}
        first, second, third = memory.add_each([good, wrong, TRIP[0]], trajectory="trip")
        assert (getattr(first, "step", ""), getattr(third, "step", "")) == ("0", "1")
        assert isinstance(second, StepRejectedError)
        assert "colour" in second.message
        stored, refused = memory.stream([good, wrong], trajectory="trip")
        assert (getattr(stored, "step", ""), isinstance(refused, Rejection)) == ("2", True)
        for wrong_kind in (good, "hello", 5):
            with pytest.raises(InputError):
                memory.add_each(wrong_kind, trajectory="trip")  # type: ignore[arg-type]

    @pytest.mark.parametrize("name", ["", " \t", "x" * 600, "\ud800"])
    def test_a_name_that_can_be_none_is_refused(self, memory: Memory, name: str) -> None:
        with pytest.raises(InputError):
            memory.add(TRIP[0], trajectory=name)
        with pytest.raises(InputError):
            memory.search("hotel", trajectory=name)
        with pytest.raises(InputError):
            memory.finish(name)

    def test_names_of_all_kinds_come_back_as_they_are(self, memory: Memory) -> None:
        names = ["a/b?c=d&e", "ü 漢字", "..", "%41", "x" * 512]
        for name in names:
            memory.add(Step(id=name, role="user", content="hello"), trajectory=name)
        assert memory.trajectories() == names
        assert [entry.id for name in names for entry in memory.steps(name)] == names
        assert [memory.get(name, name) is not None for name in names] == [True] * len(names)

    def test_messages_are_stored_once_however_often_the_conversation_comes(self, memory: Memory) -> None:
        first = memory.add_messages(MESSAGES[:1], trajectory="chat")
        both = memory.add_messages(MESSAGES, trajectory="chat")
        assert [each.repeated for each in both] == [True, False]
        assert both[0].step == first[0].step
        assert [entry.step.content for entry in memory.steps("chat")][1] == "It costs 30 dollars."

    def test_an_edited_message_is_refused_or_revised(self, memory: Memory) -> None:
        memory.add_messages(MESSAGES, trajectory="chat")
        edited = [{"role": "user", "content": "What is the price of the tea house?"}, MESSAGES[1]]
        with pytest.raises(StepRejectedError, match="says something else"):
            memory.add_messages(edited, trajectory="chat", start=0)
        [first, _] = memory.add_messages(edited, trajectory="chat", start=0, edited="revise")
        assert len(memory.lifecycle.history(first.step, trajectory="chat")) == 1
        with pytest.raises(InputError):
            memory.add_messages(MESSAGES[0], trajectory="chat")

    def test_a_stream_is_stored_as_it_comes(self, memory: Memory) -> None:
        rejection = Rejection(source="f", line=2, reason="no step")
        given: list[Step | SourcedStep | Rejection] = [
            SourcedStep(trajectory="other", step=TRIP[0], source="f", line=1),
            rejection,
            TRIP[1],
        ]
        first, second, third = memory.stream(given, trajectory="trip")
        assert (getattr(first, "trajectory", None), second, getattr(third, "trajectory", None)) == (
            "other", rejection, "trip",
        )  # fmt: skip
        with pytest.raises(InputError, match="no trajectory"):
            list(memory.stream([TRIP[0]]))

    def test_the_same_is_done_for_asyncio(self, memory: Memory) -> None:
        async def converse() -> tuple[str, list[str], int]:
            receipt = await memory.aadd(TRIP[0], trajectory="trip")
            streamed = [each async for each in memory.astream(TRIP[1:], trajectory="trip")]
            await memory.aflush()
            result = await memory.asearch("hotel", k=1)
            assert [entry.position async for entry in memory.asteps("trip", start=1)] == [1, 2, 3]
            assert [each.step async for each in memory.areceipts()] == ["0", "1", "2", "3"]
            assert await memory.atrajectories() == ["trip"]
            assert await memory.aget("0") == memory.get("0")
            return receipt.step, [getattr(each, "step", "") for each in streamed], len(result)

        assert asyncio.run(converse()) == ("0", ["1", "2", "3"], 1)

    # Questions.

    def test_a_result_says_all_that_the_memory_knows_of_its_hits(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        result = memory.search("What does the train to Nara cost?", trajectory="trip", k=3, budget_tokens=500)
        assert len(result.hits) == 3
        assert (result.request.k, result.request.budget_tokens, result.request.tenant) == (3, 500, memory.tenant)
        entries = {entry.id: entry for entry in memory.steps("trip")}
        named = memory.inventory("trip").vocabulary().canonical_intent  # scopes get better names as they grow
        for hit in result.hits:
            kept = entries[hit.snippet.step].snippet()
            assert hit.snippet == kept.model_copy(update={"intent": named(kept.intent)})
            assert hit.parts
            assert all(label in result.intent_filter.labels() for label in hit.matched)
        assert result.context_tokens <= 500
        assert set(result.context_hits) <= {hit.snippet.id for hit in result.hits}
        assert (result.mode, result.ranking in Ranking) == ("intent", True)

    def test_a_search_is_told_what_it_is_to_do(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        assert memory.search("hotel", retriever="lexical").mode == "lexical"
        assert memory.search("hotel", ranking="strict").ranking is Ranking.STRICT
        assert all(hit.snippet.role == "user" for hit in memory.search("hotel", min_trust=Trust.HIGH))
        scope = next(scope.name for scope in memory.inventory().scopes)
        chosen = memory.search("anything", intent_filter=IntentFilter(scopes=(scope,)))
        assert chosen.intent_filter.scopes == (scope,)
        assert {hit.snippet.step for hit in memory.search("hotel", trajectory="trip", as_of="1")} <= {"0", "1"}

    def test_what_is_too_unlikely_is_left_out_where_that_is_asked_for(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        every = memory.search("hotel")
        chances = [hit.relevance for hit in every]
        assert all(chance is not None and 0 <= chance <= (every.relevance or 0) <= 1 for chance in chances)
        least = max(chance for chance in chances if chance is not None)
        assert [hit.relevance for hit in memory.search("hotel", min_relevance=least)] == [least]
        nothing = memory.search("hotel", min_relevance=1.0)
        assert (nothing.nothing_relevant, len(nothing), nothing.context()) == (True, 0, "")
        assert nothing.relevance == every.relevance
        with pytest.raises(InputError, match="min_relevance"):
            memory.search("hotel", min_relevance=2.0)
        with pytest.raises(SettingsError, match="cannot tell how likely"):
            memory.search("hotel", retriever="lexical", min_relevance=0.5)

    def test_only_what_is_near_the_best_hit_comes_back_where_that_is_asked_for(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        scores = [hit.score for hit in memory.search("hotel", min_share=0.0)]
        for share in (0.0, 0.5, 1.0):
            near = [score for score in scores if score >= share * max(scores)]
            assert [hit.score for hit in memory.search("hotel", min_share=share)] == near
        with pytest.raises(InputError, match="min_share"):
            memory.search("hotel", min_share=2.0)

    def test_a_question_that_cannot_be_asked_is_refused(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        with pytest.raises(InputError, match="no trajectory 'none'"):
            memory.search("hotel", trajectory="none")
        no_sense = {"k": 0, "budget_tokens": -1, "min_relevance": 2, "min_trust": "blind", "ranking": "taste"}
        for wrong in ({name: value} for name, value in no_sense.items()):
            with pytest.raises(StitchError):
                memory.search("hotel", **wrong)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="is no time"):
            memory.search("hotel", asked_at="soon")
        with pytest.raises(SettingsError, match="no retriever 'best'"):
            memory.search("hotel", retriever="best")

    def test_what_says_nothing_is_no_step(self, memory: Memory) -> None:
        for nothing in ("", "  ", {"role": "user", "content": ""}, {"role": "user"}):
            with pytest.raises(StepRejectedError):
                memory.add(nothing, trajectory="chat")
        given = [MESSAGES[0], {"role": "user"}, {"role": "assistant", "content": None}, MESSAGES[1]]
        for _ in range(2):
            assert [each.position for each in memory.add_messages(given, trajectory="chat")] == [0, 1]

    def test_a_question_may_be_any_text(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        for query in ("\ud800 hotel", "漢字", "?" * 20_000 + " hotel"):
            assert memory.search(query, k=1).hits

    def test_an_empty_question_is_refused_and_one_without_a_word_finds_nothing_unless_labels_ask(
        self, memory: Memory
    ) -> None:
        memory.add_many(TRIP, trajectory="trip")
        for query in ("", " \n"):
            with pytest.raises(InputError, match="the question is empty"):
                memory.search(query)
        for query in ("  ?", "...", "!!", "🦷", "👍"):
            found = memory.search(query)
            assert (found.hits, found.context(), found.nothing_relevant) == ((), "", True)
            assert [each.reason for each in found.trace] == ["the question has no word"]
        for query in ("Hi!", "Thanks, that is all."):
            found = memory.search(query)
            assert (found.hits, found.trace[-1].reason) == ((), "it greets, thanks or agrees, and asks nothing")
            assert memory.search(query, min_relevance=0, k=1).hits
        memory.add("hi")
        assert [hit.text for hit in memory.search("Hi!").hits] == ["hi"]
        assert memory.search("Hi!", trajectory="notes").trace == ()
        assert memory.search("", intent_filter=IntentFilter(event_types=["inform"]), k=1).hits

    def test_why_says_why_a_step_comes_back(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        why = memory.why("What does the hotel cost?", step="1", trajectory="trip")
        assert (why.found, why.state, str(why) != "") == (True, StepState.STORED, True)
        assert why.place is not None
        place = memory.why_not("3", query="What does the hotel cost?", trajectory="trip", k=1)
        assert (place.hit.snippet.step, place.k, place.ranked) == ("3", 1, len(TRIP))
        assert str(place).startswith("Step 3 ")
        with pytest.raises(InputError):
            memory.why("hotel", step="none", trajectory="trip")

    # What is there.

    def test_trajectories_say_how_long_they_are(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        memory.add(TRIP[0], trajectory="home")
        assert [(name, name.steps) for name in memory.trajectories()] == [("trip", 4), ("home", 1)]
        assert all(0 < name.began <= name.ended for name in memory.trajectories())

    def test_steps_are_read_from_a_position_to_another(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        for start, stop in ((0, None), (1, 3), (2, None), (0, 1), (3, 3), (9, None)):
            positions = [entry.position for entry in memory.steps("trip", start=start, stop=stop)]
            assert positions == list(range(len(TRIP)))[start:stop]
        assert list(memory.steps("none")) == []

    def test_one_step_is_got_by_its_id(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        entry = memory.get("trip", "1")
        assert entry is not None
        assert (entry.position, entry.state, entry.tenant) == (1, StepState.STORED, memory.tenant)
        assert entry.labels is not None
        assert memory.get("trip", "none") is None
        assert (memory.get("1"), memory.get("none")) == (entry, None)
        memory.add(TRIP[0], trajectory="home")
        with pytest.raises(InputError, match="2 trajectories have a step '0'"):
            memory.get("0")

    def test_a_step_is_deleted_with_proof(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        memory.add(TRIP[0], trajectory="home")
        proof = memory.delete("1")
        assert (proof.found, memory.get("1")) == ((), None)
        with pytest.raises(InputError, match="no step 'none'"):
            memory.delete("none", trajectory="trip")
        with pytest.raises(InputError, match="2 trajectories"):
            memory.delete("0")
        memory.delete("0", trajectory="home")
        assert memory.trajectories() == ["trip"]

    def test_without_a_model_no_answer_in_words_is_made(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        with pytest.raises(SettingsError, match="no model is named"):
            memory.ask("What does the hotel cost?")

    def test_the_label_space_is_that_of_one_trajectory_or_of_all(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        memory.add(Step(role="user", content="Water the plants in the garden."), trajectory="home")
        whole, own = memory.inventory(), memory.inventory("trip")
        assert (whole.steps, own.steps) == (5, 4)
        assert {scope.trajectory for scope in own.scopes} == {"trip"}
        assert own.scopes[0].terms
        assert memory.inventory("none").steps == 0

    def test_receipts_and_the_status_tell_how_far_steps_have_come(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        assert [each.step for each in memory.receipts()] == ["0", "1", "2", "3"]
        assert list(memory.receipts(state=StepState.FAILED)) == []
        status = memory.status()
        assert (status.accepted, status.stored, status.failed, status.snippets, status.trajectories) == (4, 4, 0, 4, 1)
        assert (memory.retry(), memory.finish("trip"), memory.recalls()) == (0, 0, [])
        memory.flush()

    def test_nothing_is_spent_without_a_model(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        assert (memory.ledger.total().calls, memory.ledger.stages(), memory.uses_model) == (0, {}, False)
        assert memory.labeler.startswith("local")

    # Steps are put right, and go.

    def test_a_step_is_corrected_and_found_so(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        lifecycle = memory.lifecycle
        lifecycle.correct(
            "1", trajectory="trip", text="The Maple Inn costs 95 dollars.", labels={"event_types": ["ask price"]}
        )
        assert "95 dollars" in memory.search("What does the Maple Inn cost?", k=4).context()
        [revision] = lifecycle.history("1", trajectory="trip")
        assert (revision.step.content, revision.by) == (TRIP[1].content, "person")
        [correction] = lifecycle.corrections()
        assert (correction.position, correction.labels.intent.event_types) == (1, ("ask price",))
        lifecycle.correct("1", trajectory="trip", asks=["What does lodging come to?", " "], by="ann")
        assert memory.search("lodging", trajectory="trip", k=4).hits[0].snippet.asks == ("What does lodging come to?",)
        assert (labels := list(memory.steps("trip"))[1].labels) is not None
        assert labels.made_by == "ann"
        lifecycle.correct("1", trajectory="trip", asks=())
        assert list(memory.steps("trip"))[1].snippet().asks == ()
        with pytest.raises(InputError):
            lifecycle.correct("none", trajectory="trip", text="x")

    def test_steps_are_counted_retired_and_erased_with_proof(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        lifecycle = memory.lifecycle
        assert lifecycle.count(Selector(trajectory="trip")) == 4
        assert lifecycle.count(Selector(trajectory="none")) == 0
        assert lifecycle.retire(Selector(trajectory="trip", step="0"), reason="old") == 1
        [retired] = memory.receipts(state=StepState.RETIRED)
        assert "old" in retired.reason
        erased = lifecycle.erase(Selector(trajectory="trip"))
        assert (erased.steps, erased.trajectories, erased.proof.found) == (4, 1, ())
        assert erased.proof.traces > 0
        assert memory.add(Step(id="0", role="user", content="again"), trajectory="trip").state is StepState.ERASED
        assert memory.add(Step(id="0", role="user", content="again"), trajectory="trip", again=True).position == 0
        with pytest.raises(InputError, match="no steps are selected"):
            lifecycle.erase(Selector())

    def test_rules_expire_steps(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        now = max(entry.recorded for entry in memory.steps("trip")) + 3 * 86_400
        rules = [RetentionRule(older_than_days=1, action="erase"), RetentionRule(older_than_days=1, action="retire")]
        counted = memory.lifecycle.expire(rules, now=now, dry_run=True)
        assert [(each.rule.action, each.steps) for each in counted.rules] == [("erase", 4), ("retire", 0)]
        expired = memory.lifecycle.expire(rules, now=now)
        assert expired.proof is not None
        assert expired.proof.found == ()
        assert memory.status().accepted == 0
        assert memory.lifecycle.expire().rules == ()

    def test_what_is_exported_is_taken_in(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        lines = list(memory.lifecycle.export())
        assert list(memory.lifecycle.export(trajectory="trip")) == lines
        assert memory.lifecycle.import_lines(lines).known == 4
        memory.lifecycle.erase(Selector(everything=True))
        taken = memory.lifecycle.import_lines(line.encode() + b"\n" for line in [*lines, "nonsense"])
        assert (taken.steps, taken.failed, len(taken.rejections)) == (4, 0, 1)
        assert [entry.step.content for entry in memory.steps("trip")] == [step.content for step in TRIP]
        with pytest.raises(InputError, match="no trajectory 'none'"):
            list(memory.lifecycle.export(trajectory="none"))

    def test_the_memory_is_copied_compared_and_labeled_anew(self, memory: Memory, tmp_path: Path) -> None:
        memory.add_many(TRIP, trajectory="trip")
        copied = memory.lifecycle.backup(tmp_path / "copy")
        assert (copied.folder, copied.steps, copied.tenants) == (tmp_path / "copy", 4, 1)
        assert memory.lifecycle.verify() == (4, 4, ())
        assert memory.lifecycle.verify(repair=True).disagreements == ()
        assert memory.lifecycle.relabel().relabeled == 0
        with pytest.raises(InputError):
            memory.lifecycle.backup(tmp_path / "copy")

    # How it is held.

    def test_episodes_statements_and_themes_are_read_by_name(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        memory.add_many(TRIP[:2], trajectory="home")
        hierarchy = memory.hierarchy
        themes = hierarchy.themes()
        assert [hierarchy.theme(each.id) for each in themes] == list(themes)
        assert hierarchy.count() == len(hierarchy.statements()) > 0
        for said in hierarchy.statements():
            assert hierarchy.statement(said.id) == said
            assert said in hierarchy.statements_of_step(said.trajectory, said.steps[-1])
            theme, episode = hierarchy.theme_of(said.id), hierarchy.episode(said.episode)
            assert said.id in (theme.statements if theme else ())
            assert said.steps[-1] in (episode.steps if episode else ())
        [near, *_] = hierarchy.neighbors(themes[0].medoid)
        assert themes[0].medoid in {each.id for each in hierarchy.neighbors(near.id)}
        assert [hierarchy.theme("t999"), hierarchy.statement("x"), hierarchy.episode("x")] == [None, None, None]

    def test_there_were_no_themes_at_a_moment_before_all_and_what_is_no_moment_is_refused(self, memory: Memory) -> None:
        memory.add_many(TRIP, trajectory="trip")
        assert memory.themes()
        assert memory.themes(as_of=5) == memory.themes(as_of=5.5) == []
        with pytest.raises(InputError, match="'5' is no time"):
            memory.themes(as_of="5")

    def test_it_is_a_context_and_closing_twice_is_harmless(self, memory: Memory) -> None:
        with memory as same:
            assert same is memory
            same.add(TRIP[0], trajectory="trip")
        memory.close()
        with pytest.raises(StitchError):
            memory.search("hotel")

    def test_it_says_what_it_is(self, memory: Memory) -> None:
        assert isinstance(memory, Memory)
        assert repr(memory.tenant) in repr(memory)

"""Both model labelers: the contract, what a prompt shows, and what a model's words become.

More than 400 lines because both labelers keep the same promises, and are held to them side by side.
"""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.labeler import LabelerContract
from stitch.core import ContextualIntent, LabelKind, Step, StepLabels, apply_rewrites
from stitch.embed import HashingEmbedder
from stitch.label.local import LocalLabeler
from stitch.label.model.matching import locate_references
from stitch.label.model.stepwise import StepwiseLabeler
from stitch.label.model.windowed import WINDOW_STEPS, WindowedLabeler
from stitch.lm import LanguageModel, Limits
from stitch.testing.model import ScriptedCompletion, fields_of, label_by_rules

LOCAL = LocalLabeler().name


def model_of(
    script: Callable[[str, str], Any] = label_by_rules, **limits: Any
) -> tuple[LanguageModel, ScriptedCompletion]:
    completion = ScriptedCompletion(script)
    return LanguageModel("scripted", completion=completion, limits=Limits(**limits)), completion


def stepwise(model: LanguageModel) -> StepwiseLabeler:
    return StepwiseLabeler(model, embedder=HashingEmbedder(), fallback=LocalLabeler())


def talk(number: int) -> list[Step]:
    said = [
        "Let us plan day {day}. What does the Zephyr Mill cost?",
        "It is priced at $41.80 for the evening of day {day}.",
        "Then take it, please, and tell me about parking.",
        "Parking costs $12 and is right behind the house.",
    ]
    return [
        Step(id=str(n), role="user" if n % 2 == 0 else "assistant", content=said[n % 4].format(day=1 + n // 20))
        for n in range(number)
    ]


class TestWindowedContract(LabelerContract):
    @pytest.fixture
    def labeler(self) -> WindowedLabeler:
        return WindowedLabeler(model_of()[0], fallback=LocalLabeler(), window_steps=8)


class TestStepwiseContract(LabelerContract):
    @pytest.fixture
    def labeler(self) -> StepwiseLabeler:
        return stepwise(model_of()[0])


class TestContractOfALabelerWhoseModelIsDown(LabelerContract):
    @pytest.fixture
    def labeler(self) -> WindowedLabeler:
        return WindowedLabeler(model_of(lambda system, user: "nothing")[0], fallback=LocalLabeler())


def test_stepwise_labels_take_at_most_four_calls_a_step() -> None:
    model, _ = model_of()
    labels = stepwise(model).begin("t").label(talk(101))
    assert {made.made_by for made in labels} == {"scripted stepwise-3"}
    assert labels[99].intent.scope == "plan of day 5"
    assert model.ledger.total().calls / 101 <= 4
    assert set(model.ledger.stages()) == {"scope", "event types", "references", "summary", "scope summary",
                                          "event vocabulary", "entity vocabulary", "consolidation"}  # fmt: skip


@settings(max_examples=settings().max_examples // 2)
@given(st.integers(1, 40), st.integers(1, 9))
def test_no_prompt_shows_a_step_from_behind_its_window(number: int, window_steps: int) -> None:
    model, completion = model_of()
    steps = [Step(id=str(n), role="user", content=f"secret-{n}-end of day {n // 7}") for n in range(number)]
    WindowedLabeler(model, fallback=LocalLabeler(), window_steps=window_steps).begin("t").label(steps)
    behind = 0
    for system, user in completion.prompts:
        behind += len(fields_of(user)["steps"].splitlines())
        assert not any(f"secret-{n}-" in system + user for n in range(behind, number))
    assert behind == number


def test_stepwise_prompts_show_no_later_step() -> None:
    model, completion = model_of()
    session = stepwise(model).begin("t")
    steps = [Step(id=str(n), role="user", content=f"secret-{n}-end, so what is it?") for n in range(52)]
    for n in range(52):
        start = len(completion.prompts)
        session.label(steps[n : n + 1])
        shown = "".join(system + user for system, user in completion.prompts[start:])
        assert not any(f"secret-{later}-" in shown for later in range(n + 1, 52))


def readings(*given: dict[str, Any]) -> Callable[[str, str], Any]:
    """A script that gives these readings, one a step, whatever it is asked."""

    def script(system: str, user: str) -> Any:
        steps = [json.loads(line) for line in fields_of(user)["steps"].splitlines()]
        return {"readings": [{"n": step["n"], "scope": "trip", "events": ["ask"], "entities": [], "references": [],
                              "summary": "s", **given[(step["n"] - 1) % len(given)]} for step in steps]}  # fmt: skip

    return script


def label(script: Callable[[str, str], Any], *contents: str) -> Sequence[Any]:
    model, _ = model_of(script)
    return WindowedLabeler(model, fallback=LocalLabeler()).begin("t").label([
        Step(id=str(n), role="user" if n % 2 == 0 else "ann", content=text) for n, text in enumerate(contents)
    ])  # fmt: skip


def test_free_text_is_matched_to_the_names_in_use() -> None:
    labels = label(
        readings(
            {"scope": "Day 1 Itinerary", "events": ["Ask_Price"], "entities": ["Hotel Price"]},
            {"scope": " day 1 itinerary. ", "events": ["asks price"], "entities": ["hotel prices", "`hotel price`"]},
            {"scope": "Day 1 Itinirary", "events": ["price ask"], "entities": []},
            {"scope": "Day 2 Itinerary", "events": [], "entities": []},
            {"scope": "", "events": ["a whole sentence that explains what is being done here"], "entities": [""]},
        ),
        *["a step"] * 5,
    )
    assert [made.intent.scope for made in labels] == ["Day 1 Itinerary"] * 3 + ["Day 2 Itinerary"] * 2
    assert [made.intent.event_types for made in labels] == [("ask price",)] * 3 + [()] * 2
    assert [made.intent.entity_types for made in labels] == [("hotel price",)] * 2 + [()] * 3


def test_the_vocabulary_of_a_trajectory_is_bounded() -> None:
    def script(system: str, user: str) -> Any:
        if "steps" not in fields_of(user):
            return {"synonyms": []}
        steps = [json.loads(line) for line in fields_of(user)["steps"].splitlines()]
        return {"readings": [{"n": step["n"], "scope": "s", "events": [f"act {step['text']}"], "entities": []}
                             for step in steps]}  # fmt: skip

    model, _ = model_of(script)
    session = WindowedLabeler(model, fallback=LocalLabeler()).begin("t")
    session.label([Step(role="user", content=f"word{n}") for n in range(150)])
    assert len(session.inventory().event_types) == 64


def test_an_answer_carries_the_question_before_it() -> None:
    labels = label(readings({}), "What is your favorite dish?", "Lasagna.", "Fine.")
    assert [made.context for made in labels] == ["", "What is your favorite dish?", ""]


def test_a_long_step_is_shown_by_its_beginning_and_its_end() -> None:
    model, completion = model_of()
    WindowedLabeler(model, fallback=LocalLabeler()).begin("t").label(
        [Step(role="user", content="begin " + "x" * 9_000 + " finish")]
    )
    text = json.loads(fields_of(completion.prompts[0][1])["steps"])["text"]
    assert text.startswith("begin")
    assert text.endswith("finish")
    assert len(text) <= 2_000


def test_steps_wait_for_their_window_but_not_for_ever() -> None:
    labeler = WindowedLabeler(model_of()[0], fallback=LocalLabeler(), window_steps=4, patience_s=60)
    steps = talk(11)
    assert [labeler.ready(steps[:n], waited_s=1) for n in (0, 3, 4, 5, 8, 9, 11)] == [0, 0, 0, 4, 4, 8, 8]
    assert labeler.ready(steps[:3], waited_s=60) == 3
    long = [Step(role="user", content="word " * 400) for _ in range(24)]
    assert 0 < WindowedLabeler(model_of()[0], fallback=LocalLabeler()).ready(long, waited_s=0) < 24


@pytest.mark.parametrize(
    ("number", "words", "sizes"),
    [(0, 5, []), (1, 5, [1]), (80, 5, [80]), (82, 5, [41, 41]), (200, 5, [66, 67, 67]), (53, 290, [17, 18, 18])],
)
def test_windows_are_as_few_as_can_be_and_none_is_left_with_two_steps(
    number: int, words: int, sizes: list[int]
) -> None:
    labeler = WindowedLabeler(model_of()[0], fallback=LocalLabeler())
    steps = [Step(role="user", content="word " * words) for _ in range(number)]
    assert [len(window) for window in labeler.windows(steps)] == sizes


def test_a_model_that_never_makes_sense_is_not_asked_for_every_step() -> None:
    model, completion = model_of(lambda system, user: "sorry")
    labels = WindowedLabeler(model, fallback=LocalLabeler(), window_steps=16).begin("t").label(talk(160))
    assert {made.made_by for made in labels} == {LOCAL}
    assert len(completion.prompts) < 16


def test_a_first_step_without_a_scope_is_labeled_locally() -> None:
    labels = label(readings({"scope": " <> "}), "Let us plan day 1.")
    assert labels[0].made_by == LOCAL
    model, _ = model_of(lambda system, user: {"scope": "", "summary": "s"})
    assert stepwise(model).begin("t").label(talk(1))[0].made_by == LOCAL


def test_stepwise_falls_back_step_by_step() -> None:
    def script(system: str, user: str) -> Any:
        return "sorry" if "poison" in fields_of(user).get("step", "") else label_by_rules(system, user)

    model, _ = model_of(script)
    steps = talk(8)
    steps[3] = Step(id="3", role="user", content="poison")
    labels = stepwise(model).begin("t").label(steps)
    assert [n for n, made in enumerate(labels) if made.made_by == LOCAL] == [3]


def test_upkeep_that_fails_does_not_cost_the_step_its_labels() -> None:
    def script(system: str, user: str) -> Any:
        wanted = user.rpartition("Respond with")[2]
        upkeep = "`synonyms`" in wanted or "new_steps" in fields_of(user)
        return "sorry" if upkeep else label_by_rules(system, user)

    model, _ = model_of(script)
    labels = stepwise(model).begin("t").label(talk(52))
    assert {made.made_by for made in labels} == {"scripted stepwise-3"}


@pytest.mark.parametrize("spoiled", ["`scope`", "`event_types`", "`references`", "`summary`"])
def test_one_bad_reply_of_four_loses_its_part_and_not_the_step(spoiled: str) -> None:
    def script(system: str, user: str) -> Any:
        if f"order of fields: {spoiled}" in user or (spoiled == "`summary`" and "then `summary`" in user):
            return "sorry"
        if "`references`" in user:
            return {"references": [{"phrase": "it", "means": "Zephyr Mill"}]}
        return label_by_rules(system, user)

    session = stepwise(model_of(script)[0]).begin("t")
    session.replay([talk(1)[0]], [StepLabels(intent=ContextualIntent(scope="plan of day 1"), made_by="ann")])
    (made,) = session.label([Step(id="x", role="assistant", content="Is it $40, as it was? About day 1.")])
    assert made.made_by == "scripted stepwise-3"
    assert made.intent.scope == "plan of day 1"
    lost = {"`event_types`": not made.intent.event_types, "`references`": not made.references,
            "`summary`": not made.summary}  # fmt: skip
    assert [part for part, is_lost in lost.items() if is_lost] == ([] if spoiled == "`scope`" else [spoiled])


def test_a_scope_that_is_interrupted_again_and_again_is_summed_up_after_twenty_steps_of_its_own() -> None:
    model, completion = model_of()
    steps = [Step(id=str(n), role="user", content=f"Something about day {1 + n % 2}, part {n}") for n in range(42)]
    stepwise(model).begin("t").label(steps)
    told = [fields_of(user) for _, user in completion.prompts if "`summary_so_far`" in user or "summary_so_far" in user]
    assert [(each["scope"], len(each["new_steps"].splitlines())) for each in told] == [
        ("plan of day 1", 20), ("plan of day 2", 20)
    ]  # fmt: skip


def stepwise_script(events: Callable[[str], list[str]], **fixed: Any) -> Callable[[str, str], Any]:
    def script(system: str, user: str) -> Any:
        replies = label_by_rules(system, user)
        if "candidates" in fields_of(user):
            replies["event_types"] = events(json.loads(fields_of(user)["step"])["text"])
        return {**replies, **{name: value for name, value in fixed.items() if name in replies}}

    return script


def test_near_synonyms_are_merged_every_fifty_steps_and_can_be_undone() -> None:
    synonyms = [
        {"name": "quote price", "read_as": "state price"}, {"name": "quote price", "read_as": "state price"},
        {"name": "state price", "read_as": "quote price"}, {"name": "unknown", "read_as": "state price"},
    ]  # fmt: skip
    model, _ = model_of(stepwise_script(
        lambda text: ["quote price" if "12" in text else "state price"], synonyms=synonyms,
    ))  # fmt: skip
    session = stepwise(model).begin("t")
    session.label(talk(50))
    assert set(session.inventory().event_types) == {"quote price", "state price"}
    labels = session.label(talk(52)[50:])
    inventory = session.inventory()
    merge = next(merge for merge in inventory.merges if merge.kind is LabelKind.EVENT_TYPE)
    assert (merge.alias, merge.into, merge.position, merge.made_by) == (
        "quote price", "state price", 50, "scripted stepwise-3",
    )  # fmt: skip
    assert inventory.event_types == {"state price": 52}
    assert {made.intent.event_types for made in labels} == {("state price",)}
    assert inventory.vocabulary().undo(LabelKind.EVENT_TYPE, "quote price")
    resumed = stepwise(model).begin("t", session.save())
    assert resumed.inventory() == inventory


def test_the_vocabulary_is_seeded_after_fifty_steps_and_five_closest_are_offered() -> None:
    seeds = ["ask question", "give answer", "book table", "cancel booking", "greet", "rebut claim", "run tests"]
    model, completion = model_of(stepwise_script(lambda text: ["ask question"], event_types=seeds[:1]))

    def script(system: str, user: str) -> Any:
        if "`event_types`" in user.rpartition("Respond with")[2] and "steps" in fields_of(user):
            return {"event_types": seeds}
        return label_by_rules(system, user)

    completion.script = script
    stepwise(model).begin("t").label(talk(102))
    offered = [
        json.loads(fields_of(user)["candidates"]) for _, user in completion.prompts if "candidates" in fields_of(user)
    ]
    assert max(map(len, offered)) == 5
    assert len(offered[49]) == 2
    assert len(offered[50]) == 5
    extended = [user for _, user in completion.prompts if "`new_event_types`" in user]
    assert len(extended) == 1


def test_what_was_said_before_is_shown_by_its_summary_or_with_the_readings_of_its_references() -> None:
    def script(system: str, user: str) -> Any:
        reply = label_by_rules(system, user)
        for reading, line in zip(reply["readings"], fields_of(user)["steps"].splitlines(), strict=True):
            if "the first one" in line:
                reading |= {"references": ["the first one = Zephyr Mill"], "summary": ""}
        return reply

    model, completion = model_of(script)
    said = ("Zephyr Mill, or Porto Gardens?", "Take the first one.", "And for dinner?")
    steps = [Step(id=str(n), role="user", content=text) for n, text in enumerate(said)]
    WindowedLabeler(model, fallback=LocalLabeler(), window_steps=1).begin("t").label(steps)
    shown = [json.loads(line)["text"] for line in fields_of(completion.prompts[-1][1])["earlier_steps"].splitlines()]
    assert shown == ["Zephyr Mill, or Porto Gardens?", "Take the first one [Zephyr Mill]."]


def test_references_are_resolved_by_steps_of_the_same_scope_or_act() -> None:
    def script(system: str, user: str) -> Any:
        fields = fields_of(user)
        if "earlier_steps" in fields:
            return {"references": [{"phrase": "it", "means": "Zephyr Mill"}]}
        return label_by_rules(system, user)

    model, completion = model_of(script)
    steps = [
        Step(id="a", role="user", content="For day 1: is Zephyr Mill open?"),
        Step(id="b", role="user", content="Hello again, day 2."),
        *(Step(id=f"b{n}", role="user", content=f"Well, day 2, part {n}.") for n in range(2)),
        Step(id="c", role="user", content="Take it for day 1?"),
    ]
    labels = stepwise(model).begin("t").label(steps)
    assert apply_rewrites(steps[-1].content, labels[-1].references) == "Take Zephyr Mill for day 1?"
    assert labels[-1].references[0].antecedent == "a"
    aligned = [fields_of(user)["earlier_steps"] for _, user in completion.prompts if "earlier_steps" in fields_of(user)]
    assert len(aligned) == 1
    assert "Hello again" not in aligned[0]
    assert [json.loads(line)["text"] for line in aligned[0].splitlines()] == [
        "For day 1: is Zephyr Mill open?", "Well, day 2, part 0.", "Well, day 2, part 1.",
    ]  # fmt: skip
    summarized = [fields_of(user)["step"] for _, user in completion.prompts if "known_entity_types" in fields_of(user)]
    assert "Take it [Zephyr Mill] for day 1?" in summarized[-1]


def test_a_bug_is_not_hidden_behind_local_labels() -> None:
    model, _ = model_of()
    labeler = WindowedLabeler(model, fallback=LocalLabeler())
    labeler.prompt = None
    with pytest.raises(TypeError):
        labeler.begin("t").label(talk(1))


_NAMES = ["Muhhamed's cooking", "fortnite lego update", "the second hotel", "hotels", "hotel", "Day 1", "day 1 plan"]
_ACTS = ["ask price", "asking prices", "price asks", "propose", "proposing"]
_SAID = ["Back to the hotels, please.", "Let us plan day 1 now.", "What does it cost?", "It is $40 at the Zephyr Mill.",
         "By the way, did you see the fortnite lego update?", "As for the second hotel: is breakfast in?"]  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_rules_merge_rename_and_reconsider_nothing_that_a_model_or_a_person_named(seed: int) -> None:
    rng = random.Random(seed)
    said = [(rng.choice(_SAID), rng.choice(_NAMES), rng.choice(_ACTS), rng.random() < 0.3) for _ in range(120)]
    session = LocalLabeler().begin("t")
    given_scopes, given_acts = set(), set()
    for n, (text, scope, act, by_rules) in enumerate(said):
        step = Step(id=str(n), role=("user", "assistant")[n % 2], content=text)
        if by_rules:
            session.label([step])
            continue
        intent = ContextualIntent(scope=scope, event_types=(act,), entity_types=(act,))
        session.replay([step], [StepLabels(intent=intent, made_by=("a model", "ann")[n % 2])])
        given_scopes.add(scope.lower())
        given_acts.add(act)
    merges = session.inventory().merges
    assert not [merge for merge in merges if merge.kind is LabelKind.SCOPE and merge.alias.lower() in given_scopes]
    assert not [merge for merge in merges if merge.kind is not LabelKind.SCOPE and merge.alias in given_acts]
    assert given_scopes <= {scope.name.lower() for scope in session.inventory().scopes}
    again = LocalLabeler().begin("t", session.save())
    assert again.save() == session.save()


def test_a_phrase_stands_for_what_a_model_says_where_it_says_it() -> None:
    earlier = [("a", "The Ribeira House and the Zephyr Mill are open.")]
    text = "The first one is full; take the first one. It is close, is it?"
    pairs = [("the first one", "Zephyr Mill"), ("the first one", "Ribeira House"), ("it", "Zephyr Mill")]
    found = [(text[each.start : each.end], each.start, each.replacement)
             for each in locate_references(text, pairs, earlier=earlier)]  # fmt: skip
    assert found == [
        ("The first one", 0, "Ribeira House"),
        ("the first one", 28, "Zephyr Mill"),
        ("It", 43, "Zephyr Mill"),
        ("it", 59, "Zephyr Mill"),
    ]


def test_a_name_from_the_beginning_of_the_longest_window_may_be_put_in_at_its_end() -> None:
    said = ["The Halcyon Loft is free.", *["Something else."] * (WINDOW_STEPS - 2), "Book it."]
    *_, made = label(readings(*[{}] * (WINDOW_STEPS - 1), {"references": ["it = Halcyon Loft"]}), *said)
    assert [(each.replacement, each.antecedent) for each in made.references] == [("Halcyon Loft", "0")]


def test_a_name_that_a_gist_alone_remembers_may_be_put_in() -> None:
    def script(system: str, user: str) -> Any:
        steps = [json.loads(line) for line in fields_of(user)["steps"].split("\n")]
        return {"readings": [{"n": step["n"], "scope": f"day {step['text'].split()[-1]}", "events": ["propose option"],
                              "entities": [], "references": [{"phrase": "it", "means": "Zephyr Mill"}],
                              "summary": step["text"]} for step in steps]}  # fmt: skip

    session = WindowedLabeler(model_of(script)[0], fallback=LocalLabeler()).begin("t")
    session.label([Step(id="a", role="user", content="The Zephyr Mill would do for 1")])
    session.label([Step(id=f"b{n}", role="user", content="Something else about 2") for n in range(100)])
    (made,) = session.label([Step(id="c", role="user", content="Is it still free for 1")])
    assert [(each.replacement, each.antecedent) for each in made.references] == [("Zephyr Mill", None)]


@pytest.mark.parametrize("way", [WindowedLabeler, stepwise])
@pytest.mark.parametrize("wanted", [True, False])
def test_a_step_has_what_it_is_found_by_in_other_words_where_that_is_wanted(way: Any, wanted: bool) -> None:
    told = {"asks": ["How much is a night?", "How much is a night?", "a third"], "words": ["<b>tariff</b>", "fee"] * 5}

    def script(system: str, user: str) -> Any:
        reply = label_by_rules(system, user)
        for reading in reply.get("readings", [reply] if "summary" in reply else []):
            reading |= told
        return reply

    model, completion = model_of(script)
    more: dict[str, Any] = {"embedder": HashingEmbedder()} if way is stepwise else {}
    kind = StepwiseLabeler if way is stepwise else WindowedLabeler
    labeler = kind(model, fallback=LocalLabeler(), asks=wanted, **more)
    (made,) = labeler.begin("t").label(talk(1))
    assert made.asks == (("How much is a night?", "b tariff /b", "fee") if wanted else ())
    asked = "".join(system + user for system, user in completion.prompts)
    assert ("words: up to six" in asked, "`asks`" in asked or "asks" in asked) == (wanted, wanted)
    assert labeler.name.endswith("-plain") is not wanted

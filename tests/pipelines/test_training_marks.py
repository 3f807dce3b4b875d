"""How replies to lessons are marked, how lessons are dealt out, and when examples tell two programs apart."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch import ContextualIntent, IntentFilter, Step, Trajectory
from stitch.bench.data.types import DataSet, GoldLabels, Question
from stitch.bench.metrics.clusters import bcubed
from stitch.bench.metrics.scores import Unscored
from stitch.bench.training.labels import LabelTask, Made, Right, lessons_of
from stitch.bench.training.questions import AnswerTask, FilterTask, Posed, asked_memory, filter_lessons, question_keys
from stitch.core import Selection
from stitch.core.results import WITHOUT_MODEL
from stitch.errors import InputError
from stitch.pipelines.optimize.splitting import hold_back, take
from stitch.pipelines.optimize.students import decide
from stitch.pipelines.optimize.tasks import Lesson

NO_MEMORY: Any = None


def lesson(key, group="g", *, gold=None, given=None):
    return Lesson(key=key, group=group, given=given, gold=gold, shown="s", wanted="w")


def made(scope, *events, entities=(), by_model=True):
    return Made(ContextualIntent(scope=scope, event_types=events, entity_types=entities), by_model)


def marks(outcome, gold, *, scopes=(), events=()):
    right = Right(tuple(gold), tuple(scopes), tuple(events))
    return LabelTask([]).mark(lesson("k", gold=right), outcome)


def scope(*names):
    return [GoldLabels(scope=(name,)) for name in names]


def test_right_labels_by_other_names_are_right():
    gold = [
        GoldLabels(("day 1",), ("ask",), ("price",)),
        GoldLabels(("day 1",), ("tell",), ("price",)),
        GoldLabels(("day 2",), ("ask",), ("price",)),
        GoldLabels(("day 2",), ("tell",), ("price",)),
    ]
    outcome = [made("a", "q", entities=("cost",)), made("a", "r", entities=("cost",)),
               made("b", "q", entities=("cost",)), made("b", "r", entities=("cost",))]  # fmt: skip
    found = marks(outcome, gold)
    assert found.score == 1.0
    assert found.parts == dict.fromkeys(("scope_bcubed", "scope_switch", "event_bcubed", "entity_f1", "usable"), 1.0)
    assert found.feedback == ""


def test_a_scope_that_is_split_off_or_mixed_up_costs_and_is_told():
    split = marks([made("a"), made("b")], scope("x", "x"))
    assert split.parts == {"scope_bcubed": pytest.approx(2 / 3), "scope_switch": 0.0, "usable": 1.0}
    assert split.feedback == "Step 2 belongs to 'x' again; it was split off as 'b'. Step 2 stays with 'x'."
    mixed = marks([made("a"), made("a")], scope("x", "y"))
    assert mixed.feedback == "Step 2 belongs to 'y'; it was put with 'a', which is another. Step 2 turns to 'y'."


def test_a_return_to_a_known_scope_must_use_its_name():
    right = marks([made("day 1")], scope("day 1"), scopes=["day 1", "day 2"])
    renamed = marks([made("first day")], scope("day 1"), scopes=["day 1", "day 2"])
    wrong = marks([made("day 2")], scope("day 1"), scopes=["day 1", "day 2"])
    assert right.score == 1.0
    assert renamed.parts["scope_bcubed"] == pytest.approx(2 / 3)
    assert wrong.parts["scope_bcubed"] == pytest.approx(0.5)


def test_entity_types_are_read_by_the_other_half_of_the_stretch():
    gold = [GoldLabels(entity_types=("price",))] * 2
    assert marks([made("s", entities=("cost",)), made("s", entities=("cost",))], gold).parts["entity_f1"] == 1.0
    odd = marks([made("s", entities=("prices",)), made("s", entities=("mood",))], gold)
    assert odd.parts["entity_f1"] == 0.5
    assert odd.feedback == "Classes of details that were missed: price. Classes that do not matter there: mood."
    assert marks([made("s"), made("s")], gold).parts["entity_f1"] == 0.0


def test_steps_whose_replies_could_not_be_used_count_for_nothing():
    found = marks([made("a"), made("a", by_model=False)], scope("x", "x"))
    assert found.score == 0.5
    assert found.feedback.startswith("The replies for 1 of 2 steps could not be used")


def test_a_stretch_without_gold_is_no_lesson():
    steps = tuple(Step(id=str(n), role="user", content=f"step {n}") for n in range(30))
    gold = {"13": GoldLabels(scope=("a", "b"))}
    [only] = lessons_of(Trajectory(id="t", steps=steps), gold)
    assert [step.id for step in only.given.steps] == [str(n) for n in range(12, 24)]
    assert only.gold.scopes == ("a, b",)
    assert only.wanted == "2: scope a + b"
    assert repr(only).startswith("Lesson(given='user: step 12\\n")


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy")), min_size=1, max_size=8), st.integers(0, 8))
def test_context_is_joined_but_not_counted(pairs, context):
    clusters, gold = zip(*pairs, strict=True)
    score = bcubed(clusters, gold, context=context)
    if context >= len(pairs):
        assert isinstance(score, Unscored)
        return
    counted = range(context, len(pairs))
    precision = [sum(pairs[j] == pairs[i] for j in range(len(pairs))) / clusters.count(clusters[i]) for i in counted]
    assert not isinstance(score, Unscored)
    assert score.precision == pytest.approx(sum(precision) / len(precision))


def answered(text, gold, domain=""):
    task = AnswerTask([lesson("k", given=Posed("q", "t", None, domain))], memory=NO_MEMORY)
    return task.mark(lesson("k", gold=gold, given=Posed("q", "t", None, domain)), text)


def test_an_answer_counts_if_it_is_short_and_holds_the_gold_one():
    assert answered("It is $76.22.", "$76.22").score == 1.0
    long = answered("It may be $76.22 or perhaps something else, who knows.", "$76.22")
    assert 0 < long.score < 0.5
    assert long.feedback.startswith("Right would have been '$76.22'; the answer was 'It may be")
    assert answered(Unscored("cut"), "$76.22").score == 0.0


def test_an_answer_set_is_marked_by_its_items():
    found = answered("Olympus Hall, the Styx", "Olympus Hall; Elysium Inn", "travel")
    assert found.score == 0.5
    assert found.feedback == "Missing: Elysium Inn. Not asked for, or wrong: the Styx."


def test_only_the_prompts_that_the_questions_use_are_trained():
    domains = {"": ("answer_question",), "debate": ("answer_debate",)}
    for domain, trained in domains.items():
        assert AnswerTask([lesson("k", given=Posed("q", "t", None, domain))], memory=NO_MEMORY).trained == trained
    both = [lesson("k", given=Posed("q", "t", None, domain)) for domain in ("debate", "travel")]
    assert AnswerTask(both, memory=NO_MEMORY).trained == ("answer_question", "answer_debate")


def test_a_filter_is_marked_by_the_evidence_it_brings_up():
    steps = tuple(Step(id=str(n), role="user", content=f"Lunch on day {n % 3} is ${n}.") for n in range(60))
    question = Question("q", "t", "", "What did we hear on day 2?", None, ("2", "31", "58"))
    silent = Question("r", "t", "", "What else?", None, ())
    data = DataSet("d", (Trajectory(id="t", steps=steps),), (question, silent), "0")
    with asked_memory(data) as memory:
        [only] = filter_lessons(data, memory)
        task = FilterTask(memory)
        scope = only.gold.intents[0].scope
        assert scope is not None
        good = task.mark(only, Selection(IntentFilter(scopes=(scope,))))
        bad = task.mark(only, Selection(IntentFilter(event_types=("never",))))
        unusable = task.mark(only, Selection(IntentFilter(), (f"{WITHOUT_MODEL}no usable reply",)))
        assert task.cost(only).calls == 1
    assert good.score >= bad.score
    assert "No evidence carries what was chosen: never." in bad.feedback
    assert "Evidence carries, and was not chosen: " in bad.feedback
    assert unusable.score == 0.0
    assert question_keys(data)["q"] != question_keys(data)["r"]


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 5)), min_size=4, max_size=40, unique=True), st.integers())
def test_whole_groups_are_held_back_and_nothing_is_lost(drawn, seed):
    lessons = [lesson(f"{key}/{group}", f"g{group}") for key, group in drawn]
    parts = hold_back(lessons, seed=seed)
    assert sorted(each.key for each in [*parts.train, *parts.held_back]) == sorted(each.key for each in lessons)
    assert parts.train
    assert parts.held_back
    if len({each.group for each in lessons}) >= 3:
        assert {each.group for each in parts.train}.isdisjoint(each.group for each in parts.held_back)
    assert hold_back(lessons, seed=seed) == parts


def test_taking_draws_by_seed_and_keeps_the_order():
    lessons = [lesson(f"{n:02}") for n in range(30)]
    taken = take([*lessons, lessons[0]], 5, seed=1)
    assert len(taken) == 5
    assert [each.key for each in taken] == sorted(each.key for each in taken)
    assert take(lessons, 5, seed=2) != taken
    with pytest.raises(InputError, match="2 examples are too few"):
        hold_back(lessons[:2], seed=0)


def test_few_examples_cannot_tell_whatever_they_say() -> None:
    decision = decide([0.0] * 4, [1.0] * 4)
    assert (decision.p, decision.too_few, decision.told) == (2 / 16, True, False)


def test_examples_that_all_agree_tell() -> None:
    decision = decide([0.0] * 8, [0.5] * 8)
    assert (decision.p, decision.too_few, decision.told) == (2 / 256, False, True)


def test_examples_that_disagree_do_not_tell() -> None:
    decision = decide([0.0] * 10, [0.5, -0.5] * 5)
    assert decision.p == 1.0
    assert not decision.too_few


def test_of_many_examples_a_sample_of_the_ways_is_drawn_the_same_each_time() -> None:
    before, after = [0.0] * 30, [0.4] * 24 + [-0.4] * 6
    assert decide(before, after) == decide(before, after)
    assert decide(before, after).told
    assert decide(before, [0.4] * 16 + [-0.4] * 14).p > 0.5

"""The suite of labels, and the group that holds the commands."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doubles.labeling import ScriptedLabeler
from stitch.bench.commands import COMMANDS, group
from stitch.bench.data.sets import load_labels
from stitch.bench.data.types import DataSet, GoldLabels
from stitch.bench.figures import Figures, shown
from stitch.bench.metrics.scores import Unscored, mean
from stitch.bench.suites.labels import measure_labels, score_intents
from stitch.core import ContextualIntent, LabelKind, LabelMerge, Step, StepLabels, Trajectory
from stitch.label.local import LocalLabeler
from stitch.label.model.windowed import WindowedLabeler
from stitch.lm import LanguageModel
from stitch.testing.model import ScriptedCompletion, label_by_rules


def trajectory(name: str, *steps: tuple[str, dict[str, list[str]]]) -> dict[str, Any]:
    return {
        "id": name,
        "steps": [
            {"id": str(i), "role": ("user", "assistant")[i % 2], "content": content, "gold": gold}
            for i, (content, gold) in enumerate(steps)
        ],
    }


def write(path: Path, *records: Any) -> Path:
    path.write_text("\n".join(map(json.dumps, records)))
    return path


FULL = trajectory(
    "t",
    ("hotel price", {"scope": ["A"], "event_types": ["ask"], "entity_types": ["cost"]}),
    ("hotel rating", {"scope": ["A"], "event_types": ["ask"], "entity_types": ["stars"]}),
    ("flight price", {"scope": ["B"], "event_types": ["tell"], "entity_types": ["cost"]}),
    ("small talk", {}),
)


def first_word(step: Step, past: Sequence[Step]) -> StepLabels:
    del past
    scope, entity = step.content.split()
    intent = ContextualIntent(scope=scope, event_types=(f"about {scope}",), entity_types=(entity,))
    return StepLabels(intent=intent, made_by="scripted")


def test_perfect_labels_score_perfectly_whatever_their_names(tmp_path: Path) -> None:
    labeled = load_labels(write(tmp_path / "toy.jsonl", FULL, {**FULL, "id": "u"}))
    figures = measure_labels(labeled, ScriptedLabeler(first_word))
    assert figures["set"] == "toy"
    assert figures["steps"] == 8
    assert figures["scope"] == {
        "bcubed_f1": 1.0, "bcubed_precision": 1.0, "bcubed_recall": 1.0, "switch_f1": 1.0, "switch_rate": 0.5,
        "gold_switch_rate": 0.5,
    }  # fmt: skip
    assert figures["event_type"] == {"v_measure": 1.0}
    assert figures["entity_type"] == {"f1": 1.0}
    assert figures["steps_per_s"] > 0
    merge = LabelMerge(kind=LabelKind.SCOPE, alias="flight", into="hotel")
    merged = measure_labels(labeled, ScriptedLabeler(first_word, merges=[merge]))["scope"]
    assert merged["bcubed_recall"] == 1.0 > merged["bcubed_precision"]
    bare = trajectory("t", ("a b", {"scope": ["A"]}), ("c d", {"scope": ["B"]}))
    none = measure_labels(load_labels(write(tmp_path / "x.jsonl", bare)), ScriptedLabeler(first_word))
    assert none["event_type"] is none["entity_type"] is None, "a kind without gold is null"


@pytest.mark.parametrize(
    ("name", "one_scope", "speaker"),
    [
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (("star", 0.683, 0.387), ("sgd", 0.742, 0.550))),
        ("tiage", 0.516, 0.419),
        pytest.param("irc", 0.148, 0.524, marks=pytest.mark.slow),
    ],
)
def test_published_baselines_of_scopes_are_met(
    shared_data: Callable[[str], Path], name: str, one_scope: float, speaker: float
) -> None:
    baselines = measure_labels(load_labels(shared_data(f"labels/{name}.jsonl.gz")), ScriptedLabeler(_same))["baselines"]
    assert baselines["one-scope"]["scope"]["bcubed_f1"] == pytest.approx(one_scope, abs=6e-4)
    assert baselines["speaker"]["scope"]["bcubed_f1"] == pytest.approx(speaker, abs=6e-4)


def _same(step: Step, past: Sequence[Step]) -> StepLabels:
    del step, past
    return StepLabels(intent=ContextualIntent(scope="all"), made_by="scripted")


def test_figures_keep_reasons_beside_nulls() -> None:
    row = Figures(a=1 / 3, b=Unscored("no judge"), c=mean([]), d=mean([Unscored("x")]), e=3, f=None, g=mean([1.0]))
    assert row == {"a": 0.333333, "b": None, "c": None, "d": None, "e": 3, "f": None, "g": 1.0}
    assert row.reasons == {"b": "no judge", "c": "nothing was scored", "d": "x"}
    assert [shown(value) for value in (0.5, 1234.5, None, 3, "x")] == ["0.500", "1,234", "-", "3", "x"]


@pytest.mark.parametrize("as_json", [True, False])
def test_the_command_prints_figures_and_nothing_else(tmp_path: Path, as_json: bool) -> None:
    labels = write(tmp_path / "toy.jsonl", FULL, {**FULL, "id": "u"})
    arguments = ["labels", "--data", str(labels), "--limit", "1"]
    result = CliRunner().invoke(group, [*arguments, "--json"] if as_json else arguments)
    assert result.exit_code == 0, result.output
    shown = result.output if as_json else result.output.replace(" ", "_")  # a table has words for names
    assert all(word in shown for word in ("bcubed_f1", "one-scope"))
    if as_json:
        assert isinstance(json.loads(result.output), dict)


def test_the_group_lists_its_commands_without_loading_them() -> None:
    result = CliRunner().invoke(group, ["--help"])
    assert result.exit_code == 0
    assert all(name in result.output for name in COMMANDS)
    assert CliRunner().invoke(group, ["nonsense"]).exit_code == 2


def test_goals_and_phases_are_measured_apart_and_outcomes_against_results_and_errors() -> None:
    steps = tuple(Step(id=str(n), role="tool", content="x") for n in range(4))
    gold = {
        "0": GoldLabels(scope=("fix / locate",), event_types=("report result",)),
        "1": GoldLabels(scope=("fix / change",), event_types=("report error",)),
        "2": GoldLabels(scope=("sell",), event_types=("report error",)),
        "3": GoldLabels(scope=("sell",), event_types=("report result",)),
    }
    labeled = DataSet("s", (Trajectory(id="t", steps=steps),), (), "", gold={"t": gold})
    own = [
        ContextualIntent(scope="a / one", event_types=("empty",)),
        ContextualIntent(scope="a / one", event_types=("refusal", "report error")),
        ContextualIntent(scope="b", event_types=("success",)),
        ContextualIntent(scope="b", event_types=("look",)),
    ]
    figures = score_intents(labeled, [own])
    assert figures["goal"]["bcubed_f1"] == 1.0 > figures["scope"]["bcubed_f1"]
    assert figures["outcome"] == {"told": 0.75, "accuracy": 0.5, "error_f1": pytest.approx(2 / 3)}
    plain = DataSet("s", labeled.trajectories, (), "", gold={"t": {"0": GoldLabels(scope=("fix",))}})
    assert score_intents(plain, [own])["goal"] is None
    assert score_intents(plain, [own])["outcome"] is None


def test_labels_that_stand_in_for_a_models_are_told_apart_and_so_are_replies_of_no_use():
    steps = tuple(Step(id=str(n), role="user", content=f"What about day {n}?") for n in range(4))
    labeled = DataSet(
        "talk", (Trajectory(id="t", steps=steps),), (), "0", gold={"t": {"0": GoldLabels(scope=("day 0",))}}
    )
    replies = iter(["I cannot."] * 3)  # for the window, its first half, and the first step of that
    model = LanguageModel("m", completion=ScriptedCompletion(lambda s, u: next(replies, None) or label_by_rules(s, u)))
    figures = measure_labels(labeled, WindowedLabeler(model, fallback=LocalLabeler()))
    assert figures["labeled_by"] == {"m windowed-3": 3, LocalLabeler().name: 1}
    assert figures["unusable_replies"] == 3
    local = measure_labels(labeled, LocalLabeler())
    assert (local["labeled_by"], local["unusable_replies"]) == ({LocalLabeler().name: 4}, 0)


def test_a_name_counts_where_it_shares_a_word_with_that_of_a_goal_of_three_steps(tmp_path: Path) -> None:
    names = ["plane_search", "PlaneTickets / pay", "hotel_book", "hotel_book"]
    steps = [("text", {"scope": [name]}) for name in names for _ in range(3 if name != "hotel_book" else 1)]
    labeled = load_labels(write(tmp_path / "toy.jsonl", trajectory("t", *steps)))
    own = [ContextualIntent(scope=name) for name in ["searches · flight"] * 3 + ["cost of a ride"] * 3 + ["hotel"] * 2]
    assert score_intents(labeled, [own])["name"] == Figures(share_a_word=0.5, goals=2)
    assert score_intents(labeled, [[ContextualIntent()] * 8])["name"] == Figures(share_a_word=0.0, goals=2)
    few = load_labels(write(tmp_path / "few.jsonl", FULL))
    assert score_intents(few, [own[:4]])["name"] is None

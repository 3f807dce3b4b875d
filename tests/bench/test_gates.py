"""The gates: figures beside floors, what is absent, how they end; and no loader lets gold into a memory."""

import ast
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stitch.bench import gates
from stitch.bench.data.official import load_locomo, load_longmemeval
from stitch.bench.data.types import Inquiry
from stitch.core import Trajectory


@pytest.fixture
def run(monkeypatch):
    """Runs the gates over sources that tell these figures; None for one that is absent."""

    def call(*arguments, **figures):
        def source(name):
            def measure(data):
                if figures[name] is None:
                    raise gates.AbsentError(name)
                return {"figure": figures[name]}

            return measure

        monkeypatch.setattr(gates, "SOURCES", {name: source(name) for name in figures})
        monkeypatch.setattr(
            gates, "FLOORS", tuple(gates.Floor(name, "figure", 0.5, most=name == "costs") for name in figures)
        )
        done = CliRunner().invoke(gates.command, list(arguments))
        return done.exit_code, done.output

    return call


@pytest.mark.parametrize(
    ("figures", "status", "said"),
    [
        ({"set": 0.5}, 0, "1 figures, 0 fell"),
        ({"set": 0.4999}, 1, "FELL"),
        ({"costs": 0.5}, 0, "at most"),
        ({"costs": 0.6}, 1, "FELL"),
        ({"set": None}, 2, "set                  skipped: set is not there"),
        ({"set": 0.9, "other": None}, 0, "other                skipped"),
    ],
)
def test_figures_stand_beside_their_floors_and_the_status_says_whether_all_hold(run, figures, status, said):
    ended, out = run(**figures)
    assert (ended, said in out) == (status, True)


def test_only_what_is_named_is_measured(run):
    assert "other" not in run("--only", "set", set=0.9, other=0.1)[1]
    assert run("--only", "nothing", set=0.9)[0] == 2


def test_every_floor_has_its_source_and_every_source_a_floor():
    assert {floor.source for floor in gates.FLOORS} == set(gates.SOURCES)
    assert set(gates.QUICK) <= set(gates.SOURCES)


def test_without_data_all_sets_are_skipped(tmp_path):
    done = CliRunner().invoke(gates.command, ["--quick", "--data", str(tmp_path)])
    assert (done.exit_code, done.output.count("skipped")) == (2, len(gates.QUICK))


ROOT = Path(__file__).resolve().parents[2]
GOLD = "CANARY"
KNOWN: dict[str, Any] = {
    **{name: f"{GOLD} {name}" for name in ("answer", "evidence", "rewrite", "ground_truth", "is_correct", "action",
                                           "action_object", "mistake_step", "metadata", "event_summary")},
    "gold": {"scope": [f"{GOLD} scope"], "event_types": [f"{GOLD} event"], "entity_types": [f"{GOLD} entity"]},
    "has_answer": True,
}  # fmt: skip


def seen(trajectories: Iterable[Trajectory], inquiries: Iterable[Inquiry] = ()) -> str:
    """All that a memory is given."""
    steps = [trajectory.model_dump_json() for trajectory in trajectories]
    assert any("Where to?" in step for step in steps)
    return "\n".join([*steps, *map(str, inquiries)])


def write(path: Path, *records: Any) -> Path:
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def test_official_files_keep_their_gold_apart(tmp_path: Path) -> None:
    turn = {"speaker": "Ann", "dia_id": "D1:1", "text": "Where to?", **KNOWN}
    locomo = {"sample_id": "s", "conversation": {"session_1": [turn]}, "qa": [{"question": "Where?", **KNOWN}], **KNOWN}
    loaded = load_locomo(write(tmp_path / "locomo.json", [locomo]))
    assert GOLD not in seen(loaded.trajectories, (question.inquiry for question in loaded.questions))
    said = {"role": "user", "content": "Where to?", **KNOWN}
    instance = {"question_id": "q", "question_type": "t", "question": "Where?", "haystack_sessions": [[said]], **KNOWN}
    loaded = load_longmemeval(write(tmp_path / "longmemeval.json", [instance]))
    assert GOLD not in seen(loaded.trajectories, (question.inquiry for question in loaded.questions))
    assert loaded.questions[0].evidence == ("s0:0",)


def test_no_loader_reads_a_benchmark_by_the_sources_of_users() -> None:
    """These keep every field of a step, those that are gold included."""
    for file in (ROOT / "bench" / "data").glob("*.py"):
        imported = {
            node.module or "" for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)
        }
        of_calls = {"stitch.sources.tool_calls"}  # what a call of a tool is, whatever its record
        forbidden = [name for name in imported - of_calls if name.startswith(("stitch.sources", "stitch.pipelines"))]
        assert not forbidden, file.name

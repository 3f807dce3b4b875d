"""The published files of other benchmarks, in fixtures of their form, with their slips repaired."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doubles.golden import compare
from stitch.bench.commands import group
from stitch.bench.data.official import load_locomo, load_longmemeval
from stitch.bench.data.types import DataSet
from stitch.errors import InputError

FILES = Path(__file__).parent / "official"
SETS: dict[str, tuple[Callable[[Path], DataSet], Path]] = {
    "locomo": (load_locomo, FILES / "locomo10.json"),
    "longmemeval": (load_longmemeval, FILES / "longmemeval_s.json"),
}


def told(data: DataSet) -> Iterator[str]:
    """All that is read of a set: steps with their calls, questions with their gold, and what was repaired."""
    for trajectory in data.trajectories:
        yield f"  {trajectory.id}"
        yield from (f"    {step.model_dump_json(exclude_defaults=True)}" for step in trajectory.steps)
    yield from (f"  {question}" for question in data.questions)
    yield from (f"  note: {note}" for note in data.notes)


def test_steps_questions_evidence_and_notes_of_each_set_are_those_of_its_files() -> None:
    lines = [line for name, (load, path) in SETS.items() for line in (name, *told(load(path)))]
    compare(FILES / "loaded.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("name", "file", "content", "message"),
    [
        *(("locomo", "x.json", content, "is no LoCoMo file") for content in ({"a": 1}, [{"a": 1}], ["x"])),
        ("longmemeval", "x.json", [{"a": 1}], "is no LongMemEval file"),
    ],
)
def test_what_is_not_of_a_release_is_refused(tmp_path: Path, name: str, file: str, content: Any, message: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=message):
        SETS[name][0](path.parent if "/" in file else path)


def test_a_file_without_a_question_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text("[]")
    with pytest.raises(InputError, match="holds no question"):
        load_locomo(tmp_path / "none.json")


@pytest.mark.parametrize("name", SETS)
def test_each_has_a_command_and_is_measured_as_other_sets(name: str) -> None:
    done = CliRunner().invoke(group, [name, "--data", str(SETS[name][1]), "--methods", "bm25", "--json"])
    assert done.exit_code == 0, done.output
    row = json.loads(done.stdout)["methods"]["bm25"]
    assert row["recall@10"] is not None

"""`stitch bench retrieval --labels FILE --filters FILE`: labels and filters of files in the place of a model's."""

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stitch.bench.suites.retrieval import command

SAID = ("Could we have it by then?", "Yes, that works.", "It rained all day.", "The soup was cold.")
LABELS: list[dict[str, Any]] = [
    {"id": "0", "scope": "car repair", "event_types": ["ask"], "entity_types": ["deadline"],
     "references": [{"phrase": "it", "means": "the green Octavia"}], "summary": "Ida asks for the Octavia by Friday."},
    {"id": "1", "scope": "car repair", "event_types": ["promise"], "summary": "The garage promises the car by Friday."},
    {"id": "2", "scope": "holiday", "event_types": ["tell"], "summary": "The weather was bad."},
]  # fmt: skip
ASKS: list[dict[str, Any]] = [
    {"id": "1", "asks": ["when will the mechanic hand the vehicle back?"], "words": ["pick-up"]}
]
QUESTIONS = {"q1": ("What did the garage promise?", "1"), "q1p": ("When does the mechanic hand over the vehicle?", "1")}


def write(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    text = "\n".join(json.dumps(line) for line in lines)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.fixture
def files(tmp_path: Path) -> Path:
    steps = [{"id": str(n), "role": "user", "content": said, "timestamp": None} for n, said in enumerate(SAID)]
    write(tmp_path / "trajectories.jsonl.gz", [{"id": "t", "steps": steps}])
    asked = [
        {"id": name, "trajectory": "t", "type": "fact", "question": text, "answer": "x", "evidence": [step]}
        for name, (text, step) in QUESTIONS.items()
    ]
    write(tmp_path / "questions.jsonl.gz", asked)
    write(tmp_path / "labels.jsonl", [{"trajectory": "t", **line} for line in LABELS])
    write(tmp_path / "asks.jsonl", [{"trajectory": "t", **line} for line in ASKS])
    promised = {"trajectory": "t", "scopes": ["car repair"], "event_types": ["promise"], "entity_types": []}
    write(tmp_path / "filters.jsonl", [{"question": name, **promised} for name in QUESTIONS])
    return tmp_path


def measured(files: Path, *options: str, methods: str = "stitch,stitch-unlabeled") -> dict[str, Any]:
    run = CliRunner().invoke(
        command, ["--data", str(files), "--methods", methods, "--json", "--workers", "1", *options]
    )
    assert run.exit_code == 0, run.output
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def test_labels_asks_and_filters_of_files_are_what_is_measured(files: Path) -> None:
    labels = f"{files / 'labels.jsonl'},{files / 'asks.jsonl'}"
    given = measured(files, "--labels", labels, "--filters", str(files / "filters.jsonl"))["methods"]
    again = [each for name in labels.split(",") for each in ("--labels", name)]
    assert measured(files, *again)["methods"]["stitch-unlabeled"]["mrr"] == 1.0
    assert given["stitch"]["mrr"] == 1.0
    assert given["stitch"]["decided_by"]["label density"] == 1.0
    assert given["stitch-unlabeled"]["mrr"] == 1.0  # by summary and asks
    assert measured(files, "--labels", "local")["methods"]["stitch-unlabeled"]["mrr"] < 1.0


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("labels.jsonl", "{}", "line 1"),
        ("labels.jsonl", "no json", "line 1"),
        ("filters.jsonl", '{"question": "q1", "trajectory": "t"}', "no filter for question 'q1p'"),
        ("filters.jsonl", '{"scopes": []}', "field required"),
    ],
)
def test_a_file_that_says_too_little_is_refused(files: Path, name: str, line: str, said: str) -> None:
    (files / name).write_text(line)
    asked = ["--data", str(files), "--methods", "stitch", "--labels", str(files / "labels.jsonl")]
    run = CliRunner().invoke(command, [*asked, "--filters", str(files / "filters.jsonl")])
    assert run.exit_code != 0
    assert said in str(run.exception)


@pytest.mark.slow  # and one of the gates
def test_labels_of_a_strong_model_find_what_was_measured(shared_data: Callable[[str], Path]) -> None:
    labels = shared_data("model_labels")
    files = shared_data("memory_qa/strangers_reworded")
    given = [
        "--labels",
        f"{labels / 'model_labels.jsonl'},{labels / 'asks.jsonl'}",
        "--filters",
        str(labels / "filters.jsonl"),
    ]
    found = measured(files, *given, methods="stitch")["methods"]["stitch"]
    assert found["recall@5"] >= 0.85
    assert found["recall@10"] >= 0.95

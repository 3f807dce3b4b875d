"""The demo, and its sample trajectories: what a newcomer sees first is right."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from stitch.bench.demo import command
from stitch.bench.model import provider_by_rules
from stitch.bench.samples import Sample
from stitch.bench.samples import sample as sample_named
from stitch.cli.examples import command as examples
from stitch.errors import InputError

SAMPLES = [sample_named("trip"), sample_named("bugs")]
each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)


@each_sample
def test_every_question_names_steps_of_its_own_trajectory_in_order(sample: Sample) -> None:
    places = {str(step.id): place for place, step in enumerate(sample.trajectory.steps)}
    assert len(places) == len(sample.trajectory.steps) >= 60
    for question in sample.questions:
        assert sorted(question.evidence, key=places.__getitem__) == list(question.evidence) != []


def test_examples_are_copied_twice_and_never_over_another_file(tmp_path: Path) -> None:
    for _ in range(2):
        done = CliRunner().invoke(examples, ["--to", str(tmp_path)], catch_exceptions=False)
        assert done.exit_code == 0
        assert "trip.jsonl" in done.output
    (tmp_path / "trip.jsonl").write_text("mine")
    (tmp_path / "porto.md").unlink()
    with pytest.raises(InputError, match=r"trip\.jsonl is there already"):
        CliRunner().invoke(examples, ["--to", str(tmp_path)], catch_exceptions=False, standalone_mode=False)
    assert not (tmp_path / "porto.md").exists()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the demo says without a model, and where it has kept what it made."""
    kept = tmp_path_factory.mktemp("demo") / "kept"
    done = CliRunner().invoke(command, ["--keep", str(kept)], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output, kept


def test_the_demo_streams_draws_asks_and_says_what_to_try(shown):
    output, kept = shown
    for said in ("trip: 60 steps", "bugs: 60 steps", "washing machine", "bank · importer.py", "━", "ingest FILE"):
        assert said in output
    told = re.search(r"Right step among the first 10, of 16: stitch (\d+), hybrid (\d+), BM25 (\d+)", output)
    assert told is not None
    assert int(told[1]) > max(int(told[2]), int(told[3]))
    for said in ("porto, 9 nodes", "O Gaveto (1.00)", "edited: a cheaper Sunday", "> Stop 'Crystal Palace Gardens'"):
        assert said in output
    assert (kept / "trip.jsonl").is_file()


def test_with_a_model_set_the_demo_shows_its_labels_too_and_the_first_part_asks_none(shown, monkeypatch):
    alone, _ = shown
    with provider_by_rules() as url:
        monkeypatch.setenv("STITCH_MODEL", "rules")
        monkeypatch.setenv("STITCH_BASE_URL", url)
        both = CliRunner().invoke(command, [], catch_exceptions=False).output
    counts = [line for line in both.splitlines() if line.startswith("Right step")]
    assert counts[:3] == [line for line in alone.splitlines() if line.startswith("Right step")]
    assert len(counts) == 6
    assert "The same with labels of rules" in both

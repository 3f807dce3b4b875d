"""The fit of what turns point at: what it learns from, what it tells, what it writes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stitch.bench import fit_pointing
from stitch.bench.fit_pointing import command, fit, pointed_in, right_share
from stitch.bench.generate.wordings import PLAIN, WORDINGS
from stitch.label.local.pointing import shipped_weights

EXAMPLES = list(pointed_in("plain", trips=1))


def test_what_is_meant_is_among_what_a_pointer_may_stand_for() -> None:
    assert sum(example.right is not None for example in EXAMPLES) >= 0.9 * len(EXAMPLES)


def test_the_fit_learns_to_count() -> None:
    right, count = map(int, right_share(EXAMPLES, fit(EXAMPLES)).split("/"))
    assert right >= 0.9 * count


def test_weights_that_ship_find_most_of_what_other_people_point_at() -> None:
    right, count = map(int, right_share(list(pointed_in("letter", trips=1)), shipped_weights()).split("/"))
    assert right >= 0.7 * count


def test_the_command_tells_the_shares_and_writes_the_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_pointing, "WORDINGS", {"plain": PLAIN, "chat": WORDINGS["chat"]})
    monkeypatch.setattr(fit_pointing, "SEEN", ("plain",))
    done = CliRunner().invoke(command, ["--trips", "1", "--out", str(tmp_path)], catch_exceptions=False)
    assert [json.loads(line)["set"] for line in done.output.splitlines()] == ["plain (seen)", "chat"]
    assert json.loads((tmp_path / "pointing_weights.json").read_text())["weights"].keys() == shipped_weights().keys()

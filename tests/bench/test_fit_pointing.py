"""The fit of what turns point at: what it learns from, what it tells, what it writes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stitch.bench import fit_pointing
from stitch.bench.fit_pointing import command, fit, pointed_in, right_share
from stitch.bench.generate import SIZES, generate
from stitch.bench.generate.pointers import families, said_again
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
    monkeypatch.setattr(fit_pointing, "families", lambda: ("clerk",))
    done = CliRunner().invoke(command, ["--trips", "1", "--out", str(tmp_path)], catch_exceptions=False)
    assert [json.loads(line)["set"] for line in done.output.splitlines()] == [
        "plain (seen)",
        "clerk (seen)",
        "chat",
    ]
    assert json.loads((tmp_path / "pointing_weights.json").read_text())["weights"].keys() == shipped_weights().keys()


@pytest.mark.parametrize("family", families())
def test_a_family_of_frames_names_what_the_trip_names_and_points_at_what_it_points_at(family: str) -> None:
    trip = generate("travel", SIZES["S"], seed="said again", wording=PLAIN)
    said = said_again(trip, family)
    assert said == said_again(trip, family)
    for turn in trip.turns:
        op = trip.storyboard.operations[turn.operation]
        if op.role != "user":
            assert said[turn.id] == turn.text
            continue
        assert said[turn.id] != turn.text
        assert [name in said[turn.id] for name in op.objects] == [name in turn.text for name in op.objects]


def test_only_trips_are_said_again() -> None:
    with pytest.raises(TypeError, match="only trips"):
        said_again(generate("debate", SIZES["S"], seed="said again", wording=PLAIN), "clerk")

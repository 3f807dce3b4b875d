"""The fit of the acts of arguing: what it learns from, what it tells, what it writes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stitch.bench import fit_arguing
from stitch.bench.fit_arguing import by_others, command, fit, generated, right_share, turns_of
from stitch.bench.generate import SIZES, generate
from stitch.bench.generate.trajectory import write_release
from stitch.bench.generate.wordings import PLAIN, WORDINGS
from stitch.label.local.arguing import shipped_weights

SAID = [
    ("pro-side-debater", "Deep wells make a village richer, and everybody can see it on the way to work.", "propose"),
    ("con-side-debater", "Your claim about rich villages ignores everybody who left in those years.", "attack"),
    ("pro-side-debater", "Our claim still stands, and nobody has touched it with a single number.", "defend"),
    ("con-side-debater", "Something that the data gives no action for, and nothing is learnt of it.", ""),
]


def test_turns_without_an_action_are_not_learnt_from() -> None:
    assert [turn.act for turn in turns_of(SAID)] == ["argue", "attack", "defend"]


def test_the_fit_gets_right_what_it_has_seen_enough_of() -> None:
    turns = list(turns_of(SAID[:3])) * 40
    assert right_share(turns, fit([(turns, 1.0)]))["all"] == "120/120"


def test_weights_that_ship_name_the_acts_of_debates_they_have_not_seen() -> None:
    for name in ("chat", "learner"):
        right, count = map(int, right_share(generated(name, debates=1), shipped_weights())["all"].split("/"))
        assert right >= 0.85 * count


def test_debates_of_a_release_are_read_and_trips_are_not(tmp_path: Path) -> None:
    trajectories = [generate(domain, SIZES["S"], seed="fit") for domain in ("debate", "travel")]
    write_release(trajectories, tmp_path, manifest={})
    assert len(by_others(tmp_path)) == len(trajectories[0].turns)


def test_the_command_tells_the_shares_and_writes_the_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_arguing, "WORDINGS", {"plain": PLAIN, "chat": WORDINGS["chat"]})
    monkeypatch.setattr(fit_arguing, "SEEN", ("plain",))
    write_release([generate("debate", SIZES["S"], seed="fit")], tmp_path / "others", manifest={})
    asked = ["--debates", "1", "--data", str(tmp_path / "others"), "--test", str(tmp_path / "others")]
    for left_out in ([], ["--leave-out"]):
        done = CliRunner().invoke(command, [*asked, *left_out, "--out", str(tmp_path)], catch_exceptions=False)
        assert [json.loads(line)["set"] for line in done.output.splitlines()] == ["plain (seen)", "chat", "others"]
    written = json.loads((tmp_path / "arguing_weights.json").read_text())
    assert set(written["weights"]) == set(shipped_weights())

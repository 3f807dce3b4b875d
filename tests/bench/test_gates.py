"""The gates: figures beside floors, what is absent, and how they end."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from stitch.bench import gates


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

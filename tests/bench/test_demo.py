"""The demo: what a newcomer sees first is right."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from stitch.bench.demo import command
from stitch.cli.show import command as show

ROOT = Path(__file__).resolve().parents[2]


def test_the_demo_streams_draws_asks_and_says_what_to_try(tmp_path):
    done = CliRunner().invoke(command, ["--keep", str(tmp_path / "kept")], catch_exceptions=False)
    assert done.exit_code == 0
    for said in ("trip: 94 steps", "day 1", "day 2", "login timeout", "━", "stitch ingest FILE"):
        assert said in done.output
    assert "Right step first: 3 of 4 by intent, 0 of 4 by similarity alone" in done.output
    for said in ("porto, 9 nodes", "O Gaveto (1.00)", "edited: a cheaper Sunday", "> Stop 'Crystal Palace Gardens'"):
        assert said in done.output
    assert (tmp_path / "kept" / "trip.jsonl").is_file()


def test_the_first_page_shows_what_is_drawn_of_the_demo(tmp_path):
    CliRunner().invoke(command, ["--keep", str(tmp_path / "kept")], catch_exceptions=False)
    memory = str(tmp_path / "kept" / "demo.memory")
    drawn = CliRunner().invoke(show, ["--memory", memory, "--trajectory", "bugs"], catch_exceptions=False)
    assert drawn.output.strip() in (ROOT / "README.md").read_text(encoding="utf-8")

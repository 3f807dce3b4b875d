"""Trees and themes, from Python and by the command."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from stitch import open_memory

XML = """<Trip><Day index="1"><POI id="zoo" name="Zoo" cost="CAD 40"/></Day>
<Day index="2"><POI id="pier" cost="CAD 12"/></Day></Trip>"""


def test_the_command_makes_asks_edits_and_compares_trees(stitch, kept):
    Path("trip.xml").write_text(XML)
    m = ("--memory", kept)
    assert "plan" in stitch("tree", "create", "plan", "trip.xml", *m)[1]
    assert "(zoo)" in stitch("tree", "select", "//POI[@cost > 20]", "--tree", "plan", *m)[1]
    Path("ops.jsonl").write_text('{"op": "set", "id": "zoo", "field": "cost", "value": "CAD 4"}\n')
    assert stitch("tree", "edit", "plan", "ops.jsonl", *m, "--message", "cheaper")[0] == 0
    assert "(zoo)" not in stitch("tree", "select", "//POI[@cost > 20]", "--tree", "plan", *m)[1]
    assert "(zoo)" in stitch("tree", "select", "/Version[1]//POI[@cost > 20]", "--tree", "plan", *m)[1]
    assert "cheaper" in stitch("tree", "log", "plan", *m)[1]
    assert "CAD 40" in stitch("tree", "diff", "plan", "v1", *m)[1]
    assert stitch("tree", "revert", "plan", "v1", *m)[0] == 0
    assert 'cost="CAD 40"' in stitch("tree", "export", "plan", *m)[1]
    assert "plan" in stitch("tree", "list", *m)[1]
    assert stitch("tree", "delete", "plan", *m)[0] == 0
    assert "plan" not in stitch("tree", "list", *m)[1]


def test_a_tree_that_there_is_not_is_a_wrong_call(stitch, kept):
    status, out, err = stitch("tree", "show", "nothing", "--memory", kept)
    assert (status, out) == (2, "")
    assert "nothing" in err


@pytest.fixture
def party(tmp_path):
    with open_memory(tmp_path / "party") as memory:
        lines = files("stitch.examples").joinpath("party.jsonl").read_text().splitlines()
        notes = [{key: value for key, value in json.loads(line).items() if key != "trajectory"} for line in lines]
        memory.add_many(notes, trajectory="notes")
        yield memory


def test_themes_gather_what_is_said_of_one_thing(party):
    themes = party.themes()
    assert themes
    assert all(theme.statements for theme in themes)
    assert len(party.themes(limit=1)) == 1


def test_the_lens_of_themes_shows_sentences_that_together_cover_a_question(party):
    asked = "What did I buy for the party in May?"
    shown = party.search(asked, budget_tokens=100, retriever="themes").context()
    assert shown.strip()
    assert party.search(asked, budget_tokens=100, retriever="themes").context_tokens <= 100


def test_the_command_lists_themes(party, stitch):
    party.close()
    status, out, _ = stitch("themes", "--memory", party.folder)
    assert (status, bool(out.strip())) == (0, True)
    assert json.loads(stitch("themes", "--memory", party.folder, "--json")[1])

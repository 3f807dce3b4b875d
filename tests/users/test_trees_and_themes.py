"""Trees and themes, from Python and by the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stitch import StitchError, open_memory
from stitch.bench.samples import PARTY_NOTES

PORTO = """\
- Weekend: Porto
  - Day: Saturday
    - Stop: Livraria Lello {#lello}
      - about: old bookshop with a carved staircase
      - cost: EUR 8
      - time: 9:30 - 10:30
    - Stop: Crystal Palace Gardens {#gardens}
      - about: a park with peacocks and views over the river
      - cost: free
      - time: 11:00 - 13:00
  - Day: Sunday
    - Meal: O Gaveto {#gaveto}
      - about: seafood, lobster rice
      - cost: EUR 60
      - time: 20:00 - 22:00
"""
XML = """<Trip><Day index="1"><POI id="zoo" name="Zoo" cost="CAD 40"/></Day>
<Day index="2"><POI id="pier" cost="CAD 12"/></Day></Trip>"""


@pytest.fixture
def porto(memory, tmp_path):
    (tmp_path / "porto.md").write_text(PORTO)
    return memory.trees.create("porto", tmp_path / "porto.md")


def ids(nodes):
    return [node.id for node in nodes]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("//Stop", ["lello", "gardens"]),
        ("//Day[2]/Meal", ["gaveto"]),
        ("//Day[1]/Stop[@time < '11:00']", ["lello"]),
        ("//Meal[@cost > 40]", ["gaveto"]),
        ("//Stop[@cost = 'free']", ["gardens"]),
        ("//Stop[-1]", ["gardens"]),
    ],
)
def test_a_tree_is_asked_by_place_type_and_value(porto, query, found):
    assert ids(porto.select(query)) == found


def test_a_tree_is_asked_by_meaning(porto):
    nodes = porto.select('//Stop[node ~= "outdoors in nature"]')
    assert nodes[0].id == "gardens"


def test_an_edit_makes_a_version_and_the_old_one_stays(porto):
    from stitch.trees import SetField

    porto.edit([SetField("gaveto", "cost", "EUR 30")], message="cheaper", author="ann")
    assert ids(porto.select("//Meal[@cost > 40]")) == []
    assert ids(porto.at("v1").select("//Meal[@cost > 40]")) == ["gaveto"]
    assert [commit.message for commit in porto.history()][-1] == "cheaper"
    assert porto.diff("v1") != porto.diff("v2")


def test_a_version_is_brought_back(porto):
    from stitch.trees import Delete

    porto.edit([Delete("lello")])
    assert ids(porto.select("//Stop")) == ["gardens"]
    porto.revert("v1")
    assert ids(porto.select("//Stop")) == ["lello", "gardens"]


def test_an_edit_that_cannot_be_done_does_nothing(porto):
    from stitch.trees import Delete, SetField

    with pytest.raises(StitchError):
        porto.edit([Delete("lello"), SetField("nowhere", "cost", "EUR 1")])
    assert ids(porto.select("//Stop")) == ["lello", "gardens"]
    assert len(porto.history()) == 1


def test_trees_outlive_the_process_and_are_listed(porto, memory):
    memory.close()
    with open_memory(memory.folder) as again:
        assert again.trees.names() == ["porto"]
        assert ids(again.trees.open("porto").select("//Meal")) == ["gaveto"]


def test_a_branch_goes_its_own_way(porto):
    from stitch.trees import Delete

    cheap = porto.begin_branch("cheap")
    cheap.edit([Delete("gaveto")])
    assert ids(cheap.select("//*[@cost > 40]")) == []
    assert ids(porto.reload().select("//*[@cost > 40]")) == ["gaveto"]


@pytest.mark.parametrize("form", ["xml", "json", "yaml"])
def test_a_tree_is_written_and_read_again(porto, memory, form):
    text = porto.export(form)
    Path(f"again.{form}").write_text(text)
    assert ids(memory.trees.create("again", Path(f"again.{form}")).select("//Stop")) == ["lello", "gardens"]


def test_a_deleted_tree_leaves_nothing(porto, memory):
    gone = memory.trees.delete("porto")
    assert list(gone.proof.found) == []
    assert memory.trees.names() == []
    memory.close()
    assert b"lobster" not in b"".join(path.read_bytes() for path in memory.folder.rglob("*") if path.is_file())


def test_a_path_that_names_no_type_says_what_there_is(porto):
    with pytest.raises(StitchError) as refused:
        porto.select("//Stpo")
    assert "Stop" in f"{refused.value} {refused.value.hint}"


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
        memory.add_many(PARTY_NOTES, trajectory="notes")
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


def test_levels_are_read_from_episodes_to_themes(party):
    assert list(party.hierarchy.episodes("notes"))
    statements = [statement for theme in party.themes() for statement in theme.statements]
    assert statements


def test_the_command_lists_themes(party, stitch):
    party.close()
    status, out, _ = stitch("themes", "--memory", party.folder)
    assert (status, bool(out.strip())) == (0, True)
    assert json.loads(stitch("themes", "--memory", party.folder, "--json")[1])

"""The table of kinds of things, made of WordNet's files."""

import gzip

import pytest

from stitch.errors import SettingsError
from stitch.pipelines.kinds import main, make_table
from stitch.text import kinds

DATA = """  1 a license
00000001 03 n 01 entity 0 000 | all there is
00000002 13 n 02 legume 0 pulse 0 001 @ 00000001 n 0000 | seeds
00000003 13 n 01 chick_pea 0 001 @ 00000002 n 0000 | a seed
00000004 15 n 01 Lisbon 0 001 @i 00000001 n 0000 | a town
00000005 20 n 02 Pisum 0 pea 0 001 @ 00000001 n 0000 | a plant
00000006 13 n 01 area_51 0 001 @ 00000001 n 0000 | a place
"""
INDEX = """  1 a license
entity n 1 0 1 0 00000001
legume n 1 1 @ 1 0 00000002
pulse n 1 1 @ 1 0 00000002
chick_pea n 1 1 @ 1 0 00000003
lisbon n 1 1 @i 1 0 00000004
pisum n 1 1 @ 1 0 00000005
area_51 n 1 1 @ 1 0 00000006
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data.noun").write_text(DATA)
    (tmp_path / "index.noun").write_text(INDEX)
    (tmp_path / "noun.exc").write_text("legumina legume\nlisbons lisbon\n")
    return tmp_path


def test_words_lead_to_concepts_and_these_to_what_they_are_kinds_of(folder):
    lines = dict(line.split("\t", 1) for line in make_table(folder))
    assert list(lines) == sorted(lines)
    assert {"entity", "legume", "pulse", "chick pea", "legumina"} == {key for key in lines if not key.startswith("#")}
    chickpea, legume = (lines[f"#{lines[word]}"] for word in ("chick pea", "legume"))
    assert chickpea == f"{lines['legume']}\tchick pea"
    assert legume.endswith("\tlegum puls")
    assert lines["legumina"] == "=legume"


def test_the_command_writes_the_table_and_says_what_is_missing(folder, tmp_path, monkeypatch, capsys):
    table = tmp_path / "kinds.txt.gz"
    monkeypatch.setattr(kinds, "TABLE", table)
    assert main([str(folder)]) == 0
    assert gzip.decompress(table.read_bytes()).decode().splitlines() == make_table(folder)
    assert "8 lines" in capsys.readouterr().out
    assert main([]) == 2
    (folder / "noun.exc").unlink()
    assert main([str(folder)]) == 2
    assert "wordnet-base" in capsys.readouterr().err
    with pytest.raises(SettingsError, match="cannot read WordNet"):
        make_table(folder)

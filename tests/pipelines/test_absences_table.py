"""The table of what words rule out and of what comes of animals, made of WordNet's definitions."""

import pytest

from stitch.errors import SettingsError
from stitch.pipelines.absences import main, make_table
from stitch.text import kinds

NOUNS = """  1 a license
00000001 03 n 01 physical_entity 0 000 | an entity that has physical existence
00000002 05 n 02 animal 0 fauna 0 001 @ 00000001 n 0000 | a living organism
00000003 05 n 01 bee 0 001 @ 00000002 n 0000 | an insect
00000004 13 n 01 honey 0 001 @ 00000001 n 0000 | a sweet liquid produced by bees; "honey in his tea"
00000005 13 n 01 dog_biscuit 0 001 @ 00000001 n 0000 | a hard biscuit for dogs
00000006 05 n 01 dog 0 001 @ 00000002 n 0000 | a domestic animal
00000007 18 n 01 person 0 001 @ 00000001 n 0000 | a human being
00000008 13 n 01 meat 0 001 @ 00000001 n 0000 | flesh
00000009 18 n 01 vegetarian 0 001 @ 00000007 n 0000 | eater of fruits; someone who eats no meat or fish
00000010 18 n 01 vegan 0 001 @ 00000009 n 0000 | someone who eats no animal or dairy products at all
00000011 13 n 01 dairy_product 0 001 @ 00000001 n 0000 | milk and butter
00000012 13 n 01 sugar 0 001 @ 00000001 n 0000 | sweet
00000013 18 n 01 postilion 0 001 @ 00000007 n 0000 | someone who rides without a coachman
00000014 03 n 01 reason 0 000 | a thought
"""
ADJECTIVES = """  1 a license
00000101 00 a 01 sugarless 0 000 | not containing sugar
00000102 00 a 01 reasonless 0 000 | having no reason
00000103 00 a 01 bitter 0 000 | without sugar
00000104 00 a 01 endless 0 000 | without sugar
"""


def index(data):
    lines = [line.split() for line in data.splitlines() if not line.startswith(" ")]
    found: dict[tuple[str, str], list[str]] = {}
    for offset, _, part, count, *rest in lines:
        for word in rest[: 2 * int(count, 16) : 2]:
            found.setdefault((word, part), []).append(offset)
    return (
        "\n".join(f"{word} {part} {len(on)} 0 {len(on)} 0 {' '.join(on)}" for (word, part), on in found.items()) + "\n"
    )


@pytest.fixture
def folder(tmp_path):
    for name, data in (("noun", NOUNS), ("adj", ADJECTIVES)):
        (tmp_path / f"data.{name}").write_text(data)
        (tmp_path / f"index.{name}").write_text(index(data))
    return tmp_path


def test_definitions_say_what_words_rule_out_and_what_comes_of_animals(folder):
    assert make_table(folder) == [
        "=honey\tanim",
        "sugarless\tsugar",
        "vegan\tanim dairi meat",
        "vegetarian\tmeat",
    ]


def test_the_command_writes_the_table_and_says_what_is_missing(folder, tmp_path, monkeypatch, capsys):
    table = tmp_path / "absences.txt"
    monkeypatch.setattr(kinds, "ABSENCES", table)
    assert main([str(folder)]) == 0
    assert table.read_text().splitlines() == make_table(folder)
    assert "4 lines" in capsys.readouterr().out
    assert main([]) == 2
    (folder / "index.adj").unlink()
    assert main([str(folder)]) == 2
    assert "wordnet-base" in capsys.readouterr().err
    with pytest.raises(SettingsError, match="cannot read WordNet"):
        make_table(folder)


def test_the_shipped_table_is_read_by_words_in_any_number():
    assert kinds.ruled_out_by("vegetarian") < kinds.ruled_out_by("vegan")
    assert kinds.ruled_out_by("quiet") == frozenset()
    assert kinds.comes_of("eggs") == kinds.comes_of("honey") <= kinds.ruled_out_by("vegan")
    assert kinds.comes_of("oats") == frozenset()

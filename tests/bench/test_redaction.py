"""What `stitch bench redaction` tells of lists of secrets, given and drawn."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stitch.bench.commands import group
from stitch.bench.redaction import draw, is_left, read_frames
from stitch.errors import InputError

FRAMES = Path(__file__).parents[1] / "security" / "frames.txt"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(group, ["redaction", *map(str, arguments)])


def written(path: Path, *records: object) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def test_a_list_is_measured_by_what_is_left_and_what_is_touched(tmp_path: Path) -> None:
    texts = written(
        tmp_path / "list.jsonl",
        {"text": "password: Kastanie#88", "secret": "Kastanie#88"},
        {"text": "Nothing here says that chestnuts are secret.", "secret": "chestnuts"},
        {"text": "the build took four minutes", "secret": None},
        {"text": "token=ghp_0123456789abcdefghijABCDEFGHIJ012345", "secret": None},
    )
    told = json.loads(run(texts, "--json", "--show").stdout)["list.jsonl"]
    assert {name: told[name] for name in ("secrets", "found", "recall", "harmless", "touched", "false_alarms")} == {
        "secrets": 2, "found": 1, "recall": 0.5, "harmless": 2, "touched": 1, "false_alarms": 0.5,
    }  # fmt: skip
    assert [line.split(":")[0] for line in told["wrong"]] == ["left", "touched"]
    shown = run(texts, "--show").stdout
    assert "left: 'chestnuts'" in shown
    assert "0.500" in shown


def test_half_of_a_long_secret_is_as_good_as_left_and_of_a_short_one_only_all_of_it() -> None:
    assert is_left("0123456789abcdef", text="... 01234567 ...")
    assert not is_left("0123456789abcdef", text="... 0123 cdef ...")
    assert not is_left("walnut7", text="waln")


def test_frames_give_other_secrets_with_each_seed_and_the_same_with_the_same(tmp_path: Path) -> None:
    frames = tmp_path / "frames.txt"
    frames.write_text("## a comment\n\nkey ⟦ab_{hex:20}⟧ of {uuid}\\nin {word}\n{words:2} {unknown} {hyphened:2}\n")
    one, again, other = (list(draw(read_frames(frames), copies=2, seed=seed)) for seed in (1, 1, 2))
    assert one == again != other
    (first, harmless), second = one[:2], one[2]
    assert first.secret is not None
    assert first.secret != second.secret
    assert (len(first.secret), first.secret in first.text, "\n" in first.text) == (23, True, True)
    assert (harmless.secret, "{unknown}" in harmless.text) == (None, True)


@pytest.mark.parametrize(
    ("frames", "least", "recall"),
    [("frames.txt", 450, 0.83), ("frames_of_people.txt", 450, 0.68), ("frames_common.txt", 250, 0.83)],
)
def test_what_the_frames_of_the_project_hold_is_found_and_what_only_looks_like_it_is_left_alone(
    frames: str, least: int, recall: float
) -> None:
    told = json.loads(run("--frames", FRAMES.with_name(frames), "--seed", 11, "--json").stdout)[frames]
    assert told["secrets"] > least
    assert told["recall"] >= recall
    assert told["false_alarms"] < 0.005


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"text": "x"}', "has no field 'secret'"),
        ('{"text": 1, "secret": null}', "is no text with a secret"),
        ('{"text": "x", "secret": "y"}', "does not stand in its text"),
        ('{"text": "x", "secret": ""}', "does not stand in its text"),
        ("", "holds no text"),
    ],
)
def test_a_list_that_cannot_be_measured_is_refused_by_its_place(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "list.jsonl").write_text(line + "\n")
    refused = run(tmp_path / "list.jsonl").exception
    assert isinstance(refused, InputError)
    assert said in str(refused)


@pytest.mark.parametrize(
    "line", [b"two \xe2\x9f\xa6a\xe2\x9f\xa7 \xe2\x9f\xa6b\xe2\x9f\xa7", b"open \xe2\x9f\xa6a", b"\xff", b"## none"]
)
def test_frames_that_say_nothing_or_two_things_are_refused(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "frames.txt").write_bytes(line)
    with pytest.raises(InputError):
        read_frames(tmp_path / "frames.txt")


def test_without_a_list_the_command_says_what_it_wants() -> None:
    assert isinstance(run().exception, InputError)

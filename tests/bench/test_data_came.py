"""CAME-Bench data: the codec, the layouts, and what must not get through."""

import base64
import hashlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.bench.data.came import (
    REPOSITORY,
    CameFiles,
    decode,
    decode_blob,
    download_release,
    load_came,
    read_files,
    release_digest,
)
from stitch.bench.data.types import GoldLabels, GoldOperation
from stitch.errors import InputError

UUID = "8dcf27e2-389b-573c-aac0-fcbcd19245e4"
TURNS = [
    {"id": "trip-x-turn-1", "role": "user", "content": "Propose. ----TIMESTAMP: 2025-05-15T08:00",
     "partition": ["trip-x", "day-1"], "action": "PROPOSE", "action_object": "Apollo Hotel, Styx Inn"},
    {"id": "trip-x-turn-2", "role": "travel_agent", "content": "Fine. ---TIMESTAMP: 2025-05-15 08:01",
     "partition": ["trip-x"], "action": "SET_DAY", "action_object": ""},
]  # fmt: skip
QUESTION = {
    "id": "Q1", "type": "type 3", "content": "Which hotels?", "answer": {"free_form_answer": "Apollo Hotel"},
    "question_turn_ids": ["trip-x-turn-1"], "answer_turn_ids": ["trip-x-turn-1"], "answer_type": "X",
}  # fmt: skip


def lines(*records: Any) -> bytes:
    return "\n".join(map(json.dumps, records)).encode()


def write_pair(
    folder: Path, *, prefix: str = "", turns: list[Any] = TURNS, questions: tuple[Any, ...] = (QUESTION,)
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{prefix}turns.jsonl").write_bytes(lines(*turns))
    (folder / f"{prefix}questions.jsonl").write_bytes(lines(*questions))
    return folder


def hide(content: bytes, canary: str) -> bytes:
    key = hashlib.sha256(canary.encode()).digest()
    return base64.b64encode(bytes(byte ^ key[i % 32] for i, byte in enumerate(content)))


def encode(folder: Path, files: dict[str, bytes], **changes: Any) -> Path:
    (folder / "blobs").mkdir(parents=True)
    records = []
    for number, (path, content) in enumerate(files.items()):
        blob = f"blobs/{hashlib.sha256(path.encode()).hexdigest()}.b64"
        (folder / blob).write_bytes(hide(content, f"canary-{number}") + b"\n")
        records.append(
            {"relpath": path, "blob": blob, "canary": f"canary-{number}", "nbytes": len(content),
             "sha256": hashlib.sha256(content).hexdigest(), **changes}
        )  # fmt: skip
    (folder / "metadata.json").write_text(json.dumps({"version": "1.0", "files": records}))
    return folder


def test_turns_become_steps_and_gold_becomes_gold(tmp_path: Path) -> None:
    loaded = load_came(write_pair(tmp_path / "traj-0"))
    (trajectory,) = loaded.trajectories
    assert [(s.id, s.role, s.content, s.timestamp) for s in trajectory.steps] == [
        ("trip-x-turn-1", "user", "Propose.", "2025-05-15T08:00"),
        ("trip-x-turn-2", "travel_agent", "Fine.", "2025-05-15 08:01"),
    ]
    assert trajectory.id == "traj-0"
    assert loaded.gold["traj-0"] == {
        "trip-x-turn-1": GoldLabels(("day-1",), ("PROPOSE",), (), ("Apollo Hotel", "Styx Inn")),
        "trip-x-turn-2": GoldLabels(("trip-x",), ("SET_DAY",)),
    }
    assert loaded.operations["traj-0"] == (
        GoldOperation("trip-x-turn-1", "PROPOSE", "Apollo Hotel"),
        GoldOperation("trip-x-turn-1", "PROPOSE", "Styx Inn"),
    )
    (question,) = loaded.questions
    assert (question.id, question.type, question.domain) == ("traj-0/Q1", "type_3", "travel")
    assert (question.answer, question.evidence) == ("Apollo Hotel", ("trip-x-turn-1",))


def test_objects_of_a_debate_are_named_only_where_names_are_known() -> None:
    turn = {**TURNS[0], "role": "pro-side-debater", "action_object": f"pro_contention_3, {UUID}"}
    names = {"serper_retrieved_documents": [{"retrieved_documents": [{"uuid": UUID, "neutral_name": "CFR (2024)"}]}]}
    files = CameFiles("d", lines(turn), lines(QUESTION))
    assert read_files(files).operations == ()
    assert read_files(files).questions[0].domain == "debate"
    named = read_files(files._replace(evidence=lines(names)))
    assert named.operations == (GoldOperation("trip-x-turn-1", "PROPOSE", "CFR (2024)"),)


def test_a_folder_may_hold_several_trajectories_in_numeric_order(tmp_path: Path) -> None:
    for name in ("traj-10", "traj-2", "sub/example"):
        write_pair(tmp_path / name, prefix="travel_planning_" if name == "sub/example" else "")
    assert [t.id for t in load_came(tmp_path).trajectories] == ["sub/example", "traj-2", "traj-10"]


def test_the_encoded_release_is_decoded_and_preferred(tmp_path: Path) -> None:
    pair = {"traj-0/turns.jsonl": lines(*TURNS), "traj-0/questions.jsonl": lines(QUESTION)}
    write_pair(tmp_path / "decoded" / "traj-9")
    encode(tmp_path / "encoded" / "encoded_benchmark_codec", pair)
    loaded = load_came(tmp_path)
    assert [t.id for t in loaded.trajectories] == ["traj-0"]
    assert loaded.digest == load_came(write_pair(tmp_path / "decoded" / "traj-0").parent / "traj-0").digest
    assert loaded.digest == release_digest([CameFiles("traj-0", *pair.values())])


@given(st.binary(max_size=100), st.text(max_size=10))
def test_decoding_undoes_encoding(content: bytes, canary: str) -> None:
    assert decode_blob(hide(content, canary), canary=canary) == content


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sha256": "0" * 64}, "the hash of 'a/turns.jsonl' is wrong"),
        ({"nbytes": 1}, "has 3 bytes instead of 1"),
        ({"relpath": "../evil"}, "'../evil' is no path inside the folder"),
        ({"relpath": "/etc/passwd"}, "is no path inside the folder"),
        ({"relpath": "a\\b"}, "is no path inside the folder"),
        ({"relpath": ""}, "is no path inside the folder"),
        ({"relpath": 7}, "is no path inside the folder"),
        ({"blob": "../../secret"}, "is no path inside the folder"),
        ({"blob": "C:/x"}, "is no path inside the folder"),
    ],
)
def test_a_made_up_release_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        decode(encode(tmp_path / "e", {"a/turns.jsonl": b"xyz"}, **changes))


def test_a_release_that_leads_out_says_things_twice_or_half_is_refused(tmp_path: Path) -> None:
    encoded = encode(tmp_path / "e", {"a": b"xyz"})
    (blob,) = (encoded / "blobs").iterdir()
    blob.rename(tmp_path / "outside")
    blob.symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match="leads out of the folder"):
        decode(encoded)
    twice = {"relpath": "same", "sha256": hashlib.sha256(b"x").hexdigest()}
    with pytest.raises(InputError, match="lists 'same' twice"):
        decode(encode(tmp_path / "twice", {"a": b"x", "b": b"x"}, **twice))
    for number, content in enumerate(("[]", '{"files": [1]}')):
        (tmp_path / f"m{number}").mkdir()
        (tmp_path / f"m{number}" / "metadata.json").write_text(content)
        with pytest.raises(InputError, match="lists no files"):
            decode(tmp_path / f"m{number}")
    with pytest.raises(InputError, match="is no base64"):
        decode_blob(b"%%%", canary="x")
    encode(tmp_path / "half" / "encoded", {"traj-0/turns.jsonl": lines(*TURNS)})
    with pytest.raises(InputError, match=r"holds 'traj-0/turns.jsonl' but no"):
        load_came(tmp_path / "half")


def test_other_folders_are_no_came_bench(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no CAME-Bench data") as raised:
        load_came(tmp_path)
    assert "stitch generate came" in raised.value.hint
    with pytest.raises(InputError, match="is no folder"):
        load_came(tmp_path / "absent")
    write_pair(tmp_path / "t")
    (tmp_path / "t" / "questions.jsonl").unlink()
    with pytest.raises(InputError, match="has no questions beside it"):
        load_came(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer_turn_ids": ["trip-x-turn-9"]}, "evidence 'trip-x-turn-9' of question 't/Q1' is no step of 't'"),
        ({"answer": "x"}, "t/questions.jsonl:1 has no free-form answer"),
    ],
)
def test_a_wrong_question_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        load_came(write_pair(tmp_path / "t", questions=({**QUESTION, **change},)))


def test_the_published_vectors_decode_to_their_plain_form(shared_data: Callable[[str], Path]) -> None:
    root = shared_data("came/codec_vectors")
    decoded = decode(root / "encoded")
    assert decoded == {path: (root / "decoded" / path).read_bytes() for path in decoded}
    assert len(decoded) == 3
    assert load_came(root).digest == load_came(root / "decoded").digest


def test_the_published_example_loads(shared_data: Callable[[str], Path]) -> None:
    loaded = load_came(shared_data("came/example"))
    assert [(t.id, len(t.steps)) for t in loaded.trajectories] == [("debate_example", 53), ("travel_plan_example", 186)]
    assert {q.type for q in loaded.questions if q.domain == "travel"} == {"type_1", "type_2", "type_3", "type_4"}
    assert not any("TIMESTAMP" in step.content for t in loaded.trajectories for step in t.steps)


def test_the_release_is_fetched_once(tmp_path: Path) -> None:
    calls = []

    def fetch(*, local_dir: str, **given: Any) -> None:
        calls.append(given)
        pair = {"traj-0/turns.jsonl": lines(*TURNS), "traj-0/questions.jsonl": lines(QUESTION)}
        encode(Path(local_dir) / "encoded_benchmark_codec", pair)

    download_release(tmp_path, fetch=fetch)
    download_release(tmp_path, fetch=fetch)
    assert [call["repo_id"] for call in calls] == [REPOSITORY]
    assert len(load_came(tmp_path).questions) == 1


def test_a_download_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match="client of the hub") as told:
        download_release(tmp_path)
    assert "huggingface-hub" in told.value.hint

    def refuse(**given: Any) -> None:
        raise OSError("no route\nto host")

    with pytest.raises(InputError, match="cannot download 'Seattleyrz/CAME-Bench': no route to host") as raised:
        download_release(tmp_path, fetch=refuse)
    assert "--data" in raised.value.hint
    with pytest.raises(InputError, match="holds no metadata"):
        download_release(tmp_path, fetch=lambda **given: None)

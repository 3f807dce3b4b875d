"""Of what is erased no file tells any word, in any language, short ones and names of fields and files included."""

import json
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from security import scanner

from doubles.files import content_of
from stitch import Step, ToolCall, open_memory
from stitch.lifecycle.selection import Selector
from stitch.lm import Charge, Ledger
from stitch.observe import TraceObserver

HERE = Path(__file__).parent
FIELDS = (
    *("step", "role", "tool", "key", "argument", "call", "metakey", "metavalue", "session", "parent", "content"),
    *("scope", "event", "entity", "target", "by", "other", "reason"),
)
NAMES = {field: f"zq{field[:4]}{number}x" for number, field in enumerate(FIELDS)}


def places(folder: Path, *words: str) -> dict[str, list[str]]:
    """Where words stand in a folder, those that do."""
    reading = scanner.reading_of(folder)
    return {word: sorted(found) for word in words if (found := reading.places(word))}


def test_random_erasures_end_clean_and_no_word_is_found_that_only_they_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Names in odd forms, and words that the files use themselves; the long form has nine kinds more, and trajectories
    # so short that they are learnt again.
    kinds = ("odd names", "own words")
    options = ["--erasures", "2", "--steps", "2", "--length", "67", "--show"]
    monkeypatch.setattr(sys, "argv", ["erased_words", *options, *(word for kind in kinds for word in ("--kind", kind))])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(HERE / "erased_words.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert ended.value.code == 0, said
    assert "2 erasures: nothing wrong" in said


def test_the_scanner_finds_what_is_there_however_it_is_kept(tmp_path: Path) -> None:
    import bz2
    import gzip
    import lzma
    import sqlite3
    import zlib

    folder = tmp_path / "m"
    (folder / "payload_storage").mkdir(parents=True)
    said = "one zib, two zibbelo and three caf\u00e9 zob"
    data = said.encode()
    written = {
        "plain.bin": b"\x00\xff" * 40 + data + b"\xff",
        "packed.gz": b"junk" + gzip.compress(data),
        "packed.z": b"junk" + zlib.compress(data),
        "packed.bz2": bz2.compress(data),
        "packed.xz": lzma.compress(data),
        "wide.bin": said.encode("utf-16-le") + b"\xff\xfe",
        "escaped.json": json.dumps({"text": said}).encode(),
        "payload_storage/page_0.dat": bytes(128)
        + len(data).to_bytes(4, "little")
        + b"\xf0"
        + bytes([len(data) - 15])
        + data,
    }
    for name, made in written.items():
        (folder / name).write_bytes(made)
    with sqlite3.connect(folder / "base.sqlite") as base:
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("CREATE TABLE t (a BLOB)")
        base.execute("INSERT INTO t VALUES (?)", (gzip.compress(data),))
    base.close()
    found = places(folder, "zib", "zibbelo", "zob", "zibb", "never")
    assert set(found) == {"zib", "zibbelo", "zob"}
    names = {name.split()[0] for name in found["zib"]}
    assert names == {*written, "base.sqlite"}
    assert {name.split()[0] for name in found["zob"]} == names


def test_no_field_of_an_erased_step_is_left_in_any_file(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    call = ToolCall(name=NAMES["tool"], arguments={NAMES["key"]: NAMES["argument"]}, id=NAMES["call"])
    step = Step(
        id=NAMES["step"], role=NAMES["role"], content=f"The {NAMES['content']} is for day 2; its price?",
        tool_calls=(call,), metadata={NAMES["metakey"]: [NAMES["metavalue"]]}, session=NAMES["session"],
        parent=NAMES["parent"], timestamp="2031-05-17T03:04:05",
    )  # fmt: skip
    labels = {
        "scope": NAMES["scope"], "event_types": [NAMES["event"]], "entity_types": [NAMES["entity"]],
        "targets": [NAMES["target"]],
    }  # fmt: skip
    with TraceObserver(folder / "trace.jsonl") as trace, open_memory(folder, recall_log=9, observers=[trace]) as memory:
        memory.add_many(
            [Step(id=f"l{n}", role="user", content=f"Remark {n} on hotels.") for n in range(5)], trajectory="t"
        )
        memory.add(step, trajectory="t")
        memory.lifecycle.correct(NAMES["step"], trajectory="t", labels=labels, by=NAMES["by"])
        memory.lifecycle.correct(NAMES["step"], trajectory="t", text=f"It is {NAMES['other']}.", by=NAMES["by"])
        memory.search(NAMES["content"])
        memory.search("What is its price?")
        memory.lifecycle.retire(Selector(trajectory="t", step=NAMES["step"]), reason=NAMES["reason"])
        memory.add_many([Step(id=f"m{n}", role="user", content="And is it good?") for n in range(5)], trajectory="t")
    words = (*NAMES.values(), "2031")
    assert set(places(folder, *words)) == set(words)
    with open_memory(folder, recall_log=9) as memory:
        erased = memory.lifecycle.erase(Selector(trajectory="t", step=NAMES["step"]))
        assert (erased.steps, erased.proof.found) == (1, ())
        assert places(folder, *words) == {}
        memory.search("What is its price?")
    assert places(folder, *words) == {}


def beside(folder: Path) -> None:
    """Files as `stitch ingest` leaves them, of two tenants."""
    lines: dict[str, list[dict[str, Any]]] = {
        "files.jsonl": [
            {"tenant": "zqown", "file": "/in/zqdir/zqa.jsonl", "trajectory": "zqa", "state": [1, 2]},
            {"tenant": "zqown", "file": "/in/zqb.jsonl", "trajectory": "zqb", "state": [1, 2]},
            {"tenant": "them", "file": "/in/zqc.jsonl", "trajectory": "zqa", "state": [1, 2]},
        ],
        "rejects.jsonl": [
            {"tenant": "zqown", "source": "zqdir/zqa.jsonl", "line": 3, "reason": "malformed", "text": "{zqd"},
            {"tenant": "zqown", "source": "-", "line": 1, "reason": "'zqs' of trajectory 'zqb' is known", "text": ""},
            {"tenant": "zqown", "source": "-", "line": 2, "reason": "it is known", "text": "they call it zib"},
            {"tenant": "zqown", "source": "-", "line": 4, "reason": "it is known", "text": "an innocent line"},
            {"tenant": "them", "source": "zqdir/zqa.jsonl", "line": 3, "reason": "malformed", "text": "zib"},
        ],
    }
    for name, values in lines.items():
        (folder / name).write_bytes(b"".join(orjson.dumps(value) + b"\n" for value in values))
    position = {"offset": 9, "begin": "ab", "numbers": {"zqa": 1}}
    other = {"offset": 9, "begin": "ab", "numbers": {"zqb": 1}}
    positions = {
        "zqown": {"/in/zqdir/zqa.jsonl": position, "/in/list": position, "/in/zqb.jsonl": other},
        "them": {"/in/zqdir/zqa.jsonl": position},
    }
    (folder / "follow.json").write_bytes(orjson.dumps(positions))
    (folder / "unfinished.json").write_bytes(orjson.dumps(positions))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "m"
    with open_memory(folder, tenant="zqown") as memory:
        for name in ("zqa", "zqb"):
            steps = [
                Step(id="zqs", role="user", content=f"Remark on zib, {name}."),
                Step(id="2", role="user", content="Yes."),
            ]
            memory.add_many(steps[: 2 if name == "zqb" else 1], trajectory=name)
    beside(folder)
    charge = {"model": "m", "stage": "window", "prompt_tokens": 1, "reply_tokens": 1}
    ledger = Ledger(folder / "ledger.jsonl")
    ledger.charge(Charge(**charge, tenant="zqown", trajectory="zqa", position=0))
    ledger.charge(Charge(**charge, tenant="them", trajectory="zqa", position=0))
    return folder


def own(folder: Path, name: str) -> list[Any]:
    return [
        value
        for line in (folder / name).read_bytes().splitlines()
        if (value := orjson.loads(line)).get("tenant") == "zqown"
    ]


def test_files_beside_the_journal_tell_nothing_of_an_erased_step(folder: Path) -> None:
    with open_memory(folder, tenant="zqown") as memory:
        assert memory.lifecycle.erase(Selector(trajectory="zqb", step="zqs")).proof.found == ()
    assert [each["line"] for each in own(folder, "rejects.jsonl")] == [3, 2, 4], "another step says zib"
    assert len(own(folder, "files.jsonl")) == 2
    with open_memory(folder, tenant="zqown") as memory:
        assert memory.lifecycle.erase(Selector(trajectory="zqa", step="zqs")).proof.found == ()
    assert [each["line"] for each in own(folder, "rejects.jsonl")] == [4]


def test_no_file_tells_of_an_erased_tenant(folder: Path) -> None:
    theirs = [line for line in (folder / "rejects.jsonl").read_bytes().splitlines() if b"them" in line]
    with open_memory(folder, tenant="zqown") as memory:
        memory._parts.ingestor.journal.append_record("zqown", kind="tree", key="zqtree", payload=b"zqpay")
        assert memory.lifecycle.erase(Selector(everything=True)).proof.found == ()
    assert places(folder, "zqown", "zqb", "zqs", "zqtree", "zqpay") == {}
    assert [line.strip() for line in (folder / "rejects.jsonl").read_bytes().splitlines()] == theirs
    for name in ("follow.json", "unfinished.json"):
        assert list(orjson.loads((folder / name).read_bytes())) == ["them"]
    assert len((folder / "ledger.jsonl").read_bytes().splitlines()) == 2, "what was spent stays"


SAID = {
    "fr": ("Bonjour, je dois réparer l'horlogerie de l'escalier.", "D'accord, quand faut-il venir ?"),
    "hi": ("नमस्ते, मुझे जयपुर की यात्रा की योजना बनानी है।", "ठीक है, यात्रा कब है?"),
    "ja": ("金沢への出張を計画したいです。", "出張はいつですか？"),
    "ko": ("안녕하세요, 세탁기를 수리하고 싶어요. 세탁기에서 물이 새요.", "네, 언제가 좋으세요?"),
    "tr": ("Merhaba, İstanbul otelini arıyorum.", "Otel bulundu, tamam."),
    "zh": ("你好，我想安排去上海的会议。", "好的，会议几点开始？"),
}
ONLY = {"fr": "horlogerie", "hi": "जयपुर", "ja": "金沢", "ko": "세탁기", "tr": "istanbul", "zh": "上海"}


@pytest.mark.parametrize(
    "language", ["ja", *(pytest.param(name, marks=pytest.mark.slow) for name in SAID if name != "ja")]
)
def test_a_scope_that_was_named_by_an_erased_step_loses_its_words(language: str, tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as memory:
        steps = [
            {"role": role, "content": text, "id": role}
            for role, text in zip(("user", "assistant"), SAID[language], strict=True)
        ]
        memory.add_many(steps, trajectory="t")
        assert any(ONLY[language] in scope.name for scope in memory.inventory().scopes)
        erased = memory.lifecycle.erase(Selector(trajectory="t", step="user"))
    assert erased.proof.found == ()
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        text = content_of(path).decode(errors="ignore").replace("\u0130", "I").lower()
        assert re.search(ONLY[language], text) is None, path

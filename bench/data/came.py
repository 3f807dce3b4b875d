"""CAME-Bench: the release (encoded or decoded), generated sets of the same format, and the authors' published example.

What the format calls `partition`, `action` and `action_object` is gold and goes to `GoldLabels` and `GoldOperation`;
type spellings are made one ("type 4" is `type_4`); the timestamp is taken out of the text, as on ingest.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from stitch.bench.data.sets import (
    check_questions,
    parse_records,
    read_bytes,
    read_json,
    required,
    set_name,
    trajectory_from,
)
from stitch.bench.data.types import DataSet, GoldLabels, GoldOperation, Question
from stitch.core import Trajectory
from stitch.errors import InputError, install_command

METADATA = "metadata.json"
REPOSITORY = "Seattleyrz/CAME-Bench"
_PLACES = ("encoded/encoded_benchmark_codec", "encoded_benchmark_codec", "encoded", ".")


def find_encoded(folder: Path) -> Path | None:
    """The folder with the `metadata.json` of an encoded release, where the release puts it; None if there is none."""
    return next((folder / place for place in _PLACES if (folder / place / METADATA).is_file()), None)


def download_release(folder: Path, *, fetch: Callable[..., Any] | None = None) -> None:
    """Fetch the encoded release into a folder, unless it is there; a download that broke off is completed."""
    if find_encoded(folder):
        return
    if fetch is None:
        try:
            from huggingface_hub import snapshot_download
        except ImportError as error:
            raise InputError("the client of the hub is missing", hint=install_command("huggingface-hub")) from error
        fetch = snapshot_download
    try:
        fetch(repo_id=REPOSITORY, repo_type="dataset", allow_patterns=["encoded_benchmark_codec/*"],
              local_dir=str(folder / "encoded"))  # fmt: skip
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        hint = "fetch it by hand and name its folder with --data"
        raise InputError(f"cannot download {REPOSITORY!r}: {reason}", hint=hint) from error
    if not find_encoded(folder):
        raise InputError(f"{REPOSITORY!r} holds no {METADATA}", hint="see the page of the data set")


def decode(folder: Path) -> dict[str, bytes]:
    """Decode all files of an encoded release, by relative path.

    Raises:
        InputError: The metadata cannot be used, a path leads out of the folder, or a length or hash is wrong.
    """
    where, metadata = str(folder / METADATA), read_json(folder / METADATA)
    files = metadata.get("files") if isinstance(metadata, dict) else None
    if not isinstance(files, list) or not all(isinstance(record, dict) for record in files):
        raise InputError(f"{where!r} lists no files")
    decoded: dict[str, bytes] = {}
    for record in files:
        path = _safe(required(record, "relpath", where), where)
        if path in decoded:
            raise InputError(f"{where} lists {path!r} twice")
        decoded[path] = _decode_one(folder, record, where)
    return decoded


def decode_blob(text: bytes, *, canary: str) -> bytes:
    """The plain content of a blob in base64."""
    try:
        hidden = base64.b64decode(text.strip(), validate=True)
    except binascii.Error as error:
        raise InputError(f"a blob is no base64: {error}") from error
    key = hashlib.sha256(canary.encode()).digest()
    stream = key * (len(hidden) // len(key) + 1)
    whole = int.from_bytes(hidden, "big") ^ int.from_bytes(stream[: len(hidden)], "big")
    return whole.to_bytes(len(hidden), "big")


def _decode_one(folder: Path, record: Mapping[str, Any], where: str) -> bytes:
    path = record["relpath"]
    blob = _safe(required(record, "blob", where), where)
    file = folder / blob
    if not file.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{where}: the blob {blob!r} leads out of the folder")
    plain = decode_blob(read_bytes(file), canary=str(required(record, "canary", where)))
    if len(plain) != required(record, "nbytes", where):
        raise InputError(f"{where}: {path!r} has {len(plain)} bytes instead of {record['nbytes']!r}")
    if hashlib.sha256(plain).hexdigest() != required(record, "sha256", where):
        raise InputError(f"{where}: the hash of {path!r} is wrong", hint="download the release again")
    return plain


def _safe(path: Any, where: str) -> str:
    parts = PurePosixPath(path).parts if isinstance(path, str) else ()
    if not parts or path.startswith("/") or "\\" in path or ":" in path or any(p in ("..", "") for p in parts):
        raise InputError(f"{where}: {path!r} is no path inside the folder")
    return str(PurePosixPath(path))


OFFICIAL_DIGEST = "a965affaf69664332d40d0d1f93c0149e8485e26303f48a05a5d3517c1d81036"
"""SHA-256 of the official 14 trajectories, see `release_digest`."""

_TURNS, _QUESTIONS = "turns.jsonl", "questions.jsonl"
_STAMP = re.compile(r"\s*-{3,4}TIMESTAMP:\s*(?P<stamp>\S+(?: \S+)*?)\s*$")
_NAMES_FILE = "shared_data/shared_evidence_with_names.jsonl"
_DEPTH = 4


class CameFiles(NamedTuple):
    """The files of one trajectory."""

    name: str
    turns: bytes
    questions: bytes
    evidence: bytes = b""
    """Names of evidence documents, where the folder has them."""


class CameTrajectory(NamedTuple):
    """One trajectory of CAME-Bench with its gold."""

    trajectory: Trajectory
    questions: tuple[Question, ...]
    gold: dict[str, GoldLabels]
    operations: tuple[GoldOperation, ...]


def load_came(folder: Path) -> DataSet:
    """Load a folder of the release, of the generator, or one that holds several such.

    Raises:
        InputError: Nothing of CAME-Bench is below the folder, a hash is wrong, or a file cannot be used.
    """
    files = list(find_files(folder))
    if not files:
        raise InputError(
            f"{str(folder)!r} is no CAME-Bench data: no turns with questions and no encoded release in it",
            hint="`stitch generate came --domain travel --size S --seed 1 --out DIR` makes such a folder",
        )
    read = [read_files(each) for each in files]
    return DataSet(
        name=set_name(folder),
        trajectories=tuple(each.trajectory for each in read),
        questions=tuple(question for each in read for question in each.questions),
        digest=release_digest(files),
        gold={each.trajectory.id: each.gold for each in read},
        operations={each.trajectory.id: each.operations for each in read},
        notes=("the official release",) if release_digest(files) == OFFICIAL_DIGEST else (),
    )


def release_digest(files: Iterable[CameFiles]) -> str:
    """SHA-256 over `name \\0 turns \\0 questions \\0` of every trajectory, in numeric order of their names."""
    total = hashlib.sha256()
    for each in sorted(files, key=lambda f: _in_order(f.name)):
        for part in (each.name.encode(), each.turns, each.questions):
            total.update(part + b"\0")
    return total.hexdigest()


def find_files(folder: Path) -> Iterator[CameFiles]:
    """Yield the trajectories below a folder, in numeric order; an encoded release is decoded and verified first.

    Raises:
        InputError: The folder does not exist, a file has no partner, or the codec's hashes are wrong.
    """
    if not folder.is_dir():
        raise InputError(f"{str(folder)!r} is no folder", hint="name a folder of CAME-Bench with --data")
    if encoded := find_encoded(folder):
        files = decode(encoded)
        for path in sorted((p for p in files if p.endswith(_TURNS)), key=_in_order):
            partner = path.removesuffix(_TURNS) + _QUESTIONS
            if partner not in files:
                raise InputError(f"{str(encoded)!r} holds {path!r} but no {partner!r}")
            yield CameFiles(path.rsplit("/", 1)[0], files[path], files[partner])
        return
    for turns in sorted(folder.rglob(f"*{_TURNS}"), key=lambda path: _in_order(str(path))):
        if len(turns.relative_to(folder).parts) > _DEPTH:
            continue
        prefix = turns.name.removesuffix(_TURNS)
        questions = turns.with_name(prefix + _QUESTIONS)
        if not questions.is_file():
            raise InputError(f"{str(turns)!r} has no questions beside it: {questions.name!r} is missing")
        names = turns.parent / _NAMES_FILE
        relative = str(turns.parent.relative_to(folder))
        name = turns.parent.resolve().name if relative == "." else relative
        evidence = read_bytes(names) if names.is_file() else b""
        yield CameFiles(name, read_bytes(turns), read_bytes(questions), evidence)


def read_files(files: CameFiles) -> CameTrajectory:
    """Read the turns and questions of one trajectory.

    Raises:
        InputError: A line cannot be used, or a question refers to a turn that does not exist.
    """
    where = f"{files.name}/{_TURNS}"
    rows: list[dict[str, Any]] = []
    gold: dict[str, GoldLabels] = {}
    operations: list[GoldOperation] = []
    names = _evidence_names(files.evidence)
    for place, turn in parse_records(files.turns, name=where):
        row = _step_row(turn, place)
        rows.append(row)
        if labels := _labels(turn):
            gold[row["id"]] = labels
        operations.extend(_operations(turn, row["id"], names))
    trajectory = trajectory_from(files.name, rows, where=where).trajectory
    known = frozenset(str(step.id) for step in trajectory.steps)
    domain = "debate" if any("debater" in step.role for step in trajectory.steps) else "travel"
    place = f"{files.name}/{_QUESTIONS}"
    questions = tuple(
        _question(record, at, trajectory=files.name, domain=domain)
        for at, record in parse_records(files.questions, name=place)
    )
    check_questions(questions, known={files.name: known}, where=place)
    return CameTrajectory(trajectory, questions, gold, tuple(operations))


def _in_order(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _step_row(turn: Mapping[str, Any], where: str) -> dict[str, Any]:
    content = str(required(turn, "content", where))
    row = {"id": str(required(turn, "id", where)), "role": required(turn, "role", where), "content": content}
    if stamp := _STAMP.search(content, max(0, len(content) - 300)):
        row |= {"content": content[: stamp.start()], "timestamp": stamp["stamp"]}
    return row


def _labels(turn: Mapping[str, Any]) -> GoldLabels:
    partition = turn.get("partition") or ()
    scope = partition[1:] or partition
    targets = tuple(filter(None, (part.strip() for part in str(turn.get("action_object") or "").split(","))))
    action = str(turn.get("action") or "")
    return GoldLabels(tuple(map(str, scope)), (action,) if action else (), (), targets)


def _operations(turn: Mapping[str, Any], step: str, names: Mapping[str, str]) -> Iterator[GoldOperation]:
    action = str(turn.get("action") or "")
    for entity in str(turn.get("action_object") or "").split(","):
        if name := entity.strip():
            if re.fullmatch(r"(?:pro|con)_contention_\d+", name):
                continue  # a position in a list, not a name that anybody says
            if re.fullmatch(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", name):
                if name not in names:
                    continue
                name = names[name]
            yield GoldOperation(step, action, name)


def _evidence_names(content: bytes) -> dict[str, str]:
    """Names of evidence documents by UUID."""
    found: dict[str, str] = {}
    for _, record in parse_records(content, name=_NAMES_FILE):
        for query in record.get("serper_retrieved_documents") or ():
            for document in query.get("retrieved_documents") or ():
                if document.get("neutral_name"):
                    found[str(document["uuid"])] = str(document["neutral_name"])
    return found


def _question(record: Mapping[str, Any], where: str, *, trajectory: str, domain: str) -> Question:
    answer = required(record, "answer", where)
    if not isinstance(answer, Mapping) or "free_form_answer" not in answer:
        raise InputError(f"{where} has no free-form answer")
    return Question(
        id=f"{trajectory}/{required(record, 'id', where)}",
        trajectory=trajectory,
        type=re.sub(r"^type[ _-]*", "type_", str(required(record, "type", where)).strip()),
        text=str(required(record, "content", where)),
        answer=str(answer["free_form_answer"]),
        evidence=tuple(dict.fromkeys(map(str, required(record, "answer_turn_ids", where)))),
        asked_at=record.get("date"),
        domain=domain,
    )

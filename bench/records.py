"""The records of a run: one JSON line per question and method, with all that scoring needs."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from stitch import __version__
from stitch.errors import InputError, SettingsError
from stitch.server.operations.steps import ScopeSpans


class Answered(BaseModel):
    """The answer made of a context, and its verdict."""

    model_config = ConfigDict(frozen=True)

    answer: str | None
    """None if answering failed; then `reason` says why."""
    correct: int | None = None
    """The judge's count; None if judging failed."""
    given: int | None = None
    """How many slots of a plan the judge saw filled."""
    reason: str = ""
    model_calls: int = 0
    model_tokens: int = 0
    cost_usd: float | None = 0.0
    """None if the price of any of the calls is not known."""
    seconds: float = 0.0
    tries: int = 0
    """How often it was asked for, over all runs of the command."""


class MethodResult(BaseModel, frozen=True):
    """Result of a method for a question."""

    steps: tuple[str, ...]
    """The ranking, best first."""
    shown: dict[int, tuple[str, ...]] = {}
    """By budget, the steps of which at least a part stands in the context."""
    milliseconds: float
    window_tokens: int | None = None
    """What stood in for the budget, for a method with a window of its own."""
    context: str | None = None
    context_tokens: int | None = None
    context_steps: tuple[str, ...] | None = None
    """The steps of which at least a part stands in the context."""
    labels: dict[str, tuple[str, ...]] | None = None
    """The labels that the question was searched by, by kind; None for methods without labels."""
    matched: dict[str, dict[str, tuple[str, ...]]] = {}
    """The labels that each of the first steps matched."""
    parts: dict[str, dict[str, float]] = {}
    """The parts of the scores of the first steps."""
    decided_by: str | None = None
    """See `stitch.core.DecidedBy`; None for methods without labels."""


class Record(MethodResult, frozen=True):
    """One question as one method met it, gold included, so that it can be scored again without a data set."""

    question: str
    trajectory: str
    type: str
    domain: str = ""
    text: str
    gold_answer: str | None
    evidence: tuple[str, ...]
    diagnostics: tuple[float, ...] | None = None
    """The figures of `SelectionDiagnostics`; None for methods without labels, or without evidence."""
    answered: Answered | None = None


class LabeledTrajectory(BaseModel, frozen=True):
    """A trajectory as a memory labeled it, to be drawn."""

    steps: tuple[str, ...]
    """Their ids, in order."""
    scopes: tuple[ScopeSpans, ...]


class Prepared(BaseModel):
    """The taking in of one trajectory by one method."""

    model_config = ConfigDict(frozen=True)

    method: str
    trajectory: str
    steps: int
    seconds: float
    named: int | None = None
    """How many of the plan's operations have their entity in the snippet's text; None for methods without snippets."""
    operations: int = 0
    model_calls: int = 0
    """Calls for labels, where a model labels; methods that share a memory each note it."""
    model_tokens: int = 0
    cost_usd: float | None = None
    stand_ins: int = 0
    """How many steps have labels of another than who was to label."""
    unusable_replies: int = 0
    """How many replies of the model were cut or of no use."""
    labeled: LabeledTrajectory | None = None
    """The labels of the first method that made any; the others of a run share them."""


def record_file(folder: Path, method: str) -> Path:
    """The file of the records of a method."""
    return folder / f"{method}.jsonl"


def prepared_file(folder: Path) -> Path:
    """The file of notes on how trajectories were taken in."""
    return folder / "prepared.jsonl"


def append(path: Path, model: BaseModel) -> None:
    """Write one line at the end of a file in one piece, so that writers side by side do not mix."""
    append_line(path, orjson.dumps(model.model_dump(mode="json")))


def append_line(path: Path, line: bytes) -> None:
    """Write a line, given without its end, at the end of a file in one piece."""
    with open(path, "ab", buffering=0) as lines:
        lines.write(line + b"\n")


def mend(path: Path) -> None:
    """Cut a last line that a killed run left half written."""
    if path.exists() and not (content := path.read_bytes()).endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)


def read_records(folder: Path, method: str) -> list[Record]:
    """The records of a method, of a question the last one; empty if it has none.

    Raises:
        InputError: A line is damaged.
    """
    records = [Record.model_validate(value) for value in read_lines(record_file(folder, method))]
    return list({record.question: record for record in records}.values())


def read_prepared(folder: Path) -> list[Prepared]:
    """Notes on trajectories taken in; of one that was taken in again, the last."""
    notes = [Prepared.model_validate(value) for value in read_lines(prepared_file(folder))]
    return list({(note.method, note.trajectory): note for note in notes}.values())


def methods_in(folder: Path) -> list[str]:
    """The methods that a run folder has records of, by name."""
    return sorted(path.stem for path in folder.glob("*.jsonl") if path != prepared_file(folder))


def read_lines(path: Path) -> Iterable[Any]:
    """The values of a file of JSON lines; none if there is no file."""
    if not path.exists():
        return
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1):
        try:
            yield orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InputError(
                f"{path}:{number} is damaged", hint="delete the line; the same command makes it anew"
            ) from error


FILE = "manifest.json"
_COMPILED = (".pyc", ".pyo")


class RunSettings(BaseModel):
    """The settings on which the figures of a run depend."""

    model_config = ConfigDict(frozen=True)

    suite: str
    set: str
    data_sha256: str
    k: int
    budget_tokens: int
    tokenizer: str
    labels: str
    embedder: str
    filters: str | None = None
    """A name of the file of filters; None if the memory chose."""
    limit: int | None = None
    answerer: str | None = None
    judge: str | None = None
    prompts_sha256: str | None = None
    """The hash of the prompts of the answerer and the judge; None without a model."""


class Manifest(BaseModel):
    """A run: its settings, and the program that made it."""

    model_config = ConfigDict(frozen=True)

    settings: RunSettings
    command: str = ""
    notes: tuple[str, ...] = ()
    versions: dict[str, str]


def new_manifest(settings: RunSettings, *, command: str = "", notes: tuple[str, ...] = ()) -> Manifest:
    """The manifest of a run that is made here and now."""
    versions = {"stitch": __version__, "python": platform.python_version(), "code": _code_digest()}
    return Manifest(settings=settings, command=command, notes=notes, versions=versions)


def _code_digest() -> str:
    """A hash of the installed code and its weights: two runs with the same one were made by the same program."""
    import stitch
    from stitch import bench, signatures

    digest = hashlib.sha256()
    for package in (stitch, signatures, bench):
        folder = Path(package.__path__[0])
        for path in sorted(found for found in folder.rglob("*") if found.is_file() and found.suffix not in _COMPILED):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run folder.

    Raises:
        InputError: The folder is no run, or its manifest is damaged.
    """
    path = folder / FILE
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(
            f"{str(folder)!r} is no run: it has no {FILE}", hint="`stitch bench retrieval --out DIR` makes one"
        ) from error
    except ValidationError as error:
        raise InputError(f"{str(path)!r} is no manifest of a run") from error


def claim(folder: Path, manifest: Manifest) -> Manifest:
    """Make a run folder, or go on with one that was made with the same settings; returns the manifest in force.

    Raises:
        SettingsError: The folder holds a run of other settings, or of another program; nothing of it is changed.
        InputError: It holds something else.
    """
    if (folder / FILE).exists():
        known = read_manifest(folder)
        for what, then, now in (
            ("other settings: {} is {!r} there, {!r} now", known.settings.model_dump(), manifest.settings.model_dump()),
            ("another program: {} {} there, {} now", known.versions, manifest.versions),
        ):
            if then != now:
                name = next(name for name in sorted({*now, *then}) if now.get(name) != then.get(name))
                told = what.format(name, then.get(name), now.get(name))
                hint = "name another folder with --out, or remove this one"
                raise SettingsError(f"{str(folder)!r} holds a run of {told}", hint=hint)
        return known
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{str(folder)!r} is not empty and holds no run", hint="name another folder with --out")
    folder.mkdir(parents=True, exist_ok=True)
    part = (folder / FILE).with_suffix(".part")
    part.write_bytes(orjson.dumps(manifest.model_dump(mode="json"), option=orjson.OPT_INDENT_2))
    part.replace(folder / FILE)
    return manifest

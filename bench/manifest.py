"""The manifest of a run: enough to repeat it, and to notice that another run is not the same."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from stitch import __version__
from stitch.errors import InputError, SettingsError

FILE = "manifest.json"
_COMPILED = (".pyc", ".pyo")
_LIBRARIES = ("numpy", "qdrant-edge-py", "tokenizers", "PyStemmer", "bm25s", "sacrebleu", "dspy")


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
    seed: int = 0
    limit: int | None = None
    answerer: str | None = None
    judge: str | None = None
    prompts_sha256: str | None = None
    """The hash of the prompts of the answerer and the judge; None without a model."""


class Manifest(BaseModel):
    """A run: its settings, and where it was made."""

    model_config = ConfigDict(frozen=True)

    settings: RunSettings
    command: str = ""
    notes: tuple[str, ...] = ()
    versions: dict[str, str]
    machine: dict[str, Any]


def new_manifest(settings: RunSettings, *, command: str = "", notes: tuple[str, ...] = ()) -> Manifest:
    """The manifest of a run that is made here and now."""
    versions = {"stitch": __version__, "python": platform.python_version(), "code": _code_digest()}
    for name in _LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    machine = {"system": platform.system(), "machine": platform.machine(), "processor": _processor(),
               "cores": os.cpu_count()}  # fmt: skip
    return Manifest(settings=settings, command=command, notes=notes, versions=versions, machine=machine)


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


def _processor() -> str:
    """The model of the processor, where the system says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())


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

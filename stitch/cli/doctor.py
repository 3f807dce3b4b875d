"""`stitch doctor`: what of versions, settings, disk, memory and model is wrong, and what to type."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from stitch import __version__
from stitch.console.options import json_option, memory_options, model_options
from stitch.console.printing import counted, one_line, print_json
from stitch.errors import StitchError, system_reason

if TYPE_CHECKING:
    from stitch.config import LoadedSettings

_PACKAGES = ("dspy", "qdrant-edge-py", "qdrant-client", "onnxruntime", "sentence-transformers", "psycopg", "mcp")
_LEAST_FREE = 2**30
"""Free bytes below which a disk is called nearly full: segments are written anew beside the old ones."""
_ASKED = 'Answer with this JSON and nothing else: {"answer": "ok"}'


class Check(NamedTuple):
    """One thing that was looked at."""

    what: str
    ok: bool
    told: str
    next: str = ""
    """The thing to type, where it is not well."""


@click.command()
@memory_options
@model_options
@click.option(
    "--call/--no-call", default=True, show_default=True, help="Call the model, if one is named, for a line of JSON."
)
@json_option
@click.pass_context
def command(context: click.Context, /, *, call: bool, as_json: bool, config: str | None, **arguments: Any) -> None:
    """Check the version, settings, disk, memory, store, key and model; say what to type where one is wrong.

    The exit status is 1 if something is wrong. Nothing is changed; where a model is named, it is called once.

    \b
    Example:
      stitch doctor --memory trip.memory
      stitch doctor --memory http://localhost:6333 --model openai/gpt-5-mini
    """
    checks = []
    for check in _checks(call=call, config=config, **arguments):
        checks.append(check)
        if not as_json:
            click.echo(f"{click.style('ok   ', fg='green') if check.ok else click.style('wrong', fg='red')}  "
                       f"{check.what:<9} {check.told}")  # fmt: skip
            if check.next:
                click.echo(f"{'':17}next: {check.next}")
    if as_json:
        print_json([check._asdict() for check in checks])
    if not all(check.ok for check in checks):
        context.exit(1)


def _checks(*, call: bool, config: str | None, **arguments: Any) -> Iterator[Check]:
    from stitch.config import load_settings
    from stitch.lifecycle.folder import is_url

    yield Check("version", ok=True, told=_versions())
    try:
        loaded = load_settings(config, **arguments)
    except StitchError as error:
        yield Check("settings", ok=False, told=error.message, next=error.hint)
        return
    given = [f"{name} by {loaded.origins[name]}" for name in sorted(loaded.given)]
    yield Check("settings", ok=True, told=", ".join(given) or "all by default")
    if loaded.settings.memory is None:
        yield Check("memory", ok=True, told="none is named", next="name a folder with --memory DIR to look at it")
    else:
        yield _tried("disk", lambda: _disk(loaded))
        reached = _tried("store", lambda: _server(loaded)) if is_url(loaded.location) else None
        if reached is not None:
            yield reached
        if reached is None or reached.ok:
            yield _tried("memory", lambda: _memory(loaded, config=config, **arguments))
    if loaded.settings.model is None:
        yield Check("model", ok=True, told="none is named: labels are made on this machine")
    elif call:
        yield _tried("model", lambda: _model(config=config, **arguments))


def _tried(what: str, look: Callable[[], Check]) -> Check:
    """The outcome of a look; what it raises is what is wrong."""
    try:
        return look()
    except StitchError as error:
        return Check(what, ok=False, told=error.message, next=error.hint)
    except OSError as error:
        return Check(
            what, ok=False, told=f"{error.filename or what}: {system_reason(error)}", next="name another folder"
        )


def _versions() -> str:
    held = [f"stitch {__version__}", f"Python {sys.version.split()[0]}"]
    for name in _PACKAGES:
        try:
            held.append(f"{name} {version(name)}")
        except PackageNotFoundError:  # that of an extra which is not installed
            continue
    return ", ".join(held)


def _disk(loaded: LoadedSettings) -> Check:
    folder = loaded.folder
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    told = f"{free / 2**30:.1f} GiB free at {folder}"
    if free < _LEAST_FREE:
        return Check("disk", ok=False, told=told, next="free some space, or name a folder on another disk")
    if not os.access(folder, os.W_OK):
        return Check("disk", ok=False, told=f"{folder} cannot be written", next=f"chmod u+w {folder}, or name another")
    return Check("disk", ok=True, told=told)


def _server(loaded: LoadedSettings) -> Check:
    from stitch.parts import server_of

    server = server_of(loaded.settings, loaded.location)
    try:
        info = server.ask("look at", lambda client: client.info())
        there = server.ask("look for", lambda client: client.collection_exists(server.collection))
    finally:
        server.close()
    found = "is there" if there else "is not there yet"
    return Check("store", ok=True, told=f"Qdrant {info.version} answers; the collection {server.collection!r} {found}")


def _memory(loaded: LoadedSettings, *, config: str | None, **arguments: Any) -> Check:
    from stitch.factory import open_memory
    from stitch.lifecycle.folder import is_url

    if not (loaded.folder if is_url(loaded.location) else Path(loaded.location)).exists():
        told = f"{loaded.location} has no memory yet; the first `stitch ingest` or `open_memory` makes it"
        return Check("memory", ok=True, told=told)
    place = {name: value for name, value in arguments.items() if name in ("memory", "tenant")}
    with open_memory(config=config, must_exist=True, **place) as memory:
        status = memory.status()
    told = f"{counted(steps=status.accepted, trajectories=status.trajectories)}, embedder {status.embedder}"
    if status.owner:
        told += f", open in process {status.owner.get('pid', '')}"
    if status.away:
        return Check("store", ok=False, told=f"{status.waiting} steps wait for it: {status.away}", next="stitch retry")
    if status.failed:
        return Check("memory", ok=False, told=f"{told}; {status.failed} steps failed", next="stitch receipts --failed")
    return Check("memory", ok=True, told=told)


def _model(*, config: str | None, **arguments: Any) -> Check:
    from stitch.lm import Ledger, Purpose
    from stitch.lm.reading import json_in
    from stitch.parts import model_for

    ledger = Ledger()
    model = model_for(config=config, ledger=ledger, **arguments)
    try:
        said = model.complete(_ASKED, purpose=Purpose("doctor"))
    finally:
        model.close()
    if json_in(said) is None:
        told = f"{model.name} does not answer with JSON when asked to, so nothing it says can be used: {one_line(said)}"
        return Check("model", ok=False, told=told, next="name a model that follows instructions")
    return Check("model", ok=True, told=f"{model.name} answers; {counted(tokens=ledger.total().tokens)} were used")

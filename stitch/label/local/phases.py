"""Phases of a goal: locate, reproduce, change, verify, clean up, submit. Only where they are plain: in work on code.

What was read, made, run and edited so far says which phase a call belongs to: to run something before anything was
changed reproduces, after it verifies; to write a new file prepares one of the two; to edit a file that was there
changes. Results and words stay in the phase of the call before them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import NamedTuple

from stitch.label.local.acts import Act
from stitch.text.words import whole_words

LOCATE, REPRODUCE, CHANGE, VERIFY, CLEAN_UP, SUBMIT = "locate", "reproduce", "change", "verify", "clean up", "submit"

_REPAIR = whole_words(
    """(?:github )?issues?|bugs?|pull request|pr|pr_description|pr description|regression|codebase|code base
    |failing tests?|refactor\\w*
    |unit tests?|source code|patch|repository|stack trace|traceback|feature request|implement (?:the|a|this)"""
)
_PATCH = re.compile(r"(?:patch|diff)\b|\.(?:patch|diff)$", re.IGNORECASE)
_REMOVES = re.compile(r"(?:^|[\s;&|])(?:rm|unlink|git clean)\s", re.MULTILINE)
_FILE = re.compile(r"[A-Za-z][\w-]*(?:[./][\w.-]+)|/")
MAX_FILES = 64


class Phase(NamedTuple):
    """Where a goal stands after a call."""

    name: str
    changed: bool
    """Whether a file that was there has been edited."""
    made: tuple[str, ...]
    """Files that were made for it, by the last part of their paths."""
    open_file: str
    """The file that was read, made or edited last: what an edit without a name edits."""


def is_repair(statement: str) -> bool:
    """Whether a task is work on code, in so many words."""
    return len(set(_REPAIR.findall(statement.lower()))) >= 2


def phase_after(before: Phase, acts: Sequence[Act], text: str, *, known: Container[str]) -> Phase:
    """The phase of a call, given where its goal stood.

    Args:
        before: Where it stood.
        acts: What the call does.
        text: The call as text.
        known: The files and paths that were named before, folded: to write one of them anew changes it.
    """
    phase = before
    for act, target in acts:
        file = target.rstrip("/").rsplit("/", 1)[-1].lower() if _FILE.search(target) else ""
        if file and act in ("read", "write", "edit"):
            phase = phase._replace(open_file=file)
        does = _does_to(phase, act, target, is_there=file in known and file not in phase.made)
        if does == "submit":
            phase = phase._replace(name=SUBMIT)
        elif does == "edit":
            phase = _edited(phase, file or phase.open_file, removes=_REMOVES.search(text) is not None)
        elif does == "write":
            phase = _prepared(phase, file)
        elif does in ("run", "call tool"):
            phase = _tried(phase)
        elif does in ("read", "search", "navigate"):
            phase = _looked(phase)
    return phase


def _does_to(before: Phase, act: str, target: str, *, is_there: bool) -> str:
    """What an act does to a goal: to write a patch of what was changed submits it, to write what is there edits it."""
    if act != "write":
        return act
    if before.changed and _PATCH.search(target):
        return "submit"
    return "edit" if is_there else "write"


def _edited(before: Phase, file: str, *, removes: bool) -> Phase:
    """After a file was edited; which one is not known if `file` is empty."""
    if before.changed and removes:
        return before._replace(name=CLEAN_UP)
    if file in before.made:
        return _tried(before)
    if file or not before.made or before.name == CHANGE:
        return before._replace(name=CHANGE, changed=True)
    return before


def _prepared(before: Phase, file: str) -> Phase:
    """After a new file was written."""
    is_new = file and file not in before.made
    return _tried(before._replace(made=(*before.made, file)[-MAX_FILES:]) if is_new else before)


def _tried(before: Phase) -> Phase:
    """After something was run, or made to be run."""
    if before.name in (CLEAN_UP, SUBMIT):
        return before
    return before._replace(name=VERIFY if before.changed else REPRODUCE)


def _looked(before: Phase) -> Phase:
    """After something was read or looked for."""
    if not before.changed:
        return before._replace(name=LOCATE)
    return before._replace(name=VERIFY) if before.name == CHANGE else before

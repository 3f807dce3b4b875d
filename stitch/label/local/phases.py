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
    # Complexity over 15 because every act moves the phase in its own way.
    name, changed, made, open_file = before
    for act, target in acts:
        file = target.rstrip("/").rsplit("/", 1)[-1].lower() if _FILE.search(target) else ""
        if file and act in ("read", "write", "edit"):
            open_file = file
        elif act == "edit":
            file = open_file
        if act == "submit" or (act == "write" and changed and _PATCH.search(target)):
            name = SUBMIT
            continue
        if act == "write" and file and file not in made and file in known:
            act = "edit"
        if act == "edit" and changed and _REMOVES.search(text):
            name = CLEAN_UP
        elif act == "edit" and file and file not in made:
            name, changed = CHANGE, True
        elif act == "edit" and not file:
            name, changed = (CHANGE, True) if not made or name == CHANGE else (name, changed)
        elif act == "write" or act == "edit":
            if file and file not in made:
                made = (*made, file)[-MAX_FILES:]
            if name not in (CLEAN_UP, SUBMIT):
                name = VERIFY if changed else REPRODUCE
        elif act in ("run", "install", "call tool"):
            if name not in (CLEAN_UP, SUBMIT) and act != "install":
                name = VERIFY if changed else REPRODUCE
        elif act in ("read", "search", "navigate"):
            if not changed:
                name = LOCATE
            elif name == CHANGE:
                name = VERIFY
    return Phase(name, changed, made, open_file)

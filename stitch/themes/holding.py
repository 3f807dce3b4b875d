"""Episodes and statements derived from the steps of a tenant, in memory.

What a step says also depends on the step before it, whose question it may answer; so a trajectory is derived from a
step on, to its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import NamedTuple, TypeVar

from stitch.core import Statement, StepState
from stitch.journal import Entry, Journal
from stitch.themes.episodes import Line, mark_of
from stitch.themes.model_records import ModelStatements
from stitch.themes.naming import words_counted
from stitch.themes.statements import statements_of

Key = TypeVar("Key")


class Derived(NamedTuple):
    """The statements of a step that are new, and those that are gone."""

    entry: Entry
    new: list[Statement]
    """Those that are to be placed among themes: they were not there, or said something else."""
    gone: list[str]
    """Those that are there no more, or say something else now."""


class Holding:
    """The episodes and statements of a tenant."""

    def __init__(self, journal: Journal, *, tenant: str, model_statements: ModelStatements) -> None:
        self._journal, self._tenant, self._model_statements = journal, tenant, model_statements
        self.lines: dict[str, Line] = {}
        """The steps of each trajectory."""
        self.statements: dict[str, Statement] = {}
        """By id; their episodes are told by `with_episode`."""
        self.usual: Counter[str] = Counter()
        """Number of statements in which each stem is."""
        self._of_step: dict[tuple[str, str], list[str]] = {}
        self._superseded: dict[str, list[str]] = {}
        """The statements that supersede others."""

    def of_step(self, trajectory: str, step: str) -> list[str]:
        """The ids of the statements that a step went into, in order."""
        return list(self._of_step.get((trajectory, step), ()))

    def said_by(self, trajectory: str, step: str) -> list[Statement]:
        """The statements that a step says, in order, with what corrects them and without their episodes."""
        return [self._with_links(self.statements[name]) for name in self._said_by(trajectory, step)]

    def with_episode(self, statement: Statement) -> Statement:
        """A statement with the id of the episode in which it was said, and of the one that corrects it."""
        episode = self.lines[statement.trajectory].episode_at(statement.position)
        return self._with_links(replace(statement, episode=episode))

    def _with_links(self, statement: Statement) -> Statement:
        """A statement with those that it corrects, as far as they are there, and the last one that corrects it."""
        if not self._superseded:
            return statement
        there = tuple(each for each in statement.supersedes if each in self.statements)
        by = self._superseded.get(statement.id)
        return replace(statement, supersedes=there, superseded_by=by[-1] if by else None)

    def asserts(self, entry: Entry) -> bool:
        """Whether a step says anything."""
        return bool(self._said_by(entry.trajectory, entry.id))

    def read(self, trajectory: str, *, since: int = 0, but: Collection[str] = ()) -> list[Derived]:
        """Derive what a trajectory says from a position on, as the journal has it now, without some steps."""
        line = self.lines.setdefault(trajectory, Line(self._tenant, trajectory))
        line.cut(since)
        start = line.marks[-1].position if line.marks else since
        derived = self.take(self._journal.entries(self._tenant, trajectory, start=start), since=since, but=but)
        if not line.marks:
            del self.lines[trajectory]
        return derived

    def take(self, entries: Iterable[Entry], *, since: int = 0, but: Collection[str] = ()) -> list[Derived]:
        """Derive what the steps of a trajectory say, in order; those before `since` are there already."""
        derived: list[Derived] = []
        before: Entry | None = None
        for entry in entries:
            if entry.state is StepState.RETIRED or entry.id in but:
                gone = self._said_by(entry.trajectory, entry.id)
                self.remove(gone)
                derived.append(Derived(entry, [], gone))
                continue
            if entry.position >= since:
                self.lines.setdefault(entry.trajectory, Line(self._tenant, entry.trajectory)).append(mark_of(entry))
                derived.append(self._derive(entry, before=before))
            before = entry
        return derived

    def _derive(self, entry: Entry, *, before: Entry | None) -> Derived:
        told = self._model_statements.said_by(entry)
        said = {each.id: each for each in (statements_of(entry, before=before) if told is None else told)}
        held = {name: self.statements[name] for name in self._said_by(entry.trajectory, entry.id)}
        gone = [name for name, each in held.items() if name not in said or said[name].text != each.text]
        new = [each for name, each in said.items() if name not in held or name in gone]
        self.remove(gone)
        for name, each in held.items():
            if name not in gone:
                self._unlink(each)
        for each in said.values():
            self._link(each)
        for each in new:
            self.usual.update(words_counted(each.text))
        return Derived(entry, new, gone)

    def _said_by(self, trajectory: str, step: str) -> list[str]:
        return [name for name in self.of_step(trajectory, step) if self.statements[name].steps[-1] == step]

    def _link(self, statement: Statement) -> None:
        self.statements[statement.id] = statement
        for step in statement.steps:
            self._of_step.setdefault((statement.trajectory, step), []).append(statement.id)
        for other in statement.supersedes:
            self._superseded.setdefault(other, []).append(statement.id)

    def _unlink(self, statement: Statement) -> None:
        for step in statement.steps:
            _leave(self._of_step, (statement.trajectory, step), statement.id)
        for other in statement.supersedes:
            _leave(self._superseded, other, statement.id)

    def remove(self, names: Iterable[str]) -> None:
        """Let go of statements."""
        for name in names:
            statement = self.statements.pop(name)
            self._unlink(statement)
            words = words_counted(statement.text)
            self.usual.subtract(words)
            for word in words:
                if not self.usual[word]:
                    del self.usual[word]


def _leave(held: dict[Key, list[str]], key: Key, name: str) -> None:
    held[key].remove(name)
    if not held[key]:
        del held[key]

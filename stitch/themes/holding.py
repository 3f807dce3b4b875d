"""Episodes and statements derived from the steps of a tenant, in memory.

What a step says also depends on the step before it, whose question it may answer; so whoever changes a step derives the
one after it again, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from stitch.core import Episode, Statement, StepState
from stitch.journal import Entry, Journal
from stitch.themes.episodes import Line, Mark, mark_of
from stitch.themes.naming import words_counted
from stitch.themes.statements import statements_of
from stitch.themes.told import Told


class Derived(NamedTuple):
    """The statements of a step that are new, and those that are gone."""

    entry: Entry
    new: list[Statement]
    """Those that are to be placed among themes: they were not there, or said something else."""
    gone: list[str]
    """Those that are there no more, or say something else now."""


class Holding:
    """The episodes and statements of a tenant."""

    def __init__(self, journal: Journal, *, tenant: str, told: Told | None = None) -> None:
        self._journal, self._tenant = journal, tenant
        self._told = told or Told(journal, tenant=tenant)
        self.lines: dict[str, Line] = {}
        """The steps of each trajectory."""
        self.statements: dict[str, Statement] = {}
        """By id; their episodes are told by `with_episode`."""
        self.of_trajectory: dict[str, dict[str, None]] = {}
        """The ids of the statements of each trajectory."""
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
        statements = map(self.statements.__getitem__, self._of_step.get((trajectory, step), ()))
        said = [each for each in statements if each.steps[-1] == step]
        return list(map(self._with_links, said)) if self._superseded else said

    def with_episode(self, statement: Statement) -> Statement:
        """A statement with the id of the episode in which it was said, and of the one that corrects it."""
        episode = self.lines[statement.trajectory].episode_at(statement.position)
        said = statement._replace(episode=episode)
        return self._with_links(said) if self._superseded else said

    def _with_links(self, statement: Statement) -> Statement:
        """A statement with those that it corrects, as far as they are there, and the last one that corrects it."""
        there = tuple(each for each in statement.supersedes if each in self.statements)
        by = self._superseded.get(statement.id)
        return statement._replace(supersedes=there, superseded_by=by[-1] if by else None)

    def asserts(self, entry: Entry) -> bool:
        """Whether a step says anything."""
        return bool(self._said_by(entry.trajectory, entry.id))

    def episodes(self, trajectory: str) -> Iterator[Episode]:
        """The episodes of a trajectory, in order; none of one that is not there."""
        line = self.lines.get(trajectory)
        return iter(()) if line is None else line.episodes()

    def read_all(self) -> Iterator[Derived]:
        """Derive everything, where nothing is held yet."""
        shown = tuple(state for state in StepState if state is not StepState.RETIRED)
        for trajectory in self._journal.trajectories(self._tenant):
            yield from self.read(self._journal.entries(self._tenant, trajectory, states=shown))

    def read(self, entries: Iterable[Entry]) -> Iterator[Derived]:
        """Derive what the steps of a trajectory say of which nothing is held yet, in order; none of them is retired."""
        before: Entry | None = None
        for entry in entries:
            self._line(entry.trajectory).put(mark_of(entry))
            yield self._derive(entry, before=before)
            before = entry

    def take(self, entries: Iterable[Entry]) -> list[Derived]:
        """Take in steps as they are now, and derive what they say and what follows them, in the order of acceptance."""
        known = {entry.seq: entry for entry in entries}
        derived: list[Derived] = []
        wanted: dict[int, tuple[Line, Mark]] = {}
        for entry in known.values():
            line = self._line(entry.trajectory)
            if entry.state is StepState.RETIRED:
                line.remove(entry.position)
                derived.append(Derived(entry, [], self._remove(self._said_by(entry.trajectory, entry.id))))
            else:
                line.put(mark_of(entry))
        for entry in known.values():
            line = self.lines[entry.trajectory]
            if entry.state is not StepState.RETIRED:
                wanted[entry.seq] = line, mark_of(entry)
            if (after := line.after(entry.position)) is not None:
                wanted[after.seq] = line, after
        return derived + self._again(wanted, known)

    def leave_out(self, trajectory: str, steps: Sequence[str]) -> tuple[list[str], list[Derived]]:
        """Leave out steps that are about to be erased; return which statements go, and what follows says now."""
        line = self.lines.get(trajectory)
        if line is None:
            return [], []
        gone = list(dict.fromkeys(name for step in steps for name in self.of_step(trajectory, step)))
        places = line.marks_of(steps)
        for mark in places:
            line.remove(mark.position)
        after = {each.seq: (line, each) for mark in places if (each := line.after(mark.position)) is not None}
        self._remove(gone)
        derived = self._again(after, {})
        if not len(line):
            del self.lines[trajectory]
        return gone, derived

    def _line(self, trajectory: str) -> Line:
        return self.lines.setdefault(trajectory, Line(self._tenant, trajectory))

    def _again(self, wanted: Mapping[int, tuple[Line, Mark]], known: dict[int, Entry]) -> list[Derived]:
        """Derive what these steps say; what of them and before them is not known is read."""
        before = {seq: line.before(mark.position) for seq, (line, mark) in wanted.items()}
        missing = ({*wanted} | {mark.seq for mark in before.values() if mark is not None}) - known.keys()
        if missing:
            known = known | {entry.seq: entry for entry in self._journal.entries_of(sorted(missing))}
        derived = []
        for seq in sorted(wanted):
            if seq in known:  # unless it was erased meanwhile
                mark = before[seq]
                derived.append(self._derive(known[seq], before=None if mark is None else known.get(mark.seq)))
        return derived

    def _derive(self, entry: Entry, *, before: Entry | None) -> Derived:
        told = self._told.said_by(entry)
        said = {each.id: each for each in (statements_of(entry, before=before) if told is None else told)}
        held = {name: self.statements[name] for name in self._said_by(entry.trajectory, entry.id)}
        changed = [name for name, each in held.items() if name not in said or said[name].text != each.text]
        new = [each for name, each in said.items() if name not in held or name in changed]
        self._remove(changed)
        for name, each in said.items():
            if name in held and name not in changed and each != held[name]:
                self._unlink(held[name])
                self._link(each)
        for each in new:
            self.usual.update(words_counted(each.text))
            self._link(each)
        return Derived(entry, new, changed)

    def _said_by(self, trajectory: str, step: str) -> list[str]:
        return [name for name in self.of_step(trajectory, step) if self.statements[name].steps[-1] == step]

    def _link(self, statement: Statement) -> None:
        self.statements[statement.id] = statement
        self.of_trajectory.setdefault(statement.trajectory, {})[statement.id] = None
        for step in statement.steps:
            self._of_step.setdefault((statement.trajectory, step), []).append(statement.id)
        for other in statement.supersedes:
            self._superseded.setdefault(other, []).append(statement.id)

    def _unlink(self, statement: Statement) -> None:
        for step in statement.steps:
            names = self._of_step[statement.trajectory, step]
            names.remove(statement.id)
            if not names:
                del self._of_step[statement.trajectory, step]
        for other in statement.supersedes:
            self._superseded[other].remove(statement.id)
            if not self._superseded[other]:
                del self._superseded[other]

    def _remove(self, names: Sequence[str]) -> list[str]:
        for name in names:
            statement = self.statements.pop(name)
            self._unlink(statement)
            del self.of_trajectory[statement.trajectory][name]
            if not self.of_trajectory[statement.trajectory]:
                del self.of_trajectory[statement.trajectory]
            for word in words_counted(statement.text):
                self.usual[word] -= 1
                if not self.usual[word]:
                    del self.usual[word]
        return list(names)

"""The tools and resources of the Model Context Protocol: methods whose signatures are their schemas.

What is recalled stands in one field, `context`, as the quoted data that every search returns; all else of an answer
names steps and says nothing of their words. So it is known again, and is never stored as if it had been said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from stitch.adapters import mcp_replies as reply
from stitch.adapters.recalled import recalled_steps
from stitch.core import MemorySnippet, Origin, Statement, Trust
from stitch.errors import InputError, ScopeError, StitchError, no_trajectory
from stitch.retrieve.context.recalled import is_recalled, step_without_recalled
from stitch.server.operations import questions, themes, trees, upkeep
from stitch.server.operations.operation import Action
from stitch.sources.given import step_of

if TYPE_CHECKING:
    from stitch.memory import Memory

TREE_TOOLS = ("select", "edit")
"""Listed only where a memory holds trees."""
SHOWN = 50
"""Themes, or statements of one, on a page."""


class Answers:
    """The tools, and the methods behind the resources; steps for which no trajectory is named go to `trajectory`."""

    def __init__(self, memory_for: Callable[[Action], Memory], *, trajectory: str) -> None:
        self._memory, self._trajectory = memory_for, trajectory

    def recall(
        self,
        query: str,
        trajectory: str | None = None,
        k: Annotated[int, Field(ge=1, le=100)] = 10,
        budget_tokens: Annotated[int, Field(ge=1, le=100_000)] = 2000,
        min_trust: Literal["high", "medium", "low"] = "low",
        as_of: str | None = None,
        retriever: Literal["intent", "themes", "auto"] | None = None,
        diverse: bool = False,
        min_relevance: Annotated[float, Field(ge=0, le=1)] | None = None,
    ) -> reply.SearchReply:
        """Find what was said or done before that answers `query`; nothing if nothing bears on it.

        min_trust: high = the user's words only. as_of: the memory as it was then (ISO time). retriever: themes = over
        many conversations. diverse: steps that differ. min_relevance: chance; 0 finds anything.
        """
        answer = questions.search(
            self._memory("read"), query=query, trajectory=trajectory, k=k, budget_tokens=budget_tokens,
            min_trust=min_trust, as_of=as_of, retriever=retriever, diverse=diverse, min_relevance=min_relevance,
        )  # fmt: skip
        return reply.SearchReply(
            context=answer.context,
            steps=[f"{hit.trajectory}/{hit.step}" for hit in answer.hits],
            nothing_relevant=answer.nothing_relevant,
        )

    def remember(
        self,
        content: str,
        trajectory: str | None = None,
        role: str = "assistant",
        id: str | None = None,  # noqa: A002 - the name of the field
    ) -> reply.Remembered:
        """Store one fact, decision or message for good, in words that are clear without the conversation.

        trajectory: groups what belongs together. role: who said it. id: the same id again changes nothing.
        """
        if is_recalled(content):
            raise InputError("this was recalled from the memory and is in it", hint="remember what is new")
        # Whoever calls is an agent: that the user said it is a claim, which does not raise how far it is believed.
        step = step_of({"role": role, "content": content, "id": id, "origin": Origin.AGENT})
        memory = self._memory("write")
        receipt = memory.add(step_without_recalled(step), trajectory=trajectory or self._trajectory)
        return reply.Remembered(
            trajectory=receipt.trajectory, step=receipt.step, state=receipt.state.value, repeated=receipt.repeated,
            redacted=sum(each.count for each in receipt.redacted), reason=receipt.reason,
        )  # fmt: skip

    def why(self, query: str, step: str, trajectory: str) -> reply.Explained:
        """Say why `recall` finds a step for a query, or why it does not."""
        memory = self._memory("read")
        answer = questions.why(memory, query=query, step=step, trajectory=trajectory, everywhere=True)
        return reply.Explained(found=answer.found, explanation=list(answer.explanation))

    def timeline(
        self,
        trajectory: str | None = None,
        after: Annotated[int, Field(ge=-1)] = -1,
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
    ) -> reply.HistoryReply:
        """Tell what happened in a trajectory, in order; without one, list the trajectories.

        after: position of your last step.
        """
        memory = self._memory("read")
        known = {str(name): name.steps for name in memory.trajectories()}
        if trajectory is None:
            return reply.HistoryReply(trajectories=known, scopes={}, context="", next=None)
        if trajectory not in known:
            raise no_trajectory(trajectory, list(known))
        stop = after + 1 + limit
        entries = list(memory.steps(trajectory, start=after + 1, stop=stop))
        scopes = {scope.name: list(scope.spans) for scope in memory.inventory(trajectory).scopes}
        more = any(True for _ in memory.steps(trajectory, start=stop, stop=stop + 1))
        return reply.HistoryReply(
            trajectories={trajectory: known[trajectory]},
            scopes=scopes,
            context=recalled_steps([entry.snippet() for entry in entries]),
            next=stop - 1 if more else None,
        )

    def correct(
        self,
        step: str,
        trajectory: str,
        text: str | None = None,
        scope: str | None = None,
        event_types: list[str] | None = None,
        entity_types: list[str] | None = None,
        asks: list[str] | None = None,
    ) -> reply.Corrected:
        """Put right the text, labels or asks (questions it answers) of a step; its history keeps what it was."""
        given = {"scope": scope, "event_types": event_types, "entity_types": entity_types}
        labels = {name: value for name, value in given.items() if value is not None}
        done = upkeep.correct(
            self._memory("write"), step=step, trajectory=trajectory, text=text, labels=labels, asks=asks, by="agent"
        )
        return reply.Corrected(trajectory=done.trajectory, step=done.step, revisions=done.revisions)

    def forget(
        self,
        trajectory: str | None = None,
        step: str | None = None,
        scope: str | None = None,
        event_type: str | None = None,
        action: Literal["erase", "retire"] = "erase",
        confirm: bool = False,
    ) -> reply.Forgotten:
        """Erase the steps to which all that is named applies, or retire them (kept for audit, not found).

        Counts only, unless `confirm`: tell the user the count and ask.
        """
        if not any((trajectory, step, scope, event_type)):
            raise InputError("nothing is named", hint="name a trajectory, step, scope or event_type")
        answer = upkeep.forget(
            self._memory("forget"), trajectory=trajectory, step=step, scope=scope, event_type=event_type,
            action=action, dry_run=not confirm, reason="asked for by an agent",
        )  # fmt: skip
        traces = None if answer.proof is None else len(answer.proof.found)
        return reply.Forgotten(steps=answer.steps, done=confirm, traces=traces)

    def themes(self, theme: str | None = None, after: str | None = None) -> reply.Browsed:
        """List what the memory is about; with the id of a theme, what was said of it."""
        memory = self._memory("read")
        if theme is not None:
            return self._theme(memory, theme, after=after)
        page = themes.themes(memory, limit=SHOWN, after=after)
        lines = [
            _line(memory, "themes", each.id, place=place, role=f"{each.id} of {len(each.statements)} statements",
                  text=", ".join(dict.fromkeys([*each.name.split(", "), *each.terms])))
            for place, each in enumerate(page.themes)
        ]  # fmt: skip
        ids = [each.id for each in page.themes]
        return reply.Browsed(context=recalled_steps(lines), themes=ids, steps=[], next=page.next)

    def select(self, query: str, tree: str | None = None, k: Annotated[int, Field(ge=1, le=100)] = 20) -> reply.Nodes:
        """Find nodes of a tree by a path, such as `//Day[2]/POI[node ~= "museum"]` or `//Task[@due < "2026-06-01"]`.

        Without a tree all are asked, in all versions.
        """
        memory = self._memory("read")
        answer = trees.tree_select(memory, query=query, tree=tree, k=k)
        lines = [
            _line(memory, tree or "trees", str(node["id"]), place=int(str(node["rank"])), role=str(node["type"]),
                  text=str(node["text"]))
            for node in answer.nodes
        ]  # fmt: skip
        return reply.Nodes(
            context=recalled_steps(lines),
            nodes=[{name: node[name] for name in ("id", "path", "score")} for node in answer.nodes],
            explanation=answer.explanation,
            version=answer.version,
        )

    def edit(
        self, tree: str, operations: list[dict[str, Any]], message: str = "", onto: str | None = None
    ) -> reply.Edited:
        """Commit operations to a tree, all or none.

        {op: set, id, field, old, value}, {op: add, parent, position, node: {id, type, fields}}, {op: delete, id} or
        {op: move, id, parent, position}. onto: the version you saw.
        """
        commit = {"operations": operations, "message": message, "author": "agent"}
        answer = trees.tree_edit(self._memory("write"), tree=tree, commits=[commit], onto=onto)
        return reply.Edited(tree=tree, versions=[made.version for made in answer.commits])

    def hold_trees(self) -> bool:
        """Whether the memory of a caller holds trees; false for one that may not read."""
        try:
            return bool(self._memory("read").trees.names())
        except ScopeError:
            return False
        except StitchError:  # whether there are any is not known: a tool that is called says what went wrong
            return True

    def timeline_of(self, trajectory: str) -> reply.HistoryReply:
        """The scopes of a trajectory and its first steps."""
        return self.timeline(trajectory, limit=200)

    def inventory(self) -> dict[str, Any]:
        """The trajectories and labels of the memory."""
        memory = self._memory("read")
        labels = memory.inventory()
        return {
            "trajectories": {str(name): name.steps for name in memory.trajectories()},
            "scopes": [scope.name for scope in labels.scopes],
            "event_types": dict(labels.event_types),
            "entity_types": {name: kind.steps for name, kind in labels.entity_types.items()},
        }

    def largest_themes(self) -> list[dict[str, Any]]:
        """The largest themes of the memory."""
        found = themes.themes(self._memory("read"), limit=SHOWN).themes
        return [{"name": each.name, "terms": each.terms, "statements": len(each.statements)} for each in found]

    def _theme(self, memory: Memory, theme: str, *, after: str | None) -> reply.Browsed:
        found = themes.theme(memory, theme=theme, limit=SHOWN, after=after)
        said: dict[tuple[str, str], list[Statement]] = {}
        for each in found.statements:
            said.setdefault((each.trajectory, each.steps[-1]), []).append(each)
        lines = [
            _line(memory, trajectory, step, place=place, role=rows[0].speaker, said_at=rows[0].said_at,
                  trust=min(each.trust for each in rows), text=" ".join(each.text for each in rows))
            for place, ((trajectory, step), rows) in enumerate(said.items())
        ]  # fmt: skip
        return reply.Browsed(
            context=recalled_steps(lines),
            themes=[each.id for each in found.neighbors],
            steps=list(dict.fromkeys(f"{each.trajectory}/{step}" for each in found.statements for step in each.steps)),
            next=found.next,
        )


def _line(
    memory: Memory, trajectory: str, name: str, *, place: int, role: str, text: str, trust: Trust = Trust.LOW,
    said_at: float | str | None = None,
) -> MemorySnippet:  # fmt: skip
    return MemorySnippet(
        tenant=memory.tenant, trajectory=trajectory, step=name, position=place, role=role, trust=trust, text=text,
        resolved=text, happened=said_at, recorded=0.0,
    )  # fmt: skip

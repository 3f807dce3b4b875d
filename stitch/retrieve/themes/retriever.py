"""The lens of themes: it finds several pieces of evidence that lie far apart, in few tokens.

It chooses, of what the best steps say, the sentences that bear most on the question, few of one step (`pieces`):
Stage I of the paper. Coverage of a graph of likeness beside that, and Stage II, brought nothing and are left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from stitch.core import (
    Decision,
    Embedder,
    MemorySnippet,
    Piece,
    RankingRule,
    RetrievalResult,
    ScoredSnippet,
    SearchRequest,
    SnippetReader,
    Statement,
    snippet_id,
)
from stitch.core.cancellation import check_canceled
from stitch.retrieve.candidates import Inventories, StepRanker
from stitch.retrieve.context.answer import milliseconds_since
from stitch.retrieve.kinds import running
from stitch.retrieve.question import form_of
from stitch.retrieve.run_question import read_run_question
from stitch.retrieve.themes.constants import THEME_CONSTANTS, ThemeConstants
from stitch.retrieve.themes.page import Placed, fit_page
from stitch.retrieve.themes.pieces import PieceReader, Sentence

if TYPE_CHECKING:
    from stitch.themes.reading import Themes

Hierarchies: TypeAlias = "Callable[[str], Themes]"
"""The hierarchy of a tenant, as the memory is now."""
CHOSEN = "chosen"
"""The part of a hit's score that says how early something of it was chosen: from 1 for the first down to 0."""
_MORE = 1.4
"""So many times what a context holds is read sentence by sentence, unless `least_read_tokens` are more."""
_RULE = RankingRule(summed=(CHOSEN,))


class ThemesRetriever:
    """Chooses sentences of statements that cover a question, and shows them by theme.

    Without hierarchies it reads the sentences of steps as they are (`themes-flat`).
    """

    calibrated = True

    def __init__(
        self,
        *,
        steps: StepRanker,
        store: SnippetReader,
        embedder: Embedder,
        hierarchies: Hierarchies | None,
        constants: ThemeConstants = THEME_CONSTANTS,
        mode: str = "themes",
    ) -> None:
        self.mode = mode
        self._steps, self._store, self._embedder = steps, store, embedder
        self._hierarchies, self.constants = hierarchies, constants

    def over(self, store: SnippetReader, *, inventories: Inventories) -> ThemesRetriever:
        """The same retriever over another store; there it reads steps as they are, for statements are those of now."""
        other = copy(self)
        other._steps, other._store = self._steps.over(store, inventories=inventories), store
        other._hierarchies = None
        return other

    def search(self, request: SearchRequest) -> RetrievalResult:
        """Answer a question: with pieces in `RetrievalResult.pieces`, and their steps as hits."""
        started = time.perf_counter()
        result = self.answer(request, self._steps.ranked(request, k=self.depth(request)))
        return replace(result, milliseconds=milliseconds_since(started))

    def depth(self, request: SearchRequest) -> int:
        """The number of steps to rank for a question."""
        return self.constants.depth(form_of(request.query), budget_tokens=request.budget_tokens)

    def answer(self, request: SearchRequest, found: RetrievalResult) -> RetrievalResult:
        """Answer a question from what was found among steps."""
        started = time.perf_counter()
        known = self.constants
        form = form_of(request.query)
        hierarchy = None if self._hierarchies is None else self._hierarchies(request.tenant)
        check_canceled()
        [vector] = self._embedder.embed([request.query])
        reader = PieceReader(
            constants=known,
            embed=self._embedder.embed,
            form=form,
            calls=bool(running(found.hits)) and read_run_question(request.query).calls,
            min_trust=request.min_trust,
        )
        pieces = reader.read(
            found.hits,
            question=request.query,
            vector=vector,
            hierarchy=hierarchy,
            tokens=max(known.least_read_tokens, int(_MORE * request.budget_tokens)),
        )
        check_canceled()
        chosen = pieces.chosen(
            budget_tokens=request.budget_tokens,
            repeat=known.repeat,
            first=0 if form.of_many_steps else known.first_steps,
            first_repeat=known.first_repeat,
        )
        placed = self._placed(chosen, hierarchy, known={hit.snippet.id: hit.snippet for hit in found.hits})
        context = fit_page(placed, budget_tokens=request.budget_tokens, name_of=partial(_name, hierarchy))
        return RetrievalResult(
            request=request,
            intent_filter=found.intent_filter,
            reasons=found.reasons,
            hits=self._hits(placed, found.hits)[: request.k],
            context_text=context.text,
            context_tokens=context.tokens,
            context_hits=context.ids,
            milliseconds=milliseconds_since(started),
            mode=self.mode,
            rule=_RULE,
            pieces=tuple(each.piece for each in placed),
            trace=(
                Decision(
                    "stage I",
                    {
                        "steps": float(len(found.hits)),
                        "statements": float(len(pieces.statements)),
                        "sentences": float(len(pieces.parts)),
                        "chosen": float(len(chosen)),
                    },
                    f"the question asks for {form.value}",
                ),
            ),
        )

    def _placed(
        self, chosen: Sequence[Sentence], hierarchy: Themes | None, *, known: Mapping[str, MemorySnippet]
    ) -> list[Placed]:
        """Pieces in an order, each with where it stands; of steps that are not known the store tells the places."""
        themes = _theme_ids(chosen, hierarchy)
        placed: list[Placed] = []
        for sentence in chosen:
            said = sentence.said
            statement, snippet = said.statement, said.snippet
            steps: tuple[str, ...] = (snippet.step,)
            ids: tuple[str, ...] = (said.step,)
            theme: str | None = None
            at, trust = 0, snippet.trust
            if statement is not None:
                theme, at = themes.get(statement.id), _place_in(snippet, statement)
                if len(statement.steps) > 1 and (sentence.text == statement.text or not _says(snippet, sentence.text)):
                    steps, trust = (
                        statement.steps,
                        min(trust, statement.trust),
                    )  # a question and its answer, or a model's
                    ids = tuple(snippet_id(snippet.tenant, snippet.trajectory, step) for step in steps)
            said_by = None if statement is None else statement.id
            piece = Piece(sentence.text, ids, steps, sentence.tokens, said_by, theme)
            superseded = statement is not None and statement.superseded_by is not None
            placed.append(Placed(piece, snippet, (), (at, sentence.number), trust, superseded))
        return self._with_others(placed, known)

    def _with_others(self, placed: Sequence[Placed], known: Mapping[str, MemorySnippet]) -> list[Placed]:
        """The same with the places of the further steps that they stand on."""
        others = [[own for own in each.piece.snippets if own != each.snippet.id] for each in placed]
        missing = [own for own in dict.fromkeys(chain.from_iterable(others)) if own not in known]
        found = self._store.get(placed[0].snippet.tenant, missing) if missing else ()
        places = {own: snippet.position for own, snippet in known.items()} | {one.id: one.position for one in found}
        return [
            each._replace(others=tuple(sorted(places[other] for other in own if other in places)))
            for each, own in zip(placed, others, strict=True)
        ]

    def _hits(self, placed: Sequence[Placed], hits: Sequence[ScoredSnippet]) -> tuple[ScoredSnippet, ...]:
        """The steps of which something was chosen, in that order, then the others as they were ranked."""
        by_id = {hit.snippet.id: hit for hit in hits}
        snippets = {each.piece.snippets[-1]: each.snippet for each in placed}
        first = dict.fromkeys(snippets)
        order = [*first, *(name for name in by_id if name not in first)]
        made = []
        for number, name in enumerate(order):
            own = by_id.get(name)
            value = 1 - number / len(order)
            parts = {**(own.parts if own else {}), CHOSEN: value}
            snippet = own.snippet if own else snippets[name]
            made.append(ScoredSnippet(snippet, own.matched if own else frozenset(), parts, value))
        return tuple(made)


def _theme_ids(chosen: Sequence[Sentence], hierarchy: Themes | None) -> dict[str, str | None]:
    """The ids of the themes of what is chosen, by the ids of the statements."""
    ids = list(dict.fromkeys(each.said.statement.id for each in chosen if each.said.statement is not None))
    return {} if hierarchy is None else dict(zip(ids, hierarchy.theme_ids(ids), strict=True))


def _name(hierarchy: Themes | None, theme: str) -> str:
    """The name of a theme; empty if it is not there any more."""
    found = None if hierarchy is None else hierarchy.theme(theme)
    return "" if found is None else found.name


def _says(snippet: MemorySnippet, sentence: str) -> bool:
    return sentence in " ".join(snippet.resolved.split())


def _place_in(snippet: MemorySnippet, statement: Statement) -> int:
    return max(snippet.text.find(statement.text[-24:]), 0)

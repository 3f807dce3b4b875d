"""Choosing the lens by the form of a question, and combining what they find.

| what is asked | what answers |
|---|---|
| labels decide: a scope, or classes of a scope are asked for | intent |
| what somebody wanted is asked: whole goals | intent |
| how one thing, named by its identifier, was left in the end | intent |
| all else | hits as intent ranks them; the context of what covers the question, from the themes |

Of one fact the best steps are shown with all that they say; of several things, sentences of many steps.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from stitch.core import Decision, RetrievalResult, SearchRequest, SnippetReader
from stitch.retrieve.context.answer import milliseconds_since, with_context
from stitch.retrieve.kinds import running
from stitch.retrieve.question import form_of, read_request
from stitch.retrieve.run_question import read_run_question

if TYPE_CHECKING:
    from stitch.retrieve.candidates import Inventories, StepRanker
    from stitch.retrieve.themes import ThemesRetriever


class AutoRetriever:
    """Answers by the lens that fits the question."""

    mode = "auto"
    calibrated = True

    def __init__(self, *, intent: StepRanker, themes: ThemesRetriever) -> None:
        self._intent, self._themes = intent, themes

    def over(self, store: SnippetReader, *, inventories: Inventories) -> AutoRetriever:
        """The same retriever over another store and label space."""
        intent = self._intent.over(store, inventories=inventories)
        return AutoRetriever(intent=intent, themes=self._themes.over(store, inventories=inventories))

    def search(self, request: SearchRequest) -> RetrievalResult:
        """Answer a question; the trace says which lens did, and why."""
        started = time.perf_counter()
        found = self._intent.ranked(request, k=self._themes.depth(request))
        form = form_of(request.query)
        reason = self._intent_alone(found, request)
        if reason:
            result = with_context(replace(found, hits=found.hits[: request.depth]))
            lenses = {"intent": 1.0, "themes": 0.0}
        else:
            made = self._themes.answer(request, found)
            result = replace(made, hits=found.hits[: request.k], rule=found.rule)
            lenses = {"intent": 1.0, "themes": 1.0}
            reason = f"the question asks for {form.value}"
        return replace(
            result,
            mode=self.mode,
            milliseconds=milliseconds_since(started),
            trace=(Decision("lens", lenses, reason), *result.trace),
        )

    def _intent_alone(self, found: RetrievalResult, request: SearchRequest) -> str:
        """The reason intent answers alone; empty if it does not."""
        if any(hit.density for hit in found.hits):
            return "labels decide"
        if running(found.hits):
            asked = read_run_question(request.query)
            if asked.requests:
                return "whole goals are asked for"
            if asked.identifiers and read_request(request).order > 0:
                return "what became of one thing is asked for"
        return ""

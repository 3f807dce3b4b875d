"""Answers in words, by a language model that reads what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stitch.core import Answer, RetrievalResult
from stitch.text.markers import Quoted

if TYPE_CHECKING:
    from stitch.lm import LanguageModel


def answer_in_words(result: RetrievalResult, model: LanguageModel) -> Answer:
    """Answer the question of a result from its context, in one call; without one if nothing was found.

    Raises:
        ModelError: The model cannot be used.
    """
    from stitch.lm import Purpose
    from stitch.signatures.programs import MemoryAnswerProgram

    if not result.context_text:
        return Answer("", (), result)
    said = model.run(
        MemoryAnswerProgram(), purpose=Purpose("answer"), quoted_steps=Quoted(result.context_text),
        question=result.request.query,
    )  # fmt: skip
    named = {str(each).strip().removeprefix("step ") for each in said.cited}
    shown = set(result.context_hits)
    cited = tuple(
        hit
        for hit in result.hits
        if hit.snippet.id in shown and f"{hit.snippet.trajectory}/{hit.snippet.position}" in named
    )
    return Answer(str(said.answer).strip(), cited, result)

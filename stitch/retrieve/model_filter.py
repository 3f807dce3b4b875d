"""The choice of the filter F_q by a language model (§2.3), in one call for all kinds of labels, or in one a kind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import dspy

from stitch.core import (
    FilterMaker,
    IntentFilter,
    LabelInventory,
    ScopeSummary,
    SearchRequest,
    Selection,
)
from stitch.core.results import WITHOUT_MODEL
from stitch.errors import ModelError
from stitch.label.model.matching import clean_name_of, match_name
from stitch.label.model.quoting import cut_at_sentence, quote
from stitch.lm import LanguageModel, Purpose
from stitch.retrieve.local_filter import LocalFilterSelector
from stitch.signatures import SelectFilterEntityTypes, SelectFilterEvents, SelectScopes
from stitch.signatures.programs import FilterProgram
from stitch.text.words import stems

SHOWN_SCOPES = 48
"""Number of scopes a prompt shows: those that share most words with the question, then the latest."""
SHOWN_NAMES = 40
"""Names of a kind in a prompt, the most frequent; those that share a word with the question beside them."""
MANY_NAMES = 30
"""Of more names than these, those that one step alone carries are not shown: most are slips."""

_MOST_CHOSEN = 8
_GIST_CHARS = 130


class ModelFilterSelector:
    """Lets a model choose labels for a question; only labels that the memory has are chosen.

    If the model fails, the local choice is taken, and the reasons say so.
    It is asked for all kinds at once, or once a kind, as in the paper.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        one_call: bool = True,
        program: FilterProgram | None = None,
    ) -> None:
        self.model = model
        self._fallback = LocalFilterSelector()
        each_kind = (SelectScopes, SelectFilterEvents, SelectFilterEntityTypes)
        self._predictors = (
            [(program or FilterProgram()).select_filter] if one_call else [dspy.Predict(prompt) for prompt in each_kind]
        )

    def select(self, request: SearchRequest, inventory: LabelInventory) -> Selection:
        """Return the labels that the question licenses; an empty filter if it licenses none."""
        if not inventory.steps:
            return Selection(IntentFilter())
        shown = _shown_scopes(request.query, inventory)
        events = _counted(inventory.event_types)
        entities = _counted({name: each.steps for name, each in inventory.entity_types.items()})
        given: dict[str, Any] = {
            "known_scopes": "\n".join(shown.values()),
            "known_event_types": _plausible(request.query, events),
            "known_entity_types": _plausible(request.query, entities),
            "question": quote({"question": request.query}),
        }
        chosen: dict[str, Any] = {}
        reasons: list[str] = []
        try:
            for place, predictor in enumerate(self._predictors):
                inputs = {name: value for name, value in given.items() if name in predictor.signature.input_fields}
                prediction = self.model.run(
                    predictor, purpose=Purpose("filter", request.trajectory or "", steps=not place), **inputs
                ).toDict()
                reasons.append(clean_name_of(str(prediction.pop("why", ""))))
                chosen.update(prediction)
        except ModelError as error:
            selection = self._fallback.select(request, inventory)
            reason = WITHOUT_MODEL + error.message
            return selection._replace(reasons=(reason, *selection.reasons))
        return Selection(
            IntentFilter(
                scopes=_known(chosen["scopes"], [scope.name for scope in inventory.scopes]),
                event_types=_known(chosen["event_types"], events),
                entity_types=_known(chosen["entity_types"], entities),
            ),
            tuple(filter(None, reasons)),
            made_by=FilterMaker.MODEL,
            speaker=clean_name_of(str(chosen.get("speaker") or "")),
        )


def _shown_scopes(question: str, inventory: LabelInventory) -> dict[str, str]:
    """The scopes that a prompt shows, by name, each with its gist; the latest last."""
    asked = set(stems(question))
    ranked: dict[str, tuple[int, int]] = {}
    lines: dict[str, str] = {}
    for place, scope in enumerate(inventory.scopes):
        said = set(stems(" ".join((scope.name, scope.summary, *scope.values)))) | set(scope.terms)
        ranked[scope.name] = max(ranked.get(scope.name, (0, 0)), (len(asked & said), place))
        gist = cut_at_sentence(_without_name(scope), limit=_GIST_CHARS)
        lines[scope.name] = f"{scope.name} ({scope.steps})" + (f": {gist}" if gist else "")
    best = set(sorted(ranked, key=lambda name: ranked[name])[-SHOWN_SCOPES:])
    return {name: line for name, line in lines.items() if name in best}


def _without_name(scope: ScopeSummary) -> str:
    """The summary of a scope; one that says its name again first is shown without it."""
    said = scope.summary.removeprefix(scope.name).lstrip(": ")
    return "" if set(stems(said)) <= set(stems(scope.name)) else said


def _counted(counts: Mapping[str, int]) -> dict[str, int]:
    """The names that a prompt shows, the most frequent first; of many, those that more than one step carries."""
    names = sorted(counts, key=lambda name: (-counts[name], name))
    if len(names) > MANY_NAMES:
        names = names[: max(MANY_NAMES, sum(count > 1 for count in counts.values()))]
    return {name: counts[name] for name in names}


def _plausible(question: str, counts: Mapping[str, int]) -> str:
    """Names with their counts, in their order: the first, and those that share a word with the question."""
    asked = set(stems(question))
    return ", ".join(
        f"{name} ({steps})"
        for place, (name, steps) in enumerate(counts.items())
        if place < SHOWN_NAMES or asked & set(stems(name))
    )


def _known(values: Iterable[str], names: Collection[str]) -> tuple[str, ...]:
    matched = (
        match_name(clean_name_of(value), names) or match_name(clean_name_of(value.partition(":")[0]), names)
        for value in values  # some models give a scope with its count and gist
    )
    return tuple(dict.fromkeys(filter(None, matched)))[:_MOST_CHOSEN]

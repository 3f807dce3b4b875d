"""Labels step by step, as §2.2 of the paper does: about four calls a step."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from stitch.core import Embedder, Labeler, LabelKind, ReferenceRewrite, Step, StepLabels, annotate_rewrites
from stitch.errors import ModelError, ReplyError
from stitch.label.curation import MERGE_EVERY_STEPS
from stitch.label.model.matching import choose_names
from stitch.label.model.quoting import quote_step
from stitch.label.model.session import MOST_NAMES, Estimate, ModelSession, Past, quote_past
from stitch.lm import CHARS_PER_TOKEN, LanguageModel, Purpose
from stitch.signatures.programs import StepProgram, asking
from stitch.signatures.windows import AskingReading

EVENT_CANDIDATES = 5
"""k_event of the paper: how many event types are offered for a step."""
HISTORY_STEPS = 20
"""H_scope: how many steps before are shown when the scope is chosen."""
ALIGNED_STEPS = 12
"""Number of earlier steps of the same scope or event type shown to resolve references."""
SUMMARIZE_EVERY_STEPS = 20
"""How often the running summary of a scope is brought up to date, in steps of the scope."""

_VERSION = "stepwise-3"
_PAST_CHARS = 300
_CALLS_A_STEP = 4
_NEAREST_STEPS = 2
"""So many steps before are shown whatever they are about: most references point there."""
_SPOILED_CALLS = 3
"""Of so many replies of no use nothing is left worth keeping: without references, a step takes three calls."""
_FIXED_TOKENS = 500
_SHOWN_SCOPES = 60
_LATEST_SUMMARIES = 6
"""Of so many steps of a scope the summaries stand behind its running summary, which is brought up to date later."""
_REFERS = re.compile(
    r"\b(?:it|its|these|those|they|them|their|he|she|him|her|his|former|latter|ones?|the same|the other|"
    r"(?:this|that)(?! (?:is|was)\b)|first|second|third|fourth|previous|earlier|there(?! (?:is|are|was|were)\b))\b",
    re.IGNORECASE,
)


class StepwiseLabeler:
    """Labels one step at a time: scope, event types, references, then entity types with the summary.

    The vocabulary of event types is seeded from the first 50 steps once these have been seen (before, it grows step by
    step, for nothing later is known), extended and freed of near-synonyms every 50; merges can be undone. Where the
    authors' code departs from the paper, this follows the paper: steps are shown whole, the running summary of the
    scope is shown, a new event type can be made at any step, references are rewritten.

    Args:
        model: The model.
        embedder: Finds the event types closest to a step.
        fallback: Makes the labels that stand in when the model fails.
        program: Its prompts, if they were compiled.
        asks: Whether it also asks for what a step is found by in other words.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        embedder: Embedder,
        fallback: Labeler,
        program: StepProgram | None = None,
        asks: bool = True,
    ) -> None:
        self.model = model
        self.embedder = embedder
        self._fallback = fallback
        self.program = program or StepProgram()
        self.asks = asks
        self.summarize = asking(self.program.summarize, asks=asks)

    @property
    def name(self) -> str:
        """The model's name, the way of labeling, and which compiled program if any."""
        way = _VERSION if self.asks else f"{_VERSION}-plain"
        return " ".join(filter(None, (self.model.name, way, self.program.digest[:8])))

    def begin(self, trajectory: str, saved: bytes | None = None) -> ModelSession:
        """Start labeling a trajectory, or continue from a saved session."""
        return _StepwiseSession(self, self._fallback, trajectory, saved)

    def estimate(self, steps: Sequence[Step]) -> Estimate:
        """About what labeling these steps of one trajectory will cost."""
        shown = sum(len(quote_step(step)) for step in steps) // CHARS_PER_TOKEN
        calls = len(steps) * _CALLS_A_STEP
        return Estimate(calls, shown * (_CALLS_A_STEP + HISTORY_STEPS // 2) + calls * _FIXED_TOKENS, calls * 30)


class _StepwiseSession(ModelSession):
    _extra: ClassVar[tuple[str, ...]] = ("_summaries", "_unsummarized", "_block", "_seeded")

    def __init__(self, labeler: StepwiseLabeler, fallback: Labeler, trajectory: str, saved: bytes | None) -> None:
        self._summaries: dict[str, str] = {}
        """Σ of each scope."""
        self._unsummarized: dict[str, list[str]] = {}
        """The steps of each scope that its summary does not know, quoted: a scope that is interrupted has one too."""
        self._block: list[str] = []
        """The steps since the vocabularies were looked after, quoted."""
        self._seeded = False
        self._vectors: dict[str, Any] = {}
        self._labeler = labeler
        super().__init__(name=labeler.name, model=labeler.model, fallback=fallback, trajectory=trajectory, saved=saved)

    def _label(self, steps: list[Step]) -> list[StepLabels]:
        return [self._label_step(step) for step in steps]

    def _label_step(self, step: Step) -> StepLabels:
        if not self._down:
            self._look_after()
        if not self._down:
            try:
                labels = self._ask(step)
            except ModelError as error:
                self._note_failure(error, steps=1)
            else:
                self._note_use()
                return labels
        return self._label_locally([step])[0]

    def _ask(self, step: Step) -> StepLabels:
        """The labels of a step. What one of the calls spoils is left out, and the step keeps the rest.

        Raises:
            ModelError: The model does not answer, or none of its replies can be used.
        """
        labeler, shown = self._labeler, quote_step(step)
        spoiled: list[ReplyError] = []
        said = AskingReading(n=0, scope=self._scope, events=[], entities=[])
        references: tuple[ReferenceRewrite, ...] = ()
        with _noting(spoiled):
            said.scope = self._scope_for(shown)
        if not said.scope:
            raise spoiled[0]
        with _noting(spoiled):
            candidates, program = self._candidates(step), labeler.program
            picked = self._run(
                program.select_events, "event types", candidates=candidates, scope=said.scope, step=shown
            )
            said.events = self._canonical(LabelKind.EVENT_TYPE, picked.event_types)
        with _noting(spoiled):
            references = self._resolve(step, said.scope, said.events)
        with _noting(spoiled):
            told = self._run(
                labeler.summarize,
                "summary",
                scope=said.scope,
                event_types=said.events,
                known_entity_types=self._known(LabelKind.ENTITY_TYPE),
                step=quote_step(step, text=annotate_rewrites(step.content, references)) if references else shown,
            )
            said.entities, said.summary = told.entity_types, told.summary
            said.asks, said.words = (told.asks, told.words) if labeler.asks else ([], [])
        if len(spoiled) >= _SPOILED_CALLS:
            raise spoiled[0]
        return self._made(step, said, references=references)

    def _scope_for(self, shown: str) -> str:
        chosen = self._run(
            self._labeler.program.induce_scope,
            "scope",
            known_scopes="\n".join(self._by_use()[-_SHOWN_SCOPES:]),
            current_scope=self._scope,
            current_summary=self._running_summary(),
            recent_steps=_quoted(self._past[-HISTORY_STEPS:]),
            step=shown,
        )
        scope = self._scope_of(chosen.scope)
        if not scope:
            raise ReplyError(f"model {self._model.name!r} gave the first step no scope")
        return scope

    def _running_summary(self) -> str:
        """Σ of the current scope, with the summaries of its steps since Σ was brought up to date."""
        since = [json.loads(line)["text"] for line in self._unsummarized.get(self._scope, ())]
        return " ".join(filter(None, (self._summaries.get(self._scope, ""), *since[-_LATEST_SUMMARIES:])))

    def _run(self, predictor: Any, stage: str, **inputs: Any) -> Any:
        return self._model.run(predictor, purpose=Purpose(stage, self._trajectory, self._position, 1), **inputs)

    def _known(self, kind: LabelKind) -> list[str]:
        return list(self._names.of[kind].canonical_counts())

    def _candidates(self, step: Step) -> list[str]:
        """The event types closest in meaning to the step."""
        names = self._known(LabelKind.EVENT_TYPE)
        if len(names) <= EVENT_CANDIDATES:
            return names
        missing = [name for name in names if name not in self._vectors]
        if missing:
            self._vectors.update(zip(missing, self._labeler.embedder.embed(missing), strict=True))
        vector = self._labeler.embedder.embed([step.content])[0]
        return sorted(names, key=lambda name: -float(self._vectors[name] @ vector))[:EVENT_CANDIDATES]

    def _resolve(self, step: Step, scope: str, events: Sequence[str]) -> tuple[ReferenceRewrite, ...]:
        """Structural alignment: the earlier steps of the same scope, the same event type, or both, decide."""
        if not _REFERS.search(step.content):
            return ()
        ranked = sorted(
            range(len(self._past)),
            key=lambda n: ((self._past[n].scope == scope) + bool(set(self._past[n].events) & set(events)), n),
        )
        best = ranked[-ALIGNED_STEPS:]
        chosen = {n for n in best if self._past[n].scope == scope or set(self._past[n].events) & set(events)}
        chosen.update(range(max(0, len(self._past) - _NEAREST_STEPS), len(self._past)))
        aligned = [self._past[n] for n in sorted(chosen)]
        if not aligned:
            return ()
        found = self._run(
            self._labeler.program.rewrite,
            "references",
            scope=scope,
            earlier_steps=_quoted(aligned),
            step=quote_step(step),
        )
        return self._located(step, found.references)

    def _take(self, step: Step, labels: StepLabels) -> None:
        super()._take(step, labels)
        new = self._unsummarized.setdefault(self._scope, [])
        new.append(_quoted(self._past[-1:]))
        del new[: -2 * SUMMARIZE_EVERY_STEPS]
        self._block.append(quote_step(step, text=self._past[-1].text))
        del self._block[:-MERGE_EVERY_STEPS]

    def _look_after(self) -> None:
        """Upkeep that is due before the next step: the summary of the scope, every 50 steps the vocabularies."""
        try:
            if len(self._unsummarized.get(self._scope, ())) >= SUMMARIZE_EVERY_STEPS:
                self._summarize_scope()
            if self._position >= MERGE_EVERY_STEPS and self._position % MERGE_EVERY_STEPS == 0:
                self._curate()
        except ModelError as error:  # none of this is needed to go on; it is due again later
            self._note_failure(error, steps=0)

    def _summarize_scope(self) -> None:
        told = self._run(
            self._labeler.program.summarize_scope,
            "scope summary",
            scope=self._scope,
            summary_so_far=self._summaries.get(self._scope, ""),
            new_steps="\n".join(self._unsummarized[self._scope]),
        )
        self._summaries[self._scope] = told.summary[:600]
        del self._unsummarized[self._scope]

    def _curate(self) -> None:
        labeler, block = self._labeler, "\n".join(self._block)
        events = self._known(LabelKind.EVENT_TYPE)
        if self._seeded:
            new = self._run(
                labeler.program.extend_events, "event vocabulary", steps=block, known_event_types=events
            ).new_event_types
        else:
            new = self._run(labeler.program.seed_events, "event vocabulary", steps=block).event_types
            entities = self._known(LabelKind.ENTITY_TYPE)  # later each step may add to them
            seed = self._run(
                labeler.program.seed_entities, "entity vocabulary", steps=block, known_entity_types=entities
            ).entity_types
            self._grow(LabelKind.ENTITY_TYPE, seed)
        self._grow(LabelKind.EVENT_TYPE, new)
        self._seeded = True
        self._merge(LabelKind.EVENT_TYPE, labeler.program.merge_events, "event_types")
        self._merge(LabelKind.ENTITY_TYPE, labeler.program.merge_entities, "entity_types")

    def _grow(self, kind: LabelKind, names: Sequence[str]) -> None:
        used, most = self._names.of[kind].counts, MOST_NAMES[kind]
        for name in choose_names(names, list(used), most=most, room=True)[: max(0, most - len(used))]:
            used.setdefault(name, 0)

    def _merge(self, kind: LabelKind, predictor: Any, field: str) -> None:
        known = self._names.of[kind].canonical_counts()
        if len(known) < 2:
            return
        counted = "\n".join(f"{name} ({steps})" for name, steps in known.items())
        for synonym in self._run(predictor, "consolidation", **{field: counted}).synonyms:
            self._names.merge_known(kind, synonym.name, synonym.read_as, position=self._position)


@contextmanager
def _noting(spoiled: list[ReplyError]) -> Iterator[None]:
    """Go on behind a reply that cannot be used."""
    try:
        yield
    except ReplyError as error:
        spoiled.append(error)


def _quoted(past: Sequence[Past]) -> str:
    return "\n".join(quote_past(step, chars=_PAST_CHARS, scope=step.scope) for step in past)

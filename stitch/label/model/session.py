"""The state that both model labelers keep of a trajectory, and the local labels that stand in for theirs."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from time import monotonic
from typing import Any, ClassVar, NamedTuple

import orjson

from stitch.core import (
    ContextualIntent,
    CorrectableSession,
    Labeler,
    LabelInventory,
    LabelKind,
    ReferenceRewrite,
    Step,
    StepLabels,
    annotate_rewrites,
    clean_label,
)
from stitch.errors import BudgetSpentError, ModelError, ModelUnavailableError
from stitch.label.model.gists import Gist
from stitch.label.model.matching import (
    MAX_SCOPE_WORDS,
    choose_names,
    clean_name_of,
    is_no_name,
    locate_references,
    match_name,
)
from stitch.label.model.quoting import cut_at_sentence, quote, shown_text, shown_time
from stitch.label.model.vocabularies import Vocabularies
from stitch.lm import LanguageModel, Purpose
from stitch.signatures import Reference, StepReading
from stitch.signatures.windows import AskingReading
from stitch.text.structured import find_entity_mentions
from stitch.text.words import stems

MOST_NAMES = {LabelKind.EVENT_TYPE: 64, LabelKind.ENTITY_TYPE: 96}
"""Number of names of a kind a trajectory may have; from then on only known ones are used."""
_NAMES_A_STEP = {LabelKind.EVENT_TYPE: 2, LabelKind.ENTITY_TYPE: 6}
ASKS_A_STEP, WORDS_A_STEP = 2, 6
_REMEMBERED_STEPS = 96
"""More than a window has: a name may stand at its beginning."""
_REMEMBERED_CHARS = 600
_SUMMARY_CHARS = 300
_GIST_CHARS = 260
_SHORT_GIST_CHARS = 130
RECENT_SCOPES = 14
"""How many of the scopes used last a prompt shows."""
ALIKE_SCOPES = 8
"""How many of the others, those that share words with the steps."""
_TOLD_SCOPES = 6
"""Of how many of the last scopes more than the last step is told."""
_NUMBERING = re.compile(r"^>?\s*\(?\d{1,3}[.)]\s+")
"""Of the list of scopes; a name may begin so as well, such as "2. Tag", so it is only taken away from known names."""
_NEW = re.compile(r"^(?:new(?: scope)?|scope|goal)\s*:\s*", re.IGNORECASE)
_CONTEXT_CHARS = 300
_GIVING_UP_AFTER = 2
"""Single steps in succession of which no reply was of use."""

_log = logging.getLogger(__name__)


class Estimate(NamedTuple):
    """Estimated cost of labeling, before any call."""

    calls: int
    prompt_tokens: int
    reply_tokens: int


@dataclass
class Past:
    """An earlier step, as far as it is remembered."""

    step: str | None
    role: str
    text: str
    """With what its references stand for in brackets, cut."""
    scope: str
    events: list[str]
    session: str | None
    time: str = ""
    made_by: str = ""
    summary: str = ""


class ModelSession:
    """The labeling of one trajectory by a model; a local session goes along, and its labels stand in when need be.

    Args:
        name: Who makes the labels.
        model: The model.
        fallback: Makes the labels that the model cannot make, and keeps the inventory.
        trajectory: Its name.
        saved: What `save` returned.
    """

    _extra: ClassVar[tuple[str, ...]] = ()
    """Names of further attributes of a subclass, of JSON values, that are saved."""

    def __init__(
        self, *, name: str, model: LanguageModel, fallback: Labeler, trajectory: str, saved: bytes | None
    ) -> None:
        self._name = name
        self._model = model
        self._trajectory = trajectory
        self._position = 0
        self._scope = ""
        self._gists: dict[str, Gist] = {}
        """All scopes by first mention: prompts number them so."""
        self._past: list[Past] = []
        self._names = Vocabularies(made_by=name)
        self._ours = (name, fallback.name)
        self._note_use()
        self._down = ""
        """Why the model is not asked again during this call of `label`."""
        self._trouble = ""
        """What went wrong last."""
        data: dict[str, Any] = {} if saved is None else orjson.loads(saved)
        self._local = fallback.begin(trajectory, data["local"].encode("latin-1") if data else None)
        if data:
            self._restore(data)

    def label(self, steps: Sequence[Step]) -> list[StepLabels]:
        """Label the next steps. Never raises a `ModelError`: what the model cannot label is labeled locally."""
        self._down = ""
        self._note_use()
        return self._label(list(steps))

    def replay(self, steps: Sequence[Step], labels: Sequence[StepLabels]) -> None:
        """Take in steps whose labels are known, as if `label` had just returned them."""
        self._local.replay(steps, labels)
        for step, known in zip(steps, labels, strict=True):
            self._take(step, known)

    def correct(self, position: int, *, before: tuple[Step, StepLabels], after: tuple[Step, StepLabels]) -> bool:
        """Take in that an earlier step says something else, or has other labels; see `CorrectableSession.correct`."""
        if not isinstance(self._local, CorrectableSession) or not self._local.correct(
            position, before=before, after=after
        ):
            return False
        had, (step, labels) = before[1].intent, after
        has, scope = labels.intent, labels.intent.scope or self._scope
        self._names.recount(old=had, new=has)
        self._keep(labels)
        self._gists.setdefault(scope, Gist())
        for place, past in enumerate(self._past):
            if past.step == step.id:
                self._past[place] = self._remembered(step, labels, scope=scope)
        if position == self._position - 1:
            self._scope = scope
        return True

    def inventory(self) -> LabelInventory:
        """The label space so far, merges applied."""
        inventory = self._local.inventory()
        told = tuple(
            scope.model_copy(update={"summary": gist.text(limit=_GIST_CHARS)})
            if (gist := self._gists.get(scope.name)) is not None and gist.last
            else scope
            for scope in inventory.scopes
        )
        return self._names.apply(inventory.model_copy(update={"scopes": told}))

    def save(self) -> bytes:
        """Everything this session remembers, as JSON."""
        return orjson.dumps(
            {
                "local": self._local.save().decode("latin-1"),
                "position": self._position,
                "scope": self._scope,
                "gists": {name: asdict(gist) for name, gist in self._gists.items()},
                "names": self._names.save(),
                "past": [asdict(past) for past in self._past],
                **{name: getattr(self, name) for name in self._extra},
            }
        )

    def _restore(self, data: Mapping[str, Any]) -> None:
        self._position, self._scope = data["position"], data["scope"]
        self._gists = {name: Gist(**gist) for name, gist in data["gists"].items()}
        self._names.restore(data["names"])
        self._past = [Past(**past) for past in data["past"]]
        for name in self._extra:
            if name in data:  # what was saved before there was such a thing lacks it
                setattr(self, name, data[name])

    def _label(self, steps: list[Step]) -> list[StepLabels]:
        raise NotImplementedError

    def _label_locally(self, steps: Sequence[Step]) -> list[StepLabels]:
        told = {"reason": self._down or self._trouble}
        labels = [made.model_copy(update=told) for made in self._local.label(steps)]
        for step, made in zip(steps, labels, strict=True):
            self._take(step, made)
        return labels

    def _note_use(self) -> None:
        """Take note that a reply was of use, or that none was asked for yet."""
        self._failed, self._used_at = 0, monotonic()

    def _note_failure(self, error: ModelError, *, steps: int) -> None:
        """Take note that the model failed; after that `_down` says whether it is to be asked again."""
        self._failed += steps == 1
        self._trouble = error.message
        # Replies of no use are paid for, and waited for: as long as for one that does not come.
        useless = self._failed >= _GIVING_UP_AFTER or monotonic() - self._used_at > self._model.limits.timeout_s
        if useless or isinstance(error, (ModelUnavailableError, BudgetSpentError)):
            self._down = error.message
            _log.warning("local labels stand in for the model's in trajectory %r: %s", self._trajectory, error.message)

    def _made(self, step: Step, said: StepReading, *, references: tuple[ReferenceRewrite, ...]) -> StepLabels:
        """The labels of a step from what a model wrote, taken in."""
        labels = StepLabels(
            intent=self._intent(said, scope=self._scope_of(said.scope)),
            made_by=self._name,
            references=references,
            summary=summary_of(said),
            mentions=find_entity_mentions(step),
            context=self._context(step),
            asks=asks_of(said.asks, said.words) if isinstance(said, AskingReading) else (),
        )
        self._local.replay([step], [labels])
        self._take(step, labels)
        return labels

    def _scope_of(self, value: str) -> str:
        """The scope that a model means; the one before if it gives none, or a sentence that names none."""
        return self._named_scope(value) or self._scope

    def _named_scope(self, value: str) -> str:
        """The scope that a model names; empty if it gives none, or a sentence."""
        name = clean_name_of(value)
        scopes = self._names.of[LabelKind.SCOPE]
        names = [*self._gists, *(merge.alias for merge in scopes.merges)]
        bare = _NEW.sub("", name)
        for said in (name, clean_name_of(value.partition(":")[0]), _NUMBERING.sub("", name), bare):
            if known := match_name(said, names):
                return scopes.canonical(known)
        if is_no_name(name):
            return ""
        return bare if len(bare.split()) <= MAX_SCOPE_WORDS else ""

    def _intent(self, said: StepReading, *, scope: str) -> ContextualIntent:
        events, entities = (
            tuple(self._canonical(kind, names))
            for kind, names in ((LabelKind.EVENT_TYPE, said.events), (LabelKind.ENTITY_TYPE, said.entities))
        )
        return ContextualIntent(scope=scope, event_types=events, entity_types=entities)

    def _canonical(self, kind: LabelKind, values: Iterable[str]) -> list[str]:
        used = self._names.of[kind]
        room = len(used.counts) < MOST_NAMES[kind]
        chosen = choose_names(values, list(used.counts), most=_NAMES_A_STEP[kind], room=room)
        return list(dict.fromkeys(map(used.canonical, chosen)))

    def rename(self, old: str, new: str) -> bool:
        """Read a scope under another name from now on, as a recorded merge; False if it cannot be."""
        done = self._names.rename_scope(old, new, known=self._gists, position=self._position)
        if done is None:
            return False
        alias, into = done
        gist = self._gists[alias]
        if into in self._gists:
            del self._gists[alias]
        else:
            self._gists = {into if name == alias else name: own for name, own in self._gists.items()}
        self._gists[into].used = max(self._gists[into].used, gist.used)
        if self._scope == alias:
            self._scope = into
        for past in self._past:
            if past.scope == alias:
                past.scope = into
        return True

    def _known_scopes(self, steps: Sequence[Step] = ()) -> list[str]:
        """The scopes that a prompt shows, numbered by first mention, each with its gist; the current one is marked.

        These are the scopes used last, and of the others those that share most words with the steps to be labeled, for
        what scrolled away may be taken up again.
        """
        names = self._by_use()
        older, recent = names[:-RECENT_SCOPES], names[-RECENT_SCOPES:]
        asked = set(stems(" ".join(step.content[:_REMEMBERED_CHARS] for step in steps)))
        shared = {name: len(asked & set(stems(self._shown_scope(name, limit=_GIST_CHARS)))) for name in older}
        alike = sorted((name for name in older if shared[name]), key=lambda name: shared[name])[-ALIKE_SCOPES:]
        full, shown = {*alike, *recent[-_TOLD_SCOPES:]}, {*alike, *recent}
        return [
            f"{'> ' * (name == self._scope)}{n}. "
            + self._shown_scope(name, limit=_GIST_CHARS if name in full else _SHORT_GIST_CHARS)
            for n, name in enumerate(self._gists, start=1)
            if name in shown
        ]

    def _by_use(self) -> list[str]:
        """All scopes, the one used last at the end."""
        return sorted(self._gists, key=lambda name: self._gists[name].used)

    def _shown_scope(self, name: str, *, limit: int) -> str:
        gist = self._gists[name].text(limit=limit)
        return f"{name}: {gist}" if gist else name

    def _context(self, step: Step) -> str:
        """The question before, if this step may be its answer: without it, a bare answer cannot be found."""
        past = self._past[-1] if self._past else None
        if past is None or past.session != step.session or past.role == step.role or "?" not in past.text[-120:]:
            return ""
        return past.text[-_CONTEXT_CHARS:]

    def _take(self, step: Step, labels: StepLabels) -> None:
        intent = labels.intent
        scope = self._scope = intent.scope or self._scope
        if scope:
            self._gists.setdefault(scope, Gist()).note(labels.summary, intent.event_types, position=self._position)
        self._names.count(intent, position=self._position)
        self._keep(labels)
        self._past.append(self._remembered(step, labels, scope=scope))
        del self._past[:-_REMEMBERED_STEPS]
        self._position += 1

    def _keep(self, labels: StepLabels) -> None:
        """Keep labels that a person or another model gave: they are neither merged nor renamed here."""
        if labels.made_by not in self._ours:
            self._names.keep(labels.intent)

    def _remembered(self, step: Step, labels: StepLabels, *, scope: str) -> Past:
        resolved = step.model_copy(update={"content": annotate_rewrites(step.content, labels.references)})
        text = shown_text(resolved, limit=_REMEMBERED_CHARS)
        events = list(labels.intent.event_types)
        time, summary = shown_time(step), labels.summary
        return Past(step.id, step.role, text, scope, events, step.session, time, labels.made_by, summary)

    def _located(self, step: Step, references: Iterable[Reference]) -> tuple[ReferenceRewrite, ...]:
        """Place resolved references in a step; those left out, and why, are in the ledger."""
        rejected: Counter[str] = Counter()
        pairs = [(reference.phrase, reference.means) for reference in references]
        found = locate_references(step.content, pairs, earlier=self._earlier(), rejected=rejected)
        if rejected:
            self._model.note_use(Purpose("references", self._trajectory, self._position), rejected=rejected)
        return found

    def _earlier(self) -> list[tuple[str | None, str]]:
        """Earlier texts that are still remembered: the gists of scopes first, then the steps."""
        told = [(None, self._shown_scope(name, limit=_GIST_CHARS)) for name in self._gists]
        return [*told, *((past.step, past.text) for past in self._past)]


def quote_past(past: Past, *, chars: int, scope: str | int, n: int | None = None) -> str:
    """An earlier step as a prompt shows it: by its summary; with its number if a reply may name it."""
    number = {} if n is None else {"n": n}
    text = past.summary or cut_at_sentence(past.text, limit=chars)
    return quote({**number, "role": past.role, "scope": scope, "text": text})


def summary_of(said: StepReading) -> str:
    """The summary of a step, fit to be shown again."""
    return cut_at_sentence(clean_label_text(said.summary), limit=_SUMMARY_CHARS)


def asks_of(asks: Iterable[str], words: Iterable[str]) -> tuple[str, ...]:
    """The questions that a step answers and the words that it is looked for by, cleaned; none said twice."""
    said = [*islice(asks, ASKS_A_STEP), *islice(words, WORDS_A_STEP)]
    return tuple(dict.fromkeys(filter(None, map(clean_label_text, said))))


def clean_label_text(text: str) -> str:
    """A sentence of a model, fit to be shown again: markup and control characters removed."""
    return " ".join(filter(None, (clean_label(part) for part in text.split())))

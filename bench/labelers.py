"""Labels and filters of the benchmark: by name, from files in the place of a model, and gold.

`--labels FILE[,FILE]` are files of written labels (`stitch.label.model.written`), `--filters FILE` of `WrittenFilter`s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from stitch.bench.data.types import GoldLabels, Inquiry, Question, StepGold
from stitch.core import (
    ContextualIntent,
    IntentFilter,
    Labeler,
    LabelInventory,
    LabelKind,
    LabelSession,
    LabelVocabulary,
    Step,
    StepLabels,
)
from stitch.errors import InputError, ReplyError

if TYPE_CHECKING:
    from stitch.memory import Memory

LABELERS = ("local", "model")
FilterChoice = Callable[["Memory", Inquiry], "IntentFilter | None"]
"""The labels to search by; None leaves the choice to the memory."""


def labeler_named(name: str) -> Labeler:
    """The labeler of this name, or of files of written labels, separated by commas.

    Raises:
        SettingsError: It needs a model and settings name none.
        InputError: A file is not there, or not in the format.
    """
    from stitch.label.local import LocalLabeler
    from stitch.label.model.written import WrittenLabeler, read_written
    from stitch.parts import labeler_for

    if name in LABELERS:
        return labeler_for(labels=name)
    lines = [line for file in name.split(",") for line in _lines(Path(file))]
    try:
        return WrittenLabeler(read_written(lines), fallback=LocalLabeler())
    except ReplyError as error:
        raise InputError(f"labels of {name!r}: {error.message}", hint="one JSON object a line") from error


class WrittenFilter(BaseModel):
    """The labels that were chosen for one question: a line of a file of filters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str
    trajectory: str = ""
    scopes: tuple[str, ...] = ()
    event_types: tuple[str, ...] = ()
    entity_types: tuple[str, ...] = ()


def read_filters(file: Path, *, asked: Iterable[Question] = ()) -> dict[str, IntentFilter]:
    """The filters of a file, by question; each of those that are asked has to have one.

    Raises:
        InputError: It is not there, a line of it is not in the format, or a question has none.
    """
    try:
        read = [WrittenFilter.model_validate_json(line) for line in _lines(file)]
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InputError(f"filters of {str(file)!r}: {first['msg'].lower()}", hint="one JSON object a line") from error
    filters = {each.question: IntentFilter(**each.model_dump(exclude={"question", "trajectory"})) for each in read}
    if missing := [question.id for question in asked if question.id not in filters]:
        raise InputError(f"no filter for question {missing[0]!r}", hint='a line a question: {"question": ID, ...}')
    return filters


def as_written(filters: Mapping[str, IntentFilter]) -> FilterChoice:
    """Choose the labels that were written for each question."""
    return lambda memory, inquiry: filters[inquiry.id]


def _lines(file: Path) -> list[bytes]:
    try:
        return [line for line in file.read_bytes().splitlines() if line.strip()]
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot read {str(file)!r}: {reason}", hint="name `local`, `model`, or files") from error


class _Session:
    """A session that goes on as another one does."""

    def __init__(self, session: LabelSession) -> None:
        self._session = session

    def replay(self, steps: Sequence[Step], labels: Sequence[StepLabels]) -> None:
        self._session.replay(steps, labels)

    def inventory(self) -> LabelInventory:
        return self._session.inventory()

    def save(self) -> bytes:
        return self._session.save()


class GoldLabeler:
    """Gives every step its gold labels: the ceiling of what labels can do. A step without gold gets none."""

    name = "gold"

    def __init__(self, gold: Mapping[str, StepGold]) -> None:
        self._gold = gold

    def begin(self, trajectory: str, saved: bytes | None = None) -> LabelSession:
        """Start labeling a trajectory, or continue from what a session saved; the label space is kept as of others."""
        from stitch.label.local import LocalLabeler

        return _GoldSession(self._gold.get(trajectory, {}), LocalLabeler().begin(trajectory, saved))


class _GoldSession(_Session):
    def __init__(self, gold: StepGold, session: LabelSession) -> None:
        super().__init__(session)
        self._gold = gold

    def label(self, steps: Sequence[Step]) -> list[StepLabels]:
        intents = (gold_intent(self._gold.get(str(step.id), GoldLabels())) for step in steps)
        labels = [StepLabels(intent=intent, made_by="gold") for intent in intents]
        self.replay(steps, labels)
        return labels


class Without:
    """A labeler whose labels of some kinds are left out: what a memory has without them."""

    def __init__(self, kinds: frozenset[LabelKind], labeler: Labeler) -> None:
        self.name = f"{labeler.name} without {', '.join(sorted(kind.value for kind in kinds))}"
        self._kinds, self._labeler = kinds, labeler

    def begin(self, trajectory: str, saved: bytes | None = None) -> LabelSession:
        """Start labeling a trajectory, or continue from what a session saved."""
        return _SessionWithout(self._kinds, self._labeler.begin(trajectory, saved), made_by=self.name)


class _SessionWithout(_Session):
    def __init__(self, kinds: frozenset[LabelKind], session: LabelSession, *, made_by: str) -> None:
        super().__init__(session)
        self._made_by = made_by
        self._none = {_FIELDS[kind]: None if kind is LabelKind.SCOPE else () for kind in kinds}
        self._none_of: dict[str, object] = {
            _INVENTORY[kind]: () if kind is LabelKind.SCOPE else {} for kind in kinds if kind in _INVENTORY
        }

    def label(self, steps: Sequence[Step]) -> list[StepLabels]:
        return [
            own.model_copy(update={"intent": own.intent.model_copy(update=self._none), "made_by": self._made_by})
            for own in self._session.label(steps)
        ]

    def inventory(self) -> LabelInventory:
        return super().inventory().model_copy(update=self._none_of)


_INVENTORY = {LabelKind.SCOPE: "scopes", LabelKind.EVENT_TYPE: "event_types", LabelKind.ENTITY_TYPE: "entity_types"}
_FIELDS = {**_INVENTORY, LabelKind.SCOPE: "scope", LabelKind.TARGET: "targets"}
"""Where labels of a kind stand, in an inventory and in an intent."""


def canonical_intent(intent: ContextualIntent, *, vocabulary: LabelVocabulary) -> ContextualIntent:
    """An intent with the names into which its labels were merged."""
    return ContextualIntent(
        scope=vocabulary.canonical(LabelKind.SCOPE, intent.scope) if intent.scope else None,
        event_types=tuple(vocabulary.canonical(LabelKind.EVENT_TYPE, value) for value in intent.event_types),
        entity_types=tuple(vocabulary.canonical(LabelKind.ENTITY_TYPE, value) for value in intent.entity_types),
    )


def gold_intent(gold: GoldLabels) -> ContextualIntent:
    """Gold labels as a step carries them; several gold scopes are one."""
    return ContextualIntent(**{**asdict(gold), "scope": " + ".join(gold.scope) or None})


def gold_filter(question: Question, gold: StepGold) -> IntentFilter:
    """The labels a question asks for, by gold: its own where it has some, else all of its evidence steps."""
    own = [question.labels] if question.labels else [gold[step] for step in question.evidence if step in gold]
    intents = [gold_intent(labels) for labels in own]
    return IntentFilter(
        scopes=tuple(intent.scope for intent in intents if intent.scope),
        **{
            name: tuple(value for intent in intents for value in getattr(intent, name))
            for name in ("event_types", "entity_types", "targets")
        },
    )

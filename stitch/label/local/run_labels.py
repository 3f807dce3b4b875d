"""What steps of a run did (§2.2.2) and which kinds of things they name (§2.2.3), from their structure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stitch.core.intent import GOAL_OPENED, INSTRUCTS
from stitch.core.snippets import EntityMention
from stitch.core.steps import Step
from stitch.label.local.outcomes import BAD_OUTCOMES, outcome_of_step
from stitch.label.local.turns import CALLS, RESULT, SETUP, Turn
from stitch.text.structured import in_words, structured
from stitch.text.values import MAX_MENTIONS, MAX_VALUE_CHARS, FoundMention
from stitch.text.words import word_set

MOST_ACTS = 2

_KIND_OF = {
    "path": "path", "file": "path", "url": "url", "email": "email", "function": "function", "exception": "exception",
    "name": "code name", "key": "identifier",
}  # fmt: skip
"""Key entity types of identifiers; bare numbers license nothing."""


def acts_in_run(turn: Turn, *, step: Step, after: str, opens: bool, setup: bool) -> list[str]:
    """The event types of a step of a run whose words need not be read; empty for words.

    `after` is what the last call of its goal did.
    """
    if turn.kind == SETUP or setup:
        return [INSTRUCTS]
    if turn.kind == RESULT:
        outcome = outcome_of_step(step, act=after)
        return [outcome, "report error" if outcome in BAD_OUTCOMES else "report result"]
    if turn.kind == CALLS:
        acts = list(dict.fromkeys(act.act for act in turn.acts))[:MOST_ACTS]
        name = in_words(turn.tool)
        return [*acts, *([name] if name and name not in acts else [])]
    return [GOAL_OPENED] if opens else []


def kinds_in_run(step: Step, turn: Turn, *, values: Sequence[FoundMention]) -> tuple[list[str], list[EntityMention]]:
    """The key entity types that a step of a run names, with what it names of each."""
    if turn.kind == SETUP:
        return [], []
    mentions = dict.fromkeys(_keyed(step, turn))
    keyed = {value for _, value in mentions}
    identifiers = [one for one in turn.found if one.kind in _KIND_OF and one.value not in keyed]
    mentions.update(dict.fromkeys([(_KIND_OF[one.kind], one.value) for one in identifiers]))
    mentions.update(dict.fromkeys([(one.entity_type, one.value) for one in values if one.entity_type in _OF_WORDS]))
    types = dict.fromkeys([kind for kind, _ in mentions])
    return list(types), [EntityMention(entity_type=kind, value=value) for kind, value in list(mentions)[:MAX_MENTIONS]]


def _keyed(step: Step, turn: Turn) -> Iterator[tuple[str, str]]:
    """What stands under keys of arguments and results, with the kind that the key tells."""
    named = [pair for call in step.tool_calls for pair in call.arguments.items()]
    if turn.kind == RESULT and step.content[:1] in ("{", "["):
        named += structured(step).results
    for key, value in named:
        kind = key_kind(key)
        if kind and isinstance(value, str | int | float) and 0 < len(str(value)) <= MAX_VALUE_CHARS:
            yield kind, str(value)


_OF_WORDS = word_set(
    """
    price date time person place phone address percentage email rating
    """
)
_TELLING_KEYS = word_set(
    """
    id ids date time price amount cost total quantity count name number email address phone city country
    status reason path file url query branch commit user customer account order reservation origin
    destination payment method size color category product item version host port
    """
)
_KEY_KINDS = {
    "id": "identifier", "ids": "identifier", "file": "path", "filename": "path", "path": "path", "file path": "path",
    "cost": "price", "total": "price",
}  # fmt: skip


def key_kind(key: str) -> str:
    """The class of values that the name of an argument tells; empty if it tells none."""
    name = in_words(key)
    if name in _KEY_KINDS:
        return _KEY_KINDS[name]
    parts = name.split()
    if not parts or len(parts) > 3 or not (parts[-1] in _TELLING_KEYS or parts[-1].rstrip("s") in _TELLING_KEYS):
        return ""
    return name[:-1] if name.endswith("ids") else name

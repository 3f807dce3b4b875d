"""Values that no longer hold: a later step tells the same field of the same thing otherwise.

Only what programs write is read (`links.facts`), and only what tells how a thing stands: the result of a look at it, of
a change to it, and the arguments of a change that went well. What was found among others ("flights on May 20") is
compared with the same search alone, and what two payments say of themselves is not compared at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from stitch.core import MemorySnippet, SupersededValue
from stitch.retrieve.kinds import changes, failed
from stitch.retrieve.links.calls import Answered, answered, in_order
from stitch.retrieve.links.facts import CallWritten, Fact, facts_in, facts_of_arguments, named_by
from stitch.text.structured import in_words
from stitch.text.words import word_set

_OF_THE_CALL = word_set(
    """
    success ok error errors message messages msg detail details note notes timestamp time now duration elapsed took
    page cursor next previous result results output query hint warning warnings summary reason description
    """
)
"""Fields that tell of a call and not of a thing."""
_SAYS_DONE = frozenset(("ok", "success", "succeeded", "error", "done", "true", "yes"))
"""What a field called status says of a call."""
_SETTING = frozenset(("edit", "write", "cancel"))
"""Acts that leave a thing as they say; paying or sending twice are two events."""


class _Telling(NamedTuple):
    position: int
    snippet: MemorySnippet
    told: Fact
    change: str
    """The tool and the things of a change that leaves a thing as it says; of other changes what none equals."""
    looks: bool
    """Whether it looks at the thing, and changes nothing."""


def superseded(snippets: Sequence[MemorySnippet], *, of: Collection[str]) -> dict[str, tuple[SupersededValue, ...]]:
    """Superseded values of those snippets whose ids `of` has, by id, each with the value that was told last.

    The more of a trajectory is there, the more is found.
    """
    found: dict[str, list[SupersededValue]] = defaultdict(list)
    for steps in in_order(snippets):
        tellings: dict[tuple[tuple[str, ...], str], list[_Telling]] = defaultdict(list)
        for telling in _tellings(list(_bearing_on(list(answered(steps)), of))):
            tellings[telling.told.thing, telling.told.field].append(telling)
        for group in tellings.values():
            for each, last in _told_otherwise(group):
                if each.snippet.id in of:
                    found[each.snippet.id].append(_as_superseded(each, last))
    return {name: tuple(values) for name, values in found.items()}


def _as_superseded(each: _Telling, last: _Telling) -> SupersededValue:
    told = each.told
    return SupersededValue(
        thing=" / ".join(part for part in told.thing if not any(sign in part for sign in "=(")),
        field=told.field,
        value=told.value,
        now=last.told.value,
        step=last.snippet.step,
        position=last.position,
    )


def _bearing_on(exchanges: Sequence[Answered], of: Collection[str]) -> Iterator[Answered]:
    """The exchanges that may tell of the same things as those that are asked about: to read all takes far longer."""
    asked = [each for each in exchanges if each.result.id in of or each.call_step.id in of]
    things = {telling.told.thing[0].partition("(")[0] for telling in _tellings(asked)}
    kept = {id(each) for each in asked}
    for each in exchanges if things else ():
        if id(each) in kept or any(
            thing in text for text in (each.call_step.text.lower(), each.result.text.lower()) for thing in things
        ):
            yield each


def _told_otherwise(group: Sequence[_Telling]) -> Iterator[tuple[_Telling, _Telling]]:
    """Each telling of one field with the last one that can be compared with it, where the two differ."""
    for at, each in enumerate(group):
        later = (other for other in reversed(group[at + 1 :]) if _compares(each, other))
        last = next(later, None)
        if last is not None and last.told.value.casefold() != each.told.value.casefold():
            yield each, last


def _compares(earlier: _Telling, later: _Telling) -> bool:
    """Whether two tellings are of one state: of two changes neither says how a thing stands, but if one is repeated."""
    return earlier.position < later.position and (earlier.looks or later.looks or earlier.change == later.change)


def _tellings(exchanges: Sequence[Answered]) -> Iterator[_Telling]:
    for number, each in enumerate(exchanges):
        if each.call is None or failed(each.result):
            continue
        call, named = each.call, named_by(each.call.arguments)
        fields = list(_of_the_thing(facts_in(each.result.text), named[:1]))
        if not changes(each.call_step):
            for told in fields:
                thing = (*told.thing, *_limits(call, told.thing[:1], named=named))
                yield _Telling(each.result.position, each.result, told._replace(thing=thing), change="", looks=True)
            continue
        sets = not _SETTING.isdisjoint(each.call_step.intent.event_types)
        change = f"{call.name} {' '.join(named)}" if sets else f"{number}"
        told_of = {told.field for told in fields}
        for told in _of_the_thing(facts_of_arguments(call.arguments), named[:1]):
            if told.thing and told.field not in told_of:
                yield _Telling(each.call_step.position, each.call_step, told, change=f"{number}", looks=False)
        for told in fields:
            if told.thing:
                thing = told.thing if told.thing[0] in named or not named else (named[0], *told.thing)
                yield _Telling(
                    each.result.position, each.result, told._replace(thing=thing), change=change, looks=False
                )


def _of_the_thing(fields: Iterable[Fact], named: tuple[str, ...]) -> Iterator[Fact]:
    """Fields that tell how a thing stands; what names none is told of the one that the call names."""
    for told in fields:
        last = told.field.split()[-1]
        if last in _OF_THE_CALL or (last == "status" and told.value.casefold() in _SAYS_DONE):
            continue
        yield told if told.thing else told._replace(thing=named)


def _limits(call: CallWritten, thing: tuple[str, ...], *, named: Sequence[str]) -> tuple[str, ...]:
    """Restrictions of a look beyond its thing, a date or a page; all of the call where it names another thing."""
    if not thing or (call.arguments and thing[0] not in named):
        return (f"{call.name}({sorted(call.arguments.items())})",)
    return tuple(
        f"{in_words(key)}={value}"
        for key, value in sorted(call.arguments.items())
        if str(value).strip().lower() not in named
    )

"""Replaces references by what they stand for (§2.2.3), or leaves them where that is unsure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log
from typing import Any, NamedTuple

from pydantic import JsonValue

from stitch.core import ReferenceRewrite, Step, apply_rewrites
from stitch.label.local.antecedents import (
    IN_PASSING,
    NAMED,
    NAMED_FIRST,
    STOOD_FOR,
    Antecedents,
    NameMention,
    Raised,
    Referent,
    distinct,
    find_names,
    fold_words,
    last_unit,
    ordinal,
    plain,
)
from stitch.label.local.ellipsis import Ask, complete, read_ask
from stitch.label.local.language import FUNCTION_WORDS

MAX_CONTEXT_CHARS = 300
_MIN_CONFIDENCE = 0.5

_PERSON = {"he": "", "she": "", "him": "", "her": "?", "his": "'s", "hers": "'s"}
_GROUP = {"they": "", "them": "", "their": "'s", "theirs": "'s"}
_THING = {"it": "", "its": "'s"}
_PRONOUN = re.compile(r"\b(he|she|him|her|his|hers|they|them|their|theirs|it|its)\b(?![-'’]?self)", re.IGNORECASE)
_EXPLETIVE = re.compile(
    r"it(?:['’]s| is| was| would be| will be| might be| may be)?(?: \w+ly| also| often| always| best| not)? "
    r"(?:worth|important|possible|impossible|necessary|recommended|essential|clear|true|hard|easy|difficult|likely|time|"
    r"raining|snowing|depends|seems that|appears that|turns out|doesn['’]t matter|does not matter|matters|takes)\b",
    re.IGNORECASE,
)
_EXPLETIVE_TO = re.compile(r"it(?:['’]s| is| was| would be) (?:\w+ ){1,2}(?:to|that|if) ", re.IGNORECASE)
_ORDINAL = r"first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\d{1,3}(?:st|nd|rd|th)|last|latter|former"
_ORDINAL_PHRASE = re.compile(
    rf"\b(?:the )+(?P<ordinal>{_ORDINAL})"
    r"(?P<head> one\b| [a-z]+(?= (?:that |which )?(?:I|we|you|he|she|they) )|)"
    r"(?P<raised> (?:that |which )?(?P<who>I|we|you|he|she|they) (?:have |had |just |already |previously )*"
    r"(?:raised|mentioned|proposed|suggested|said|named|listed|gave|recommended|discussed|offered|talked about|"
    r"brought up|considered|asked about|looked at)(?: (?:before|earlier|previously|above|already))*)?"
    r"(?P<frame>(?:,? +(?:as|for|of|in|on)\b[^,.?!;\n]*?(?=\b(?:and|or|but) the\b|[,.?!;\n]|$))?)",
    re.IGNORECASE,
)
_OF_UNIT = re.compile(r"(?:\b(?:of|in|on|for) +)?(?:the +)?\b[A-Za-z]+ ?#? ?\d+(?: ?['’]s +\w+)?")
_SLOT = re.compile(
    r"\b(?:for|as) (?:the |our |my |an? )?([a-z]{3,})(?= (?:is|are|could|would|might|may|can)\b|[.,;?!]|$)"
)
_HEADING_ROLES = frozenset({"system", "title", "topic", "heading"})


class Resolution(NamedTuple):
    """What the references of a step stand for."""

    references: tuple[ReferenceRewrite, ...]
    """Replacements in the step's content, by position, not overlapping."""
    context: str
    """Words of earlier steps without which this one cannot be found; at most `MAX_CONTEXT_CHARS` characters."""


class ReferenceResolver:
    """Reads the steps of one trajectory in order and resolves each against what came before.

    A replacement is made only where one antecedent clearly stands out; otherwise the text stays as it is.
    Deterministic; what it remembers is bounded.
    """

    def __init__(self) -> None:
        self._known = Antecedents()
        self._ask: Ask | None = None
        self._topic: list[str] = []

    def resolve(self, step: Step, *, scope: str) -> Resolution:
        """Return what the step's references stand for, and remember the step.

        Args:
            step: The next step of the trajectory.
            scope: Its thematic scope.
        """
        text = plain(step.content)
        known = self._known
        known.clock += 1
        if step.role.lower() in _HEADING_ROLES and known.clock == 1 and _is_heading(text):
            self._take_heading(step, text)
            return Resolution((), "")
        names = find_names(text)
        unit = last_unit(text)
        rewrites = self._resolve_ordinals(step, text, scope)
        taken = [(rewrite.start, rewrite.end) for rewrite in rewrites]
        pronouns = self._resolve_pronouns(step, text, names, taken)
        rewrites += pronouns
        if len(text) < 400:
            focus = self._focus()
            rewrites += complete(text, rewrites=rewrites, names=names, ask=self._answered(step), focus=focus)
        rewrites.sort(key=lambda rewrite: rewrite.start)
        references = tuple(rewrites)
        resolved = apply_rewrites(text, references)
        context = self._context(step, resolved)
        self._remember(step, scope=scope, unit=unit, names=names, references=references, resolved=resolved)
        return Resolution(references, context)

    def save(self) -> dict[str, JsonValue]:
        """Return everything remembered, as JSON values."""
        return {
            "known": self._known.save(),
            "ask": list(self._ask) if self._ask else None,
            "topic": list(self._topic),
        }

    @classmethod
    def load(cls, data: dict[str, Any]) -> ReferenceResolver:
        """Continue from what `save` returned."""
        resolver = cls()
        resolver._known = Antecedents.load(data["known"])
        resolver._ask = Ask(*data["ask"]) if data["ask"] else None
        resolver._topic = list(data["topic"])
        return resolver

    def _take_heading(self, step: Step, text: str) -> None:
        parts = [part.strip() for part in re.split(r" [/|>–—-] ", text.strip()) if part.strip()]
        for weight, part in zip((1.5, 0.2), parts, strict=False):
            self._known.mention(part, weight, step=step.id, heading=weight > 1)

    def _focus(self) -> Referent | None:
        """The one thing that is spoken of, if one stands out."""
        ranked = self._known.rank()[:2]
        if not ranked or ranked[0][0] < 0.3:
            return None
        if len(ranked) > 1 and ranked[1][0] > 0.95 * ranked[0][0]:
            return None
        return ranked[0][1]

    def _answered(self, step: Step) -> Ask | None:
        return self._ask if self._ask is not None and self._ask.role != step.role else None

    def _resolve_pronouns(
        self, step: Step, text: str, names: Sequence[NameMention], taken: Sequence[tuple[int, int]]
    ) -> list[ReferenceRewrite]:
        rewrites: list[ReferenceRewrite] = []
        ranked: list[tuple[float, Referent]] | None = None
        first_name = min([mention.start for mention in names] + [start for start, _ in taken], default=len(text))
        done: set[str] = set()
        for match in _PRONOUN.finditer(text):
            word = match.group().lower()
            kind = "person" if word in _PERSON else "group" if word in _GROUP else "thing"
            if match.start() > first_name or kind in done:
                # The antecedent most likely stands in the step itself, and makes it findable.
                break
            if any(start <= match.start() < end for start, end in taken):
                continue
            if word == "it" and (_EXPLETIVE.match(text, match.start()) or _EXPLETIVE_TO.match(text, match.start())):
                continue
            if ranked is None:
                ranked = self._known.rank()
            best = _choose(ranked, kind)
            if best is None or best[1] < _MIN_CONFIDENCE:
                continue
            referent, confidence = best
            ending = {**_PERSON, **_GROUP, **_THING}[word]
            if ending == "?":
                ending = "'s" if _owns(text, match.end()) else ""
            end = match.end()
            replacement = referent.name
            following = text[end : end + 3].lower()
            if not ending and following.startswith(("'re", "’re", "'ve", "’ve")):
                continue
            if ending and replacement.lower().endswith(("'s", "’s")):
                ending = ""
            rewrites.append(
                ReferenceRewrite(
                    start=match.start(),
                    end=end,
                    replacement=replacement + ending,
                    antecedent=referent.step,
                    confidence=round(confidence, 3),
                )
            )
            done.add(kind)
            referent.pronouns[kind] = referent.pronouns.get(kind, 0) + 1
        return rewrites

    def _resolve_ordinals(self, step: Step, text: str, scope: str) -> list[ReferenceRewrite]:
        rewrites = []
        for match in _ORDINAL_PHRASE.finditer(text):
            if (
                not match["raised"]
                and match["head"].strip().lower() != "one"
                and match["ordinal"].lower() not in ("latter", "former")
            ):
                continue
            found = self._nth(step, match, scope)
            if found is None:
                continue
            name, antecedent, confidence = found
            end = match.start("frame")
            rewrites.append(
                ReferenceRewrite(
                    start=match.start(), end=end, replacement=name, antecedent=antecedent, confidence=confidence
                )
            )
        return rewrites

    def _nth(self, step: Step, match: re.Match[str], scope: str) -> tuple[str, str | None, float] | None:
        word = match["ordinal"].lower()
        if not match["raised"]:
            listed = self._known.listed
            index = {"latter": 1, "former": 0}.get(word)
            if index is None:
                number = ordinal(word) or 0
                index = number - 1 if number > 0 else len(listed) - 1
            if len(listed) < 2 or not 0 <= index < len(listed):
                return None
            referent = self._known.find(listed[index])
            return listed[index], referent.step if referent else None, 0.8
        number = ordinal(word) or (2 if word == "latter" else 1)
        items = self._candidates(step, match, scope, number)
        index = number - 1 if number > 0 else len(items) - 1
        if not 0 <= index < len(items):
            return None
        item = items[index]
        return item.name, item.step, 0.9

    def _candidates(self, step: Step, match: re.Match[str], scope: str, count: int) -> list[Raised]:
        """The raised things among which the phrase counts, in the order they were raised."""
        who = match["who"].lower()
        items = [item for item in self._known.raised if (who == "we") or (item.by == step.role) == (who == "i")]
        frame = match["frame"]
        unit = last_unit(frame)
        if unit:
            items = [item for item in items if item.unit == unit or unit in item.scope.lower()]
        else:
            items = [item for item in items if item.scope == scope]
        said = [word for word in fold_words(frame) if word not in FUNCTION_WORDS]
        named = {item.slot for item in items if item.slot in said}
        if named:
            fitting = [item for item in items if item.slot in named or (not item.slot and named & set(item.words))]
            return _claim(fitting, min(named))
        slot = [word for word in fold_words(_OF_UNIT.sub(" ", frame)) if word not in FUNCTION_WORDS]
        fits = [sum(word in item.words for word in slot) for item in items]
        if fits and max(fits) > 0:
            fitting = [item for item, fit in zip(items, fits, strict=True) if fit == max(fits)]
            return _claim(fitting, slot[-1])
        head = [word for word in fold_words(match["head"]) if word not in FUNCTION_WORDS]
        sure = [item for item in items if head and head[-1] in [*item.words, *fold_words(item.name)]]
        return _extend(sure, items, count) if sure else items

    def _context(self, step: Step, resolved: str) -> str:
        parts = []
        ask = self._answered(step)
        if ask is not None:
            parts.append(ask.text)
        text = resolved.lower()
        said = " ".join(parts).lower()
        parts += [name for name in self._topic if name.lower() not in text and name.lower() not in said]
        return " ".join(parts)[:MAX_CONTEXT_CHARS]

    def _remember(
        self,
        step: Step,
        *,
        scope: str,
        unit: str,
        names: Sequence[NameMention],
        references: Sequence[ReferenceRewrite],
        resolved: str,
    ) -> None:
        known = self._known
        if unit:
            known.unit = unit
        stood_for = [rewrite for rewrite in references if rewrite.start < rewrite.end]
        for rewrite in stood_for:
            name = rewrite.replacement.removesuffix("'s")
            known.mention(name, STOOD_FOR, step=step.id)
        words = fold_words(step.content[:600])
        slotted = _SLOT.search(step.content[:600])
        slot = slotted.group(1).lower() if slotted else ""
        alone = len({mention.text for mention in names}) == 1
        for mention in names:
            weight = NAMED_FIRST if mention.leads or alone else NAMED
            if stood_for:
                weight *= IN_PASSING
            referent = known.mention(mention.text, weight, step=step.id)
            known.raise_name(referent.name, by=step.role, scope=scope, step=step.id, words=words, slot=slot)
        if alone and known.raised and known.raised[-1].step == step.id:
            known.followed = len(known.raised) - 1
        else:
            known.answer(words, by=step.role)
        ordered = sorted(
            [(mention.start, mention.text) for mention in names] + [(r.start, r.replacement) for r in stood_for]
        )
        listed = distinct(name for _, name in ordered)
        if len(listed) > 1:
            known.listed = listed
        ask = read_ask(resolved, role=step.role)
        if ask is not None:
            self._ask = ask
            named = listed or self._topic
            self._topic = named[:3]
        elif self._ask is None or self._ask.role == step.role:
            self._topic = listed[:3] or self._topic


def _is_heading(text: str) -> bool:
    return len(text) < 200 and "\n" not in text.strip() and not text.rstrip().endswith((".", "?", "!"))


def _choose(ranked: Sequence[tuple[float, Referent]], kind: str) -> tuple[Referent, float] | None:
    """The strongest referent that the pronoun may stand for, with how clearly it stands out."""
    fitting = []
    for strength, referent in ranked:
        uses = referent.pronouns
        if kind == "thing" and uses.get("person"):
            continue
        if kind == "person" and uses.get("thing"):
            continue
        fitting.append((strength, referent))
    if not fitting:
        return None
    best = fitting[0]
    rest = fitting[1][0] if len(fitting) > 1 else 0.0
    return best[1], best[0] / (best[0] + rest) if best[0] > 0 else 0.0


def _owns(text: str, end: int) -> bool:
    """Whether the pronoun that ends here stands before the thing it owns ("her album", not "with her in")."""
    following = re.match(r" ([A-Za-z][\w'’-]*)", text[end : end + 40])
    return following is not None and following.group(1).lower() not in FUNCTION_WORDS


def _claim(items: list[Raised], slot: str) -> list[Raised]:
    """Remember that a phrase counted these things for the slot, and return them."""
    for item in items:
        item.slot = item.slot or slot
    return items


def _extend(sure: list[Raised], items: Sequence[Raised], count: int) -> list[Raised]:
    """`sure`, extended to `count` by the items that are spoken of most like them, in the order they were raised."""
    missing = count - len(sure)
    if missing <= 0:
        return sure
    common = Counter(word for item in items for word in {*item.words, *item.about})
    model = {word for item in sure for word in (*item.words, *item.about)}
    others = [item for item in items if item not in sure]
    others = [item for item in others if not item.slot] or others

    def likeness(item: Raised) -> float:
        bag = {*item.words, *item.about}
        shared = sum(log(len(items) / common[word]) for word in sorted(bag & model))
        return shared / (1.0 + sum(log(len(items) / common[word]) for word in sorted(bag)))

    closest = sorted(others, key=lambda item: -likeness(item))[:missing]
    return [item for item in items if item in sure or item in closest]


def rewrite_utterance(history: Sequence[Step], utterance: Step | str) -> str:
    """Return the utterance with its references replaced, as read after the history."""
    resolver = ReferenceResolver()
    for step in history:
        resolver.resolve(step, scope="")
    step = utterance if isinstance(utterance, Step) else Step(role="user", content=utterance)
    return apply_rewrites(step.content, resolver.resolve(step, scope="").references)

"""One step, taken apart once for scopes, names, event types and entity types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from stitch.core.steps import Step
from stitch.label.local.calls import MadeCall, calls_of, written_calls
from stitch.text.dates import seconds_of
from stitch.text.identifiers import Identifier, handles, identifiers
from stitch.text.languages import carrying, is_foreign, language_of, stem_in, words_in
from stitch.text.sentences import SentenceForm, form_by_mark, sentence_form, sentence_spans
from stitch.text.structured import StructuredContent, structured
from stitch.text.values import SHAPES, FoundMention, find_mentions, value_keys
from stitch.text.words import fold_case, word_set

INSTRUCTIONS, CALL, RESULT, NOTICE, WORDS = "instructions", "call", "result", "notice", "words"
"""Kinds of steps. A notice is a line of the medium itself: "=== ann has joined"."""

HEAD_CHARS, TAIL_CHARS = 1_200, 300
"""So much is read of the beginning and of the end of a long step."""
_SENTENCES = 24
_OPENING_WORDS, _OPENING_CHARS = 6, 40
_BEGINNING_CHARS, _BESIDE_CHARS = 300, 400
_INSTRUCTIONS_CHARS = 60
_LATER_INSTRUCTIONS_CHARS = 300
_TOOL_ROLES = word_set("tool tools function environment observation api ipython execution executor terminal shell")
_INSTRUCTING_ROLES = word_set("system developer")
_USER_ROLES = word_set("user human customer client")
_NOTICE = re.compile(r"(?:===|\*\*\*|-!-|-->|<--) \S[^\n]{,300}$")
_RESULT_OPENS = re.compile(
    r"\s*(?:<returncode>|exit ?code: -?\d|OBSERVATION\s*:|Observation\s*\d*:|<observation>|<output>|\[File: )"
)
_MOST_SPEAKERS, _MOST_OPENINGS = 256, 64
_NICK = re.compile(r"[^\s:,;]+")


@dataclass(frozen=True)
class Before:
    """State of a trajectory before a step."""

    kind: str = ""
    """Of the last step; empty if there is none."""
    role: str = ""
    in_words: bool = False
    """Whether the last step is a call that stands in its words: whoever speaks next may tell its result."""
    has_fields: bool = False
    """Whether calls and results are fields of their steps."""
    instructed: bool = False
    """Whether an agent was given instructions: then code in a fence is what it does."""
    language: str | None = None
    speakers: tuple[str, ...] = ()
    """The roles that have spoken, folded."""
    openings: tuple[str, ...] = ()
    """How instructions began."""

    def after(self, reading: StepFeatures) -> Before:
        """The state after a step."""
        step, role = reading.step, reading.role
        fields = bool(step.tool_calls) or step.tool_name is not None
        instructs = reading.kind == INSTRUCTIONS
        is_known = reading.kind == NOTICE or role in self.speakers
        begun = instructs and reading.opening not in self.openings
        return Before(
            kind=reading.kind,
            role=role,
            in_words=reading.kind == CALL and not fields,
            has_fields=self.has_fields or fields,
            instructed=self.instructed or instructs,
            language=reading.language,
            speakers=self.speakers if is_known else (*self.speakers, role)[-_MOST_SPEAKERS:],
            openings=(*self.openings, reading.opening)[-_MOST_OPENINGS:] if begun else self.openings,
        )


@dataclass(frozen=True, kw_only=True)
class StepFeatures:
    """Features of a step for labeling."""

    step: Step
    kind: str
    role: str
    """Folded."""
    text: str
    """What is read: the words, the arguments of calls, the values of a result; of a long step the beginning and end."""
    lowered: str
    said: str
    """Its words alone: those of the text, or what stands beside a call."""
    calls: tuple[MadeCall, ...]
    pairs: tuple[tuple[str, str], ...]
    """Keys of calls and of structured results, in words, with their values."""
    spans: list[tuple[int, int]]
    """Where its sentences stand; none of calls and results."""
    forms: list[SentenceForm]
    stems: list[str]
    """Of words that carry subject matter, in order."""
    mentions: tuple[FoundMention, ...]
    identifiers: tuple[Identifier, ...]
    keys: Mapping[str, str]
    """What it names, folded, each with its class: names, values, identifiers."""
    speakers: tuple[str, ...]
    """The roles that have spoken before, folded."""
    addressed: tuple[str, ...]
    """Earlier speakers whom it names."""
    time_s: float | None
    language: str | None
    opening: str
    """Its first words, folded; empty of a short step."""

    @cached_property
    def asks(self) -> bool:
        """Whether somebody is to answer or do something."""
        return SentenceForm.QUESTION in self.forms or SentenceForm.REQUEST in self.forms


_FIRST = Before()


def read_step(step: Step, before: Before = _FIRST) -> StepFeatures:
    """Take a step apart, knowing what came before."""
    role = step.role.casefold()
    data = structured(step)
    calls = _calls(step, role, before, data)
    kind = _kind(step, role, before, has_calls=bool(calls))
    pairs = data.pairs if kind in (CALL, RESULT) else ()
    text = _text(step, kind, pairs)
    language = language_of(text, before.language)
    foreign = is_foreign(language)
    lowered = fold_case(text)
    spans = sentence_spans(text)[:_SENTENCES] if kind == WORDS else []
    form_of = form_by_mark if foreign else sentence_form
    said = text if kind == WORDS else step.content[:_BESIDE_CHARS] if step.tool_calls else ""
    mentions = _mentions(said, foreign=foreign)
    named = identifiers(text) if kind != INSTRUCTIONS else ()
    return StepFeatures(
        step=step,
        kind=kind,
        role=role,
        text=text,
        lowered=lowered,
        said=said,
        calls=calls,
        pairs=pairs,
        spans=spans,
        forms=[form_of(lowered[start:end]) for start, end in spans],
        stems=[stem_in(word, language) for word in carrying(words_in(text), language)],
        mentions=mentions,
        identifiers=named,
        keys=_keys(mentions, named),
        speakers=before.speakers,
        addressed=_addressed(lowered[:_BEGINNING_CHARS], role, before.speakers) if kind == WORDS else (),
        time_s=seconds_of(step.timestamp),
        language=language,
        opening=opening_of(step.content),
    )


def opening_of(text: str) -> str:
    """The first words of a text, folded; empty of a short one."""
    first = text[:160].lower().split()[:_OPENING_WORDS]
    return " ".join(first) if len(text) >= _OPENING_CHARS and len(first) == _OPENING_WORDS else ""


def _calls(step: Step, role: str, before: Before, data: StructuredContent) -> tuple[MadeCall, ...]:
    """The calls of a step: its fields, an object that says one, or what stands in the words of an agent."""
    if step.tool_calls:
        return calls_of(step.tool_calls)
    if step.tool_name is not None or role in _INSTRUCTING_ROLES:
        return ()
    if data.calls:
        return tuple(MadeCall(call.name, dict(call.arguments)) for call in data.calls)
    return (
        ()
        if role in _USER_ROLES
        else written_calls(step.content, in_fences=before.instructed and not before.has_fields)
    )


def _kind(step: Step, role: str, before: Before, *, has_calls: bool) -> str:
    if step.tool_name is not None or role.rpartition("_")[2].rpartition(" ")[2] in _TOOL_ROLES:
        return RESULT
    if step.tool_calls:
        return CALL
    if _NOTICE.match(step.content):
        return NOTICE
    if role in _INSTRUCTING_ROLES and _instructs(step, before):
        return INSTRUCTIONS
    if has_calls:
        return CALL
    tells = before.in_words and role != before.role and not step.content.rstrip().endswith("?")
    return RESULT if tells or _RESULT_OPENS.match(step.content) else WORDS


def _instructs(step: Step, before: Before) -> bool:
    """Whether a system prompt is one, and no turn of somebody whom a source calls "system"."""
    least = _LATER_INSTRUCTIONS_CHARS if before.kind else _INSTRUCTIONS_CHARS
    return len(step.content) >= least or opening_of(step.content) in before.openings or before.kind == INSTRUCTIONS


_DIGEST = ", sha256 "
_ATTACHED = re.compile(rf"\[\w{{1,20}} ?([^\[\]:\n]{{0,200}}): [^\[\]\n]{{0,200}}{_DIGEST}[0-9a-f]+\]")
"""What stands for a file in a text (`[image plan.png: image/png, 68 bytes, sha256 1f2e...]`): but for its name, it
tells nothing of what is said."""


def _text(step: Step, kind: str, pairs: Iterable[tuple[str, str]]) -> str:
    said = step.content if _DIGEST not in step.content else _ATTACHED.sub(r"\1", step.content)
    if kind == CALL and step.tool_calls:
        said = "\n".join((said, *_arguments(step)))
    elif pairs:
        said = " . ".join(value for _, value in pairs if value)
    return said if len(said) <= HEAD_CHARS + TAIL_CHARS else f"{said[:HEAD_CHARS]}\n{said[-TAIL_CHARS:]}"


def _arguments(step: Step) -> Iterable[str]:
    values = (value for call in step.tool_calls for value in call.arguments.values())
    return ((value if isinstance(value, str) else str(value))[:HEAD_CHARS] for value in values)


def _mentions(text: str, *, foreign: bool) -> tuple[FoundMention, ...]:
    """The values named in words; in another language than English those that their shape alone tells."""
    found = find_mentions(text)
    return tuple(each for each in found if each.entity_type in SHAPES) if foreign else found


def _keys(mentions: Sequence[FoundMention], named: Sequence[Identifier]) -> dict[str, str]:
    keys = {same: each.entity_type for each in mentions for same in value_keys(each.entity_type, each.value)}
    keys.update({handle: each.kind for each in named for handle in handles(each)})
    return keys


def _addressed(beginning: str, role: str, speakers: Iterable[str]) -> tuple[str, ...]:
    others = {each for each in speakers if each in beginning and each != role and len(each) > 1}
    found = (match.group().strip(".?!()@\"'") for match in _NICK.finditer(beginning)) if others else ()
    return tuple(dict.fromkeys(word for word in found if word in others))

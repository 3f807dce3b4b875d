"""One step as the labelers read it: taken apart once, used by all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from stitch.core.steps import Step
from stitch.label.local.moves import asked_for, left_open
from stitch.text.dates import seconds_of
from stitch.text.forms import SentenceForm, form_by_mark, sentence_form
from stitch.text.languages import carrying, is_foreign, language_of, stem_in, words_in
from stitch.text.phrases import NounPhrase, noun_phrases
from stitch.text.sentences import sentence_spans
from stitch.text.structured import NamedCall, StructuredContent, in_words, structured
from stitch.text.values import SHAPES, FoundMention, find_mentions, value_keys
from stitch.text.words import FUNCTION_WORDS, MAX_READ_CHARS, fold_case, stem, whole_words, word_set, words

MAX_READ_SENTENCES = 40

_NOTICE = re.compile(r"(?:===|\*\*\*|-!-|-->|<--) \S[^\n]{,300}$")
_SWITCH = whole_words(
    """another (?:thing|question|task|topic|one)|one more (?:thing|question)|something else|by the way|btw|next up
    |moving on|move on|let's (?:switch|move|turn|talk|discuss|focus|plan|work|look|start)
    |switch(?:ing)? (?:to|over|gears)
    |turn(?:ing)? to|on to|i also|also,? (?:can|could|i|please|what|is|do)|can you also|could you also|new topic
    |another (?:note|subject)|different (?:topic|question|note|matter|subject)|unrelated|meanwhile|separately|as for
    |regarding|speaking of|what about|how about|now (?:i|let|can|could|for|that|please|on)
    |(?:the )?next (?:task|bug|issue|item|topic|question|thing|step|part|phase)"""
)
# The plain ones of these, each of which is among them.
_BREAK = whole_words(
    """another (?:thing|question|task|topic)|something else|by the way|btw|moving on|move on|new topic|unrelated
    |switch(?:ing)? (?:to|over|gears)|turn(?:ing)? to|separately
    |(?:on )?(?:another (?:note|subject)|(?:a )?different (?:topic|question|note|matter|subject))
    |let's (?:switch|move|turn)|(?:the )?next (?:task|bug|issue|topic|phase)"""
)
_RETURN = whole_words(
    """(?:back|return(?:ing)?|go(?:ing)? back|get(?:ting)? back|come back|circle back|coming back) (?:to|on)|again
    |resum(?:e|ing)|earlier|previous(?:ly)?|before|as (?:i|we|you) (?:said|mentioned|discussed)|once more
    |still (?:need|want|open|have)|continu(?:e|ing) (?:with|on)|pick(?:ing)? up where|where were we|we were"""
)
_CLOSING = whole_words(
    """anything else|something else|any(?:thing)? (?:other|more) (?:help|questions?|assistance)|else i can
    |(?:that'?s|that is|that will be|that'd be) (?:all|everything|it)|help you with anything|you'?re (?:very )?welcome
    |my pleasure|glad (?:to|i)"""
)
_ANAPHORA = word_set(
    "it it's its that that's this these those they they're them their he he's she she's his her him there"
)
INSTRUCTING, AGENTS = word_set("system developer"), word_set("assistant agent ai bot model gpt")
"""Roles that say beforehand what the others are to do, and those of assistants."""
_TOOL_ROLES = word_set("tool function environment observation api ipython execution")


@dataclass(kw_only=True)
class Reading:
    """What stands in a step."""

    step: Step
    role: str
    """Lower case."""
    text: str
    """What is read of the content; of data, the values."""
    data: StructuredContent
    folded: str
    """The text in lower case, see `fold_case`."""
    spans: list[tuple[int, int]]
    """Where its sentences stand; none of data."""
    forms: list[SentenceForm]
    """The form of each sentence."""
    stems: list[str]
    """Of words that carry subject matter, in order."""
    values: dict[str, str]
    """Values named, folded to lower case, with their classes."""
    found: tuple[FoundMention, ...] = ()
    time_s: float | None
    addressees: tuple[str, ...] = ()
    """Speakers of this trajectory whom the step names, folded; the one it opens with comes first."""
    is_notice: bool = False
    """Whether it is a line of the medium itself ("=== ann has joined")."""
    switches: bool = False
    """Whether it has a cue for leaving the subject."""
    breaks_off: bool = False
    """Whether such a cue is plain: "another thing", "moving on"."""
    returns: bool = False
    """Whether it has a cue for coming back to an earlier subject."""
    closes: bool = False
    """Whether it winds a subject up."""
    anaphoric: bool = False
    """Whether it opens with a word that stands for something said before."""
    answers_tool: bool
    """Whether it is the result of a tool."""
    asking: frozenset[str] = frozenset()
    """Stems of its requests and questions, values left out: what somebody wants."""
    telling: frozenset[str] = frozenset()
    """Stems of its other sentences, values left out."""
    asks: tuple[str, ...] = ()
    """What each of its questions asks for, see `moves`."""
    opens: str = "data"
    """What it leaves open for the next speaker, see `moves`."""
    pointed: frozenset[str] = frozenset()
    """Stems of what it speaks of as known: "this apartment", "the other cars"."""
    particles: frozenset[str] = frozenset()
    """The function words it uses: "also", "a", "it"."""
    language: str | None = None
    """The language it is read in, see `language_of`; None if neither it nor what was before tells one."""
    skimmed: bool = False
    """Whether only what a run needs was read, see `skim_step`."""
    stem_set: frozenset[str] = field(init=False)
    _phrases: list[NounPhrase] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.stem_set = frozenset(self.stems)

    @property
    def form(self) -> SentenceForm:
        """The form of the sentence that carries the step: a question or request, else the first that says something."""
        for wanted in (SentenceForm.REQUEST, SentenceForm.QUESTION):
            if wanted in self.forms:
                return wanted
        for form in self.forms:
            if form is not SentenceForm.GREETING:
                return form
        return self.forms[0] if self.forms else SentenceForm.STATEMENT

    @property
    def phrases(self) -> list[NounPhrase]:
        """The noun phrases of the text."""
        if self._phrases is None:
            self._phrases = noun_phrases(self.text)
        return self._phrases


_ASKING = (SentenceForm.REQUEST, SentenceForm.QUESTION)
_NOBODY: Mapping[str, object] = {}
_MOST_RECEIVING, _MOST_RECEIVING_CHARS = 3, 40
"""So many short sentences may say that an answer was received before somebody breaks off."""


def breaks_off_at_once(reading: Reading) -> bool:
    """Whether a cue of breaking off is the first that a step says, or the first after a "Great, thanks."."""
    spans = reading.spans[:_MOST_RECEIVING] if reading.breaks_off else ()
    for (start, end), form in zip(spans, reading.forms, strict=False):
        cue = _BREAK.match(reading.folded, start)
        if cue or end - start > _MOST_RECEIVING_CHARS or form in _ASKING:
            return cue is not None
    return False


def read_step(
    step: Step,
    *,
    speakers: Mapping[str, object] = _NOBODY,
    most_chars: int = MAX_READ_CHARS,
    language: str | None = None,
) -> Reading:
    """Take a step apart.

    The roles seen so far, folded, tell its addressee. The language is that of what was said before, for a step that
    does not tell its own.
    """
    data = structured(step)
    is_data = bool(data.results or (data.calls and not step.tool_calls))
    text, spans = _text_of(step, data, is_data=is_data, most_chars=most_chars)
    language = language_of(text, language)
    other = language if language is not None and is_foreign(language) else ""
    lowered = fold_case(text)
    parts = [lowered[start:end] for start, end in spans]
    forms = _forms_of(parts, other)
    asked, told, all_words = _words_of(text, parts, forms, language)
    called, came_out = _keys_of(data)
    asked += called
    told += came_out
    stems = asked + told
    found = () if is_data else _mentions_in(text, other)
    values, of_values = _values_of(found, data, language)
    role = step.role.lower()
    answers_tool = _is_answer_of_tool(role, data)
    cues = _NO_CUES if other else _cues(lowered, forms)
    asks = _asks_of(parts, forms)
    return Reading(
        step=step,
        role=role,
        text=text,
        folded=lowered,
        data=data,
        spans=spans,
        forms=forms,
        stems=stems,
        values=values,
        found=found,
        time_s=seconds_of(step.timestamp),
        addressees=_addressees(text, role, speakers) if speakers else (),
        is_notice=bool(_NOTICE.match(text)) and not answers_tool,
        switches=cues.switches,
        breaks_off=cues.breaks_off,
        returns=cues.returns,
        closes=cues.closes,
        anaphoric=not _ANAPHORA.isdisjoint(all_words[:1]) or all_words[:2] == ["the", "one"],
        asking=frozenset(asked) - of_values,
        telling=frozenset(told) - of_values,
        asks=tuple(asks),
        opens=left_open(parts, forms, asks) if parts else "data",
        pointed=_pointed(lowered) if parts and not other else frozenset(),
        particles=frozenset() if other else frozenset(all_words) & FUNCTION_WORDS,
        language=language,
        answers_tool=answers_tool,
    )


class _Cues(NamedTuple):
    """What a step says of where the talk goes, see `Reading`."""

    switches: bool
    breaks_off: bool
    returns: bool
    closes: bool


def _cues(lowered: str, forms: Sequence[SentenceForm]) -> _Cues:
    switches = _SWITCH.search(lowered) is not None
    return _Cues(
        switches,
        switches and _BREAK.search(lowered) is not None,
        _RETURN.search(lowered) is not None,
        _CLOSING.search(lowered) is not None or SentenceForm.FAREWELL in forms,
    )


_NO_CUES = _Cues(False, False, False, False)
"""Of other languages than English."""


def _asks_of(parts: Sequence[str], forms: Sequence[SentenceForm]) -> list[str]:
    return [asked_for(part) for part, form in zip(parts, forms, strict=True) if form is SentenceForm.QUESTION]


def _mentions_in(text: str, other: str) -> tuple[FoundMention, ...]:
    """The values named in a text; in another language than English those that their shape alone tells."""
    found = find_mentions(text)
    return tuple(each for each in found if each.entity_type in SHAPES) if other else found


def _keys_of(data: StructuredContent) -> tuple[list[str], list[str]]:
    """Words that carry meaning in the names of what is called and given to that, and in the keys of results."""
    called = [name for call in data.calls for name in (call.name, *(key for key, _ in call.arguments))]
    return (
        [word for name in called for word in _carrying(words(name))],
        [word for key, _ in data.results for word in _carrying(words(key))],
    )


def _forms_of(parts: Sequence[str], other: str) -> list[SentenceForm]:
    return list(map(form_by_mark if other else sentence_form, parts))


def _is_answer_of_tool(role: str, data: StructuredContent) -> bool:
    return bool(data.tool) or role in _TOOL_ROLES or (bool(data.results) and not data.calls)


def _text_of(
    step: Step, data: StructuredContent, *, is_data: bool, most_chars: int
) -> tuple[str, list[tuple[int, int]]]:
    """What is read of a step, and where its sentences are; of data its values, which are no sentences."""
    if is_data or not step.content.strip():
        return " . ".join(value for _, value in data.pairs if value)[:most_chars], []
    text = step.content[:most_chars]
    return text, sentence_spans(text)[:MAX_READ_SENTENCES]


def _words_of(
    text: str, parts: Sequence[str], forms: Sequence[SentenceForm], language: str | None
) -> tuple[list[str], list[str], list[str]]:
    """The words that carry meaning where something is asked, those elsewhere, and all words."""
    if not parts:
        all_words = words_in(text)
        return [], _carrying(all_words, language), all_words
    asked, told, all_words = list[str](), list[str](), list[str]()
    for part, form in zip(parts, forms, strict=True):
        in_part = words_in(part)
        all_words += in_part
        (asked if form in _ASKING else told).extend(_carrying(in_part, language))
    return asked, told, all_words


def _values_of(
    found: Iterable[FoundMention], data: StructuredContent, language: str | None
) -> tuple[dict[str, str], set[str]]:
    """What a step names, each with its class, and the stems of the words of these."""
    values: dict[str, str] = {}
    of_values: set[str] = set()
    for mention in found:
        of_values.update(stem_in(word, language) for word in words_in(mention.value))
        for same in value_keys(mention.entity_type, mention.value):
            values[same] = mention.entity_type
    for key, value in data.pairs:
        if value:
            values[value.lower()] = key
            of_values.update(map(stem, words(value)))
    return values, of_values


def skim_step(step: Step, text: str, *, values: Mapping[str, str], stems: Sequence[str], is_result: bool) -> Reading:
    """What a run needs of a call, a result or a prompt: no sentences, and the values that were found already."""
    return Reading(
        step=step,
        role=step.role.lower(),
        text=text,
        folded=text.lower(),
        data=StructuredContent(tuple(NamedCall(in_words(call.name), ()) for call in step.tool_calls)),
        spans=[],
        forms=[],
        stems=list(stems),
        values=dict(values),
        time_s=seconds_of(step.timestamp),
        answers_tool=is_result,
        skimmed=True,
    )


def _carrying(in_part: list[str], language: str | None = None) -> list[str]:
    return [stem_in(word, language) for word in carrying(in_part, language)]


_DEFINITE = re.compile(r"\b(?:this|that|the|these|those|its|their|other|another|your) ([a-z]{3,}(?: [a-z]{3,})?)")


def _pointed(lowered: str) -> frozenset[str]:
    phrases = _DEFINITE.findall(lowered[:600])
    return frozenset(stem(word) for phrase in phrases for word in phrase.split(" ") if word not in FUNCTION_WORDS)


_NICK = re.compile(r"[^\s:,;]+")


def _addressees(text: str, role: str, speakers: Mapping[str, object]) -> tuple[str, ...]:
    named: list[str] = []
    beginning = text[:400].lower()
    if not any(map(beginning.__contains__, speakers)):
        return ()
    for match in _NICK.finditer(text[:400]):
        word = match.group().lower().strip(".?!()@\"'")
        if word in speakers and len(word) > 1 and word != role and word not in FUNCTION_WORDS and word not in named:
            named.append(word)
    return tuple(named)

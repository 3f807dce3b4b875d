"""What a step is in a run: instructions, a call, its result, words of the agent or of somebody else.

Calls and results are fields of a step, or stand in its text: "ACTION: ...", code in a fence that a shell answers,
"exitcode: 0". Read once, at a bounded length, for all that is said of a step of a run.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any, NamedTuple

from stitch.core.steps import Step
from stitch.core.text_cache import text_cache
from stitch.label.local.acts import Act, WrittenAction, acts_of_call, written_action
from stitch.label.local.reading import INSTRUCTING
from stitch.text.forms import SentenceForm, sentence_form
from stitch.text.identifiers import Identifier, handles, identifiers
from stitch.text.sentences import sentence_spans
from stitch.text.words import FUNCTION_WORDS, fold_case, is_verb, stem, whole_words, word_set, words

SETUP, CALLS, RESULT, SAYS, ASKS = "setup", "calls", "result", "says", "asks"
"""Kinds of steps: instructions given beforehand, a call, its result, words of an agent, words of a user."""

_HEAD_CHARS, _TAIL_CHARS = 2_000, 600
_OPENING_WORDS = 6
_SAID_CHARS = 1_500
_WISH_CHARS = 600
_ACTION_CHARS = 6_000
_MIN_PROMPT_CHARS = 60
_MIN_INSTRUCTIONS_CHARS = 300
MIN_OPENING_CHARS = 40

_RESULT_ROLES = word_set(
    "tool tools function functions environment observation observations api ipython execution executor terminal shell"
    " console computer sandbox interpreter browser runtime"
)
_USERS = word_set("user human customer client operator")
_SPEAKS_OF_TOOLS = whole_words(
    """tools?|functions?|commands?|command line|shell|terminal|api|apis|environment|actions?|interface|sandbox|policy
    |interact with|execute|workspace|repository|agent"""
)
_NAME_PARTS = re.compile(r"[^a-z\d]+")
_RESULT_OPENS = re.compile(
    r"\s*(?:<returncode>|exit ?code: -?\d|OBSERVATION\s*:|Observation\s*(?:\d+)?:|<observation>|<output>|\[File: |"
    r"Execution (?:result|output)|Command (?:output|exited))"
)
_LAST_LINE_PROMPTS = re.compile(r"\n\S{0,80}[$#>] ?$")
_INSTRUCTS = whole_words(
    """(?:each|every|your) (?:turn|round|time|step)|your (?:response|responses|operation|action|output|answer"
    "|reply) (?:should|must)
    |you (?:should|must|have to|need to|can only|may only)|format|actions?|thought|commands?|tools?|operations?"""
)
_PROMISES_TASK = whole_words(
    """you will (?:be (?:given|provided|asked)|receive|get)|you'll (?:be (?:given|provided|asked)|receive|get)
    |i(?:'ll| will) (?:ask|give|provide|tell|send)|i'm going to (?:ask|give)|i am going to (?:ask|give)"""
)
ACKNOWLEDGES = whole_words(
    r"""(?:ok(?:ay)?|sure|understood|got it|i understand|i(?:'ll| will) follow|certainly|i am ready|i'm ready"
    r"|alright)"""
)
NUDGES = whole_words(
    r"""(?:please )?(?:continue|proceed|go on|keep going|carry on|try again|go ahead)|(?:yes|ok(?:ay)?|no)[,.!]?"""
)
_ENDS = whole_words(
    r"""that(?:'s| is) (?:all|everything|it)(?: i)?|thank(?:s| you)[^?]*|(?:good)?bye|have a (?:great|nice|good) \w+
    |all set|no,? (?:that|nothing)|###stop###|terminate|task[_ ]done|\[task_done\]"""
)
_MARKS_END = re.compile(r"###\s*STOP\s*###|\bTERMINATE\b|\[?TASK[_ ]DONE\]?|\[?END OF (?:CONVERSATION|TASK)\]?")


class Turn(NamedTuple):
    """A step of a run, taken apart."""

    kind: str
    handles: tuple[str, ...]
    stems: tuple[str, ...]
    acts: tuple[Act, ...]
    tool: str
    """The tool called, or that answers; empty if none."""
    text: str
    """What is read of the step."""
    closes: bool
    calls: tuple[str, ...] = ()
    """What the results of its calls will name: ids, or tools."""
    answers: tuple[str, ...] = ()
    """Which call it answers: its id, and the tool."""
    found: tuple[Identifier, ...] = ()
    """The identifiers it names."""
    wants: bool = False
    """Whether somebody asks or requests something in it."""


class SoFar(NamedTuple):
    """What is known of a trajectory before a step."""

    active: bool
    """Whether it has shown that it is a run."""
    begins: bool
    """Whether no step has come yet."""
    after_setup: bool
    openings: Container[str]
    """How statements of goals began."""
    setups: Container[str]
    """How instructions began."""
    waits: bool
    """Whether a call of the current goal has no result yet."""
    waits_in_words: bool
    """Whether that call stands in words: then whoever speaks next may tell its result."""
    caller: str
    """Who spoke last in the current goal, folded."""
    acts_in_fences: bool
    """Whether code in a fence is what an agent does."""


def hear(step: Step, so_far: SoFar) -> Turn | None:
    """Take a step apart if it belongs to a run; None if nothing has shown a run yet."""
    text, role = read_part(step.content), step.role.lower()
    written = _written(step, role, so_far)
    kind = _kind(step, text, so_far, written=written)
    if not so_far.active and not _shows_run(step, text, so_far, kind=kind, written=written):
        return None
    if step.tool_calls:
        text = "\n".join((text, *(_arguments_text(call.arguments) for call in step.tool_calls)))
    acts, tool, calls = _done(step, kind, written)
    found = identifiers(text)
    known = dict.fromkeys(handle for one in found for handle in handles(one))
    said = [] if kind == RESULT else words(text[:_SAID_CHARS])
    stems = tuple(dict.fromkeys(stem(word) for word in said if _carries(word)))
    wants = kind == ASKS and _wants(text)
    closes = kind in (SAYS, ASKS) and _closes(text, by_user=role in _USERS)
    answers = _answers(step) if kind == RESULT else ()
    return Turn(kind, tuple(known), stems, acts, tool, text, closes, calls, answers, found, wants)


def _done(step: Step, kind: str, written: WrittenAction | None) -> tuple[tuple[Act, ...], str, tuple[str, ...]]:
    """What a step does, by or about which tool, and what the results of its calls will name."""
    if step.tool_calls:
        acts = dict.fromkeys(act for call in step.tool_calls for act in acts_of_call(call.name, call.arguments))
        return tuple(acts), step.tool_calls[0].name, tuple(call.id or call.name for call in step.tool_calls)
    if kind == CALLS and written is not None:
        return written.acts, written.name, ("",)
    return (), (step.tool_name or "") if kind == RESULT else "", ()


def _answers(result: Step) -> tuple[str, ...]:
    given = result.metadata.get("tool_call_id")
    return tuple(filter(None, (str(given) if given else "", result.tool_name or "")))


def _written(step: Step, role: str, so_far: SoFar) -> WrittenAction | None:
    """The action in the words of an agent."""
    if step.tool_calls or step.tool_name is not None or role in INSTRUCTING or role in _USERS:
        return None
    if not so_far.active and not step.content.rstrip().endswith(")"):
        return None
    return written_action(step.content[:_ACTION_CHARS], fences=so_far.active and so_far.acts_in_fences)


def _kind(step: Step, text: str, so_far: SoFar, *, written: WrittenAction | None) -> str:
    role = step.role.lower()
    by_user = role in _USERS
    if step.tool_calls:
        return CALLS
    if step.tool_name is not None or _is_of_results(role):
        return RESULT
    if role in INSTRUCTING or (by_user and _instructs(text, so_far)):
        return SETUP
    if (so_far.active and opens_like(text, so_far.openings)) or (so_far.after_setup and by_user):
        return ASKS
    if _tells_result(text, role, so_far, written=written):
        return RESULT
    if written is not None:
        return CALLS
    return ASKS if by_user else SAYS


def _tells_result(text: str, role: str, so_far: SoFar, *, written: WrittenAction | None) -> bool:
    """Whether a text is the result of a call: as it begins or ends, or because a call waits for whoever speaks next."""
    if _RESULT_OPENS.match(text):
        return True
    if not so_far.active:
        return False
    if "\n" in text and _LAST_LINE_PROMPTS.search(text):
        return True
    waits = so_far.waits and not so_far.after_setup
    may_tell = role not in _USERS or so_far.waits_in_words
    return waits and may_tell and role != so_far.caller and written is None and not NUDGES.match(text.lower())


@text_cache(maxsize=256)
def _is_of_results(role: str) -> bool:
    return _NAME_PARTS.split(role)[-1] in _RESULT_ROLES


def _shows_run(step: Step, text: str, so_far: SoFar, *, kind: str, written: WrittenAction | None) -> bool:
    """Whether a step shows that the trajectory is a run: calls and results as fields, or written where they are."""
    if step.tool_calls or step.tool_name is not None or written is not None:
        return True
    if kind == SETUP:
        return so_far.begins and len(text) >= _MIN_PROMPT_CHARS and bool(_SPEAKS_OF_TOOLS.search(text.lower()))
    return kind == RESULT and _RESULT_OPENS.match(text) is not None


def _instructs(text: str, so_far: SoFar) -> bool:
    """Whether somebody says beforehand how to act, as a first step or again, and promises the task for later."""
    if not so_far.begins:
        return opening_of(text) in so_far.setups
    lowered = text.lower()
    return (
        len(text) >= _MIN_INSTRUCTIONS_CHARS
        and len(set(_INSTRUCTS.findall(lowered))) >= 3
        and _PROMISES_TASK.search(lowered) is not None
    )


def _closes(text: str, *, by_user: bool) -> bool:
    if _MARKS_END.search(text[-200:]) is not None:
        return True
    return by_user and len(text) < 300 and _ENDS.search(text.lower()) is not None


def _wants(text: str) -> bool:
    head = fold_case(text[:_WISH_CHARS])
    forms = (sentence_form(head[start:end]) for start, end in sentence_spans(head))
    if any(form in (SentenceForm.QUESTION, SentenceForm.REQUEST) for form in forms):
        return True
    first = words(head[:40])[:1]
    return bool(first) and is_verb(first[0], base=True)


def opens_like(text: str, openings: Container[str]) -> bool:
    """Whether a text begins as a statement that opened a goal began."""
    return len(text) >= MIN_OPENING_CHARS and (opening := opening_of(text)) != "" and opening in openings


def read_part(text: str) -> str:
    """What is read of a text: all of a short one, the beginning and the end of a long one."""
    if len(text) <= _HEAD_CHARS + _TAIL_CHARS:
        return text
    return f"{text[:_HEAD_CHARS]}\n{text[-_TAIL_CHARS:]}"


def _arguments_text(arguments: Mapping[str, Any]) -> str:
    return "\n".join(value[:1_000] if isinstance(value, str) else str(value)[:600] for value in arguments.values())


def opening_of(text: str) -> str:
    """The first words of a text, folded; empty if it has fewer."""
    first = [word.lower() for word in text[:160].split()[:_OPENING_WORDS]]
    return " ".join(first) if len(first) == _OPENING_WORDS else ""


def _carries(word: str) -> bool:
    return word not in FUNCTION_WORDS and len(word) > 2

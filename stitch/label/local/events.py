"""Event types (§2.2.2): what a step does, whatever it is about.

A small neutral inventory from the form of sentences, verbs, roles and position; tools name themselves; further verbs
of doing enter by evidence. Synonyms of the neutral acts are closed lists of the language.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Set
from typing import Any

from stitch.core.intent import GOAL_OPENED, LabelKind
from stitch.label.curation import Vocabulary
from stitch.label.local.acts import DEEDS
from stitch.label.local.outcomes import OUTCOMES
from stitch.label.local.reading import INSTRUCTING, Reading
from stitch.text.forms import SentenceForm
from stitch.text.words import stem, whole_words

EVENT_TYPES_A_STEP = 3

_SIMPLE = {
    SentenceForm.GREETING: "greet",
    SentenceForm.FAREWELL: "say goodbye",
    SentenceForm.THANKS: "thank",
    SentenceForm.AGREEMENT: "agree",
    SentenceForm.REFUSAL: "refuse",
    SentenceForm.APOLOGY: "apologize",
}
_CUES = {
    "report error": whole_words(
        r"""error|exception|traceback|failed|failure|fails|crash\w*|unable to|invalid|not found|denied
        |could ?n[o']t (?:be|find|complete|process|reserve|book|open|load|connect|get|make)|cannot (?:be|find|open)
        |unavailable|no longer available|(?:did not|didn't) (?:work|go through|succeed)|not successful|unsuccessful"""
    ),
    "report success": whole_words(
        r"""(?:has|have|had|was|were|is|are|been|it's|i've) (?:\w+ )?(?:been )?(?:successful\w*|confirmed|booked
        |reserved|scheduled|completed|fixed|resolved|merged|deployed|added|saved|sent|transferred|made|done|started|paid
        |purchased)
        |tests? (?:now )?pass\w*|successfully|all set|passed"""
    ),
    "confirm": whole_words(
        r"""(?:please|can i|could you|let me|just to|to) (?:please )?confirm\w*|is (?:that|this|it) (?:correct|right
        |okay|ok|accurate)|does (?:that|this) (?:sound|look) (?:right|good|correct|ok\w*)|am i right|confirming
        |correct\?|right\?|so you (?:want|would like|need)"""
    ),
    "offer help": whole_words(
        "anything else|something else|what else|(?:how )?(?:can|may) i (?:help|assist)|help you with"
    ),
    "compare": whole_words(
        r"""compar\w+|difference between|(?:better|cheaper) than|which (?:one )?(?:is|was) (?:better|cheaper|best)
        |choose between|set .{3,60} against"""
    ),
    "propose": whole_words(
        r"""(?:one|another) (?:idea|option)|how about|what about|what if|i(?:'d| would)? (?:suggest|propose|recommend)
        |i wonder if we could|we could(?: also)?|why (?:not|don't we)|maybe we|i came across|(?:let us|let's) consider
        |you (?:could|might|can) try|suggests"""
    ),
    "offer": whole_words(
        r"""(?:would|do) you (?:like|want|care|prefer|wish|need)(?: me)? to|(?:want|like|need|wish) me to|shall (?:i|we)
        |should (?:i|we)|would you be interested
        |there (?:is|are|'s) (?:also )?(?:an?|\d+|some|several|many|one|two)|i(?:'ve| have)? (?:found|see|got)"""
    ),
    "decide": whole_words(
        """i(?:'ll| will) (?:go with|take|choose|pick|have)|we(?:'ll| will)? (?:take|choose|pick)
        |(?:let's|let us|to) (?:go with|settle on)|go with|settle on
        |i(?:'ve| have)? (?:decided|chosen|settled)|i think i(?:'ll| will)|final choice"""
    ),
    "accept": whole_words(
        """that one works|i (?:like|love) (?:it|that|this)|i(?:'d| would) like (?:it|that|this)(?: one)?
        |(?:that|this|it)(?:'s| is| will be| would be| will| would| seems| looks| sounds)? (?:works?|perfect|great|good
        |nice|fine|wonderful)"""
    ),
    "disagree": whole_words(
        r"i disagree|i don't agree|overstates|misleading|not convinced|i beg to differ|rebut\w*|counter\w*"
    ),
    "plan": whole_words(
        r"""(?:let's|let us) (?:focus|plan|start|begin|work|organi[sz]e|move|turn|go|switch|continue)|the plan is
        |(?:back|return|turn) to|next,? (?:i|we)(?:'ll| will)
        |i(?:'ll| will) (?:now |first |then )?(?:start|look|check|try|run|fix|open|inspect|search)"""
    ),
    "explain": whole_words(
        "because|the reason|this means|that means|in other words|for example|for instance|therefore"
    ),
}
_VERB_OF_REQUEST = whole_words(
    r"""(?:to|please|you|i|we|me|let's|and|then|'ll|will|help)
[ ](?:(?:please|also|help|me|us|just|try to) )*([a-z]{3,14})"""
)
_SYNONYMS = {
    synonym: verb
    for verb, synonyms in {
        "search": "find look locate seek browse discover explore",
        "book": "reserve order schedule rent hire",
        "buy": "purchase",
        "cancel": "abort revoke",
        "change": "modify update edit replace switch alter adjust reschedule revise",
        "check": "verify inspect examine review test validate",
        "show": "display list present",
        "tell": "inform describe explain",
        "make": "create build generate produce write add",
        "fix": "repair resolve debug solve correct patch",
        "remove": "delete drop discard",
        "play": "watch listen hear",
        "send": "transfer share pay",
        "run": "execute start launch",
        "open": "read load fetch get",
        "compare": "contrast evaluate",
        "plan": "organize arrange prepare",
    }.items()
    for synonym in (verb, *synonyms.split(" "))
}
_DOING = {stem(word): verb for word, verb in _SYNONYMS.items()}
_SEED = (
    *_SIMPLE.values(),
    *(name for name in _CUES if name != "offer"),
    *sorted(set(_SYNONYMS.values())),
    "affirm",
    "accept offer",
    "decline help",
    "ask for details",
    "ask",
    "answer",
    "inform",
    "request",
    "report result",
    "notice",
    "instruct",
    *DEEDS,
    *OUTCOMES,
    GOAL_OPENED,
)


_PLAIN_CUES = ("confirm", "offer help", "report success", "compare", "decide", "report error", "disagree")
_LATE_CUES = ("offer help", "accept", "plan", "explain")
"""What is looked for after the plain cues and the forms of sentences."""
_ANY_PLAIN, _ANY_LATE = (
    re.compile(rf"(?<!\w)(?:{'|'.join(_CUES[name].pattern for name in names)})") for names in (_PLAIN_CUES, _LATE_CUES)
)
"""Finds whether one of these cues is in a text: most texts have none, and to look for each takes twice as long."""
_OF_OPENER = ("offer help", "accept")
"""What of these only whoever opened the trajectory does."""
_TOLD = ("report success", "report error")
"""What no mere question does."""
_DETAILS = frozenset({"number", "time", "place", "person", "choice"})
_ALTERNATIVES = whole_words(
    "(?:any|some)(?:thing|one|where) else|another|(?:any |some )?others?|alternatives?|what else|different|instead"
)
_ENDED = re.compile(r"\W{0,4}(?:exit|return) ?(?:code|status)\W{1,3}(?P<code>-?\d{1,3})\b")
"""How the report of a command begins that somebody speaks who is not known as a tool."""
_LISTED = whole_words(r"here(?: are|'s| is)|(?:these|following) (?:are|is)|(?:following|available) (?:\w+ )?options")
_OPTION = re.compile(r"^[ \t]*(?:\d{1,2}[.)]|[-*•]) ", re.MULTILINE)
_ALL = whole_words(
    r"""(?:that(?:'s| is|'ll be| will be|'d be| would be| does| should be)|this is) (?:all|it|everything)
    |nothing (?:else|more)|(?:have|enjoy) (?:a|the rest of|your) (?:\w+ )?(?:day|evening|night|week|weekend|one
    |trip|afternoon)"""
)
"""How somebody says that nothing more is wanted."""
_ENDS_CHARS = 240
_WANTED = ("number", "time", "place", "person", "choice", "reason", "yes or no", "offer")


def _lead(reading: Reading, *, open_move: str) -> str | None:
    """How the step reacts to what was left open: it affirms, accepts, declines, thanks ..."""
    for form in reading.forms:
        if form is SentenceForm.AGREEMENT:
            if open_move in ("check", "yes or no"):
                return "affirm"
            return "accept offer" if open_move == "offer" else "agree"
        if form is SentenceForm.REFUSAL:
            return "decline help" if open_move == "more" else "refuse"
        if form in _SIMPLE and (form is not SentenceForm.GREETING or len(reading.forms) == 1):
            return _SIMPLE[form]
    return None


def _telling(text: str) -> str:
    """What of a turn tells what it does; of a long one, where it opens and where it ends."""
    return text if len(text) <= 3 * _ENDS_CHARS else f"{text[:_ENDS_CHARS]}\n{text[-_ENDS_CHARS:]}"


def _by_structure(reading: Reading, *, by_opener: bool) -> list[str]:
    """What a step does that is no talk: a notice, a call, a result, instructions; empty for talk."""
    data = reading.data
    if reading.is_notice:
        return ["notice"]
    if data.calls:
        return ["call tool", *(call.name for call in data.calls[: EVENT_TYPES_A_STEP - 1])]
    if reading.answers_tool:
        failed = _CUES["report error"].search(reading.folded, 0, 600)
        return ["report error" if failed else "report result", *([data.tool] if data.tool else [])]
    if (ended := _ENDED.match(reading.folded)) is not None:
        return ["report result" if ended["code"] == "0" else "report error"]
    return ["instruct"] if reading.role in INSTRUCTING and by_opener else []


def _reaction(lead: str | None, open_move: str, *, accepts: bool) -> str:
    """What a step does that only reacts, or `accepts` in so many words."""
    if lead in ("affirm", "accept offer", "refuse", "decline help"):
        return lead
    if accepts or (lead == "agree" and open_move.startswith("told")):
        return "accept"
    return lead or ("answer" if open_move else "inform")


def _has(cue: str, text: str) -> bool:
    return _CUES[cue].search(text) is not None


def _plain_cue(reading: Reading, text: str, *, asks: bool, by_opener: bool) -> str | None:
    """What words say plainly that a step does, whatever the form of its sentences."""
    if by_opener and (asks or SentenceForm.REQUEST in reading.forms) and _ALTERNATIVES.search(text):
        return "ask for alternatives"
    if by_opener and _has("propose", text):
        return "propose"
    if (reading.switches or reading.returns) and _has("plan", text):
        return "plan"
    all_asked = set(reading.forms) == {SentenceForm.QUESTION}
    passed = (*(("offer help",) if by_opener else ()), *(_TOLD if all_asked else ()))
    return _first_cue(_PLAIN_CUES, text, any_of=_ANY_PLAIN, passed=passed)


def _late_cue(text: str, *, by_opener: bool) -> str | None:
    return _first_cue(_LATE_CUES, text, any_of=_ANY_LATE, passed=() if by_opener else _OF_OPENER)


def _first_cue(cues: Iterable[str], text: str, *, any_of: re.Pattern[str], passed: Collection[str]) -> str | None:
    """The first of some cues that a text has, but for those `passed` over; `any_of` finds whether it has any."""
    if any_of.search(text) is None:
        return None
    return next((cue for cue in cues if cue not in passed and _has(cue, text)), None)


def _of_question(reading: Reading, asked: Set[str], *, by_opener: bool) -> str:
    """What a question is for: whoever is asked for something confirms what was said, or asks for details."""
    if by_opener:
        return "ask"
    return "confirm" if len(reading.values) > 1 and asked & {"yes or no", "offer"} else "ask for details"


class EventTyper:
    """Names what each step of one trajectory does: at most `EVENT_TYPES_A_STEP` labels, the most telling first."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary(LabelKind.EVENT_TYPE, seed=_SEED, most=128)

    def type(self, reading: Reading, *, open_move: str = "", by_opener: bool = True) -> list[str]:
        """The event types of a step.

        `open_move` is what somebody else's last step left open, see `moves`; empty if nothing.
        """
        labels = self._types(reading, open_move=open_move, by_opener=by_opener)
        return self.vocabulary.admit(labels)[:EVENT_TYPES_A_STEP]

    def admit(self, labels: Iterable[str]) -> list[str]:
        """The event types of a step that is known to do this, in the forms in which they are kept."""
        return self.vocabulary.admit(list(labels))[:EVENT_TYPES_A_STEP]

    def _types(self, reading: Reading, *, open_move: str, by_opener: bool) -> list[str]:
        return _by_structure(reading, by_opener=by_opener) or self._by_words(
            reading, open_move=open_move, by_opener=by_opener
        )

    def _by_words(self, reading: Reading, *, open_move: str, by_opener: bool) -> list[str]:
        if SentenceForm.THANKS in reading.forms and _ALL.search(reading.folded):
            return ["thank", "say goodbye"]
        main = self._main(reading, open_move=open_move, by_opener=by_opener)
        lead = _lead(reading, open_move=open_move)
        if main is None or main == "accept":
            return [_reaction(lead, open_move, accepts=main is not None)]
        # A helper's "Sure, ..." says nothing of its own.
        reacts = lead != main and (by_opener or lead != "agree")
        return [main, lead] if lead and reacts else [main]

    def _main(self, reading: Reading, *, open_move: str, by_opener: bool) -> str | None:
        """What the step does beside reacting: the plainest cue, else the form of its sentences."""
        text, forms = _telling(reading.folded), reading.forms
        asked = set(reading.asks)
        if cue := _plain_cue(reading, text, asks=bool(asked), by_opener=by_opener):
            return cue
        lists = not by_opener and open_move and _LISTED.match(text)
        if lists and len(_OPTION.findall(reading.text)) > 1:
            return "propose"
        if SentenceForm.REQUEST in forms:
            return self._requested(reading, text, open_move=open_move, by_opener=by_opener)
        if not by_opener and (_has("propose", text) or (not asked & _DETAILS and _has("offer", text))):
            return "propose"
        if SentenceForm.QUESTION in forms:
            return _of_question(reading, asked, by_opener=by_opener)
        return _late_cue(text, by_opener=by_opener) or self._told(reading, open_move=open_move, by_opener=by_opener)

    def _requested(self, reading: Reading, text: str, *, open_move: str, by_opener: bool) -> str:
        """What a request is for; who is asked for something may ask for it to be told in other words."""
        verb = self._verb(text)
        if open_move in _WANTED and reading.values and verb is None:
            return "answer"
        return verb or ("request" if by_opener else "ask for details")

    def _told(self, reading: Reading, *, open_move: str, by_opener: bool) -> str | None:
        """What a step does that no cue names; None of one that only reacts."""
        if reading.forms and all(form in _SIMPLE for form in reading.forms):
            return None
        if not by_opener and open_move == "request":
            return "propose" if reading.values else "answer"
        return "answer" if open_move else "inform"

    def _verb(self, text: str) -> str | None:
        for match in _VERB_OF_REQUEST.finditer(text):
            verb = _DOING.get(stem(match[1]))
            if verb:
                return verb
        return None

    def save(self) -> dict[str, Any]:
        """Everything remembered, as JSON values."""
        return self.vocabulary.save()

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> EventTyper:
        """Continue from what `save` returned."""
        typer = cls()
        typer.vocabulary.restore(data)
        return typer

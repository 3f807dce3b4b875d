"""Event types (§2.2.2): what a step does, whatever it is about.

A small neutral inventory from the form of sentences, verbs, roles and position; tools name themselves; further verbs
of doing enter by evidence. Synonyms of the neutral acts are closed lists of the language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stitch.core.intent import LabelKind, LabelMerge
from stitch.embed.lexical import stem
from stitch.label.curation import Vocabulary
from stitch.label.local.language import SentenceForm, cue
from stitch.label.local.reading import Reading

MAX_EVENT_TYPES = 3

_SIMPLE = {
    SentenceForm.GREETING: "greet",
    SentenceForm.FAREWELL: "say goodbye",
    SentenceForm.THANKS: "thank",
    SentenceForm.AGREEMENT: "agree",
    SentenceForm.REFUSAL: "refuse",
    SentenceForm.APOLOGY: "apologize",
}
_CUES = {
    "report error": cue(
        r"""error|exception|traceback|failed|failure|fails|crash\w*|unable to|could ?n[o']t|invalid|not found|denied
        |unavailable|no longer available|(?:did not|didn't) (?:work|go through|succeed)|not successful|unsuccessful"""
    ),
    "report success": cue(
        r"""(?:has|have|had|was|were|is|are|been|it's|i've) (?:\w+ )?(?:been )?(?:successful\w*|confirmed|booked
        |reserved|scheduled|completed|fixed|resolved|merged|deployed|added|saved|sent|transferred|made|done|started|paid
        |purchased)
        |tests? (?:now )?pass\w*|successfully|all set|passed"""
    ),
    "confirm": cue(
        r"""(?:please|can i|could you|let me|just to|to) (?:please )?confirm\w*|is (?:that|this|it) (?:correct|right
        |okay|ok|accurate)|does (?:that|this) (?:sound|look) (?:right|good|correct|ok\w*)|am i right|confirming
        |correct\?|right\?|so you (?:want|would like|need)"""
    ),
    "offer help": cue("anything else|something else|what else|(?:how )?(?:can|may) i (?:help|assist)|help you with"),
    "compare": cue(
        r"""compar\w+|difference between|(?:better|cheaper) than|which (?:one )?(?:is|was) (?:better|cheaper|best)
        |choose between|set .{3,60} against"""
    ),
    "propose": cue(
        r"""(?:one|another) (?:idea|option)|how about|what about|what if|i(?:'d| would)? (?:suggest|propose|recommend)
        |(?:would|do) you (?:like|want|care|prefer)(?: me)? to|shall i|should i|i wonder if we could|we could(?: also)?
        |why (?:not|don't we)|maybe we|would you be interested|i came across|there (?:is|are) (?:an?|\d+|some
        |several|many)|i(?:'ve| have)? (?:found|see|got)|you (?:could|might|can) try"""
    ),
    "decide": cue(
        r"""i(?:'ll| will) (?:go with|take|choose|pick|have)|let's (?:go with|settle on)|go with|settle on
        |that one works|i(?:'ve| have)? (?:decided|chosen|settled)|i think i(?:'ll| will)|final choice
        |(?:that|this|it) (?:works|sounds (?:good|great|perfect|nice))"""
    ),
    "disagree": cue(
        r"i disagree|i don't agree|overstates|misleading|not convinced|i beg to differ|rebut\w*|counter\w*"
    ),
    "plan": cue(
        r"""let's (?:focus|plan|start|work|organi[sz]e|move)|next,? (?:i|we)(?:'ll| will)|the plan is|back to
        |i(?:'ll| will) (?:now |first |then )?(?:start|look|check|try|run|fix|open|inspect|search)"""
    ),
    "explain": cue("because|the reason|this means|that means|in other words|for example|for instance|therefore"),
}
_VERB_OF_REQUEST = cue(
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
    *_CUES,
    *sorted(set(_SYNONYMS.values())),
    "ask",
    "answer",
    "inform",
    "request",
    "report result",
    "notice",
)


class EventTyper:
    """Names what each step of one trajectory does: at most `MAX_EVENT_TYPES` labels, the most telling first."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary(LabelKind.EVENT_TYPE, seed=_SEED, most=128)

    def type(self, reading: Reading, *, asked: bool) -> list[str]:
        """The event types of a step.

        Args:
            reading: The step.
            asked: Whether it stands after an open question of somebody else.
        """
        labels = self._types(reading, asked=asked)
        return self.vocabulary.admit(labels)[:MAX_EVENT_TYPES]

    def take(self, labels: Sequence[str], *, position: int) -> list[LabelMerge]:
        """Take in the labels of a step; return merges made now."""
        self.vocabulary.count(labels)
        return []

    def _types(self, reading: Reading, *, asked: bool) -> list[str]:
        if reading.is_notice:
            return ["notice"]
        data = reading.data
        if data.calls:
            return ["call tool", *(call.name for call in data.calls[: MAX_EVENT_TYPES - 1])]
        if reading.answers_tool:
            failed = _CUES["report error"].search(reading.text[:600])
            return ["report error" if failed else "report result", *([data.tool] if data.tool else [])]
        text = reading.text[:1_200]
        forms = reading.forms
        labels: list[str] = []
        cues = [name for name, pattern in _CUES.items() if pattern.search(text)]
        labels += cues[:2]
        if SentenceForm.REQUEST in forms and reading.role:
            verb = self._verb(text)
            labels.append(verb or "request")
        elif SentenceForm.QUESTION in forms and not {"confirm", "offer help", "propose"} & set(cues):
            labels.append("ask")
        if forms and not labels:
            simple = [_SIMPLE[form] for form in forms if form in _SIMPLE]
            labels += simple[:1] if not simple or simple[0] != "greet" else simple[-1:]
        if not labels:
            labels.append("answer" if asked else "inform")
        return labels

    def _verb(self, text: str) -> str | None:
        for match in _VERB_OF_REQUEST.finditer(text):
            verb = _DOING.get(stem(match[1].lower()))
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

"""Questions about an agent's runs: the kind of step asked for, and of which goal.

Closed lists of English words and forms; nothing here knows a tool, a file or a trade.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from stitch.core.text_cache import text_cache
from stitch.retrieve.question import READ_CHARS
from stitch.text.words import fold_case, whole_words, words

_ERROR = whole_words(
    r"""errors?|exceptions?|warnings?|fail(?:s|ed|ing|ures?)?|refus(?:e|ed|es|al|als)|crash(?:es|ed)?|wrong
    |problems?|obstacles?|missing|not found|reject(?:s|ed|ion)?|block(?:s|ed)?|denied|in vain
    |broke(?: off| down)?|could(?:n't| not)|stop(?:s|ped)? at|timed? out|timeouts?|complain(?:s|ed|t)?"""
)
_CALLS = whole_words(
    r"""calls?|tools?|commands?|attempts?|submit(?:s|ted)?|book(?:s|ed)?|settled?|(?:we|they|you) tried|procedures?
    |steps? (?:did|were)|made good|put (?:\w+ )?right|carried|done|did that"""
)
_STANDS = re.compile(
    r"(?!.*\b(?:calls?|commands?|tools?|requests?|quer(?:y|ies)|steps?|attempts?)\b).*"
    r"\b(?:is|are) (?:[\w'-]+ ){1,4}?(?:to be )?(?:booked|paid|sent|made|updated|installed|applied|set|done)\b"
)
"""What is said of how something is now ("which class is it booked in?") asks for no call, whatever verb it has."""
_OF_SOMEBODY = whole_words(
    r"(?:this|that|our|each) (?:customer|user|client|patient|caller|guest|member|requester|reporter)s?(?:'s)?"
)
_ASKED_FOR = whole_words(
    r"""ask(?:s|ed)?|want(?:s|ed)?|request(?:s|ed)?|wish(?:es|ed)?|need(?:s|ed)?|order(?:s|ed)?|complain(?:s|ed)?|earlier
    |before|previous(?:ly)?|so far|again|come to us|came to us|turned to us|writ(?:es|ing|ten)|wrote|report(?:s|ed)?"""
)
_SOMEBODY = r"(?!(?:the |our |my )?(?:agent|assistant|bot|model|system|tool|program)s?\b)(?:[\w'-]+ ){1,4}?"
_TURNED = r"(?:contact|call|phone|e?mail|write|come|turn|reach out|get in touch)"
_WANTED = re.compile(
    rf"\b(?:what (?:did|does|do|had|has) {_SOMEBODY}(?:want(?:ed)?|need(?:ed)?|request(?:ed)?"
    rf"|(?:ask(?:ed)?|complain(?:ed)?|{_TURNED}(?:ed)?)(?: (?:in |to )?(?:us|you|me|support))? (?:for|about|with))"
    rf"|why (?:did|does|has|had) {_SOMEBODY}{_TURNED}(?:ed)?(?: (?:in |to )?(?:us|you|me|support))?)"
    r"(?: (?:when|in|on|at|first|originally|initially)\b.*)?$"
)
"""Ways to ask what brought somebody. Who they are is often told only after what they want."""
IDENTIFIER = re.compile(
    r"(?<![\w-])(?=[\w-]{0,100}\d)(?=[\w-]{0,100}[A-Za-z])[A-Za-z\d]{1,100}(?:[-_][A-Za-z\d]{1,100}){0,12}(?![\w-])"
    r"|\b\w{1,100}_\w{1,100}\b|\b\d{4,}\b"
)
"""Names that programs hand on, by their form: letters with digits, words joined by underscores, long numbers."""


@dataclass(frozen=True)
class RunQuestion:
    """A question about runs, as it was read."""

    identifiers: tuple[str, ...]
    """Identifiers it names, in lower case."""
    error: bool
    """Whether it asks what went wrong."""
    task: bool
    """Whether it is a task as somebody gives it ("I want my money back"), which asks for earlier tasks of its kind."""
    requests: bool
    """Whether it asks what somebody wanted."""
    calls: bool
    """Whether it asks by which calls something was settled."""


@text_cache(maxsize=256)
def read_run_question(text: str) -> RunQuestion:
    """Take from a question what it asks of runs; of a very long one, from its beginning."""
    text = text[:READ_CHARS]
    task = is_task(text)
    text = text if task else asked_of_memory(text)
    folded = " ".join(words(text))
    stands = _STANDS.match(folded) is not None
    requests = not task and _OF_SOMEBODY.search(folded) is not None and _ASKED_FOR.search(folded) is not None
    return RunQuestion(
        identifiers=tuple(dict.fromkeys(found.lower() for found in IDENTIFIER.findall(text))),
        error=_ERROR.search(folded) is not None,
        task=task,
        requests=requests or (not task and ("come to us" in folded or _WANTED.search(folded) is not None)),
        calls=not (task or stands) and _CALLS.search(folded) is not None,
    )


_ASKING = r"(?:what|which|who|whom|whose|where|when|why|how)"
_GREETING = r"(?:(?:please|hey|hi|hello|ok|okay|so|and|also|now|well|thanks|quick question|a question)[ ,:!.-]+)*"
_FRAME = re.compile(
    rf"\s*{_GREETING}(?:(?:can|could|would|will) (?:you|we|someone|anybody) (?:please |kindly |perhaps )?)?"
    r"(?:(?:tell|remind|inform) (?:me|us)(?: again| please| of| about)?|let (?:me|us) know(?: about)?"
    r"|i(?:'d| would) (?:like|love|want) to (?:know|hear|learn|remember|recall|understand)"
    r"|i(?:'m| am) (?:wondering|curious|asking myself|trying to (?:remember|recall|find out|understand))"
    r"|i (?:want|need|have|wish|try) to (?:know|remember|recall|find out|understand)"
    r"|i (?:was wondering|wonder|forget|forgot|(?:can't|cannot|don't|do not) (?:remember|recall|know))"
    r"|(?:do|does|did) (?:you|we|anyone|anybody|somebody|someone) (?:still )?(?:remember|know|recall)"
    r"|(?:what )?i(?:'d| would) like to know(?: is)?|help me (?:to )?(?:remember|recall)"
    rf"|(?:show|give) (?:me|us)(?= (?:{_ASKING}|all|every|each|whether)\b)"
    r"|(?:show|give) (?:me|us)(?= (?:the |its |their |his |her )?(?:\w+ )?(?:commands?|errors?|outputs?|calls?|results?"
    r"|steps?|logs?|messages?|reasons?|causes?|files?|tools?|quer(?:y|ies)|answers?|values?|outcomes?|edits?)\b))"
    r"(?: this| something| please| the following)?[\s,:-]*",
    re.IGNORECASE,
)
"""Ways to say that something is asked of whoever remembers; "give me the hub" is none."""
_OWN = whole_words("i|i'm|i'd|i've|i'll|my|mine|me|myself|we need|our new|we'd like")
_PAST = (
    r"(?:did|didn't|was|wasn't|were|weren't|had|hadn't|\w+ed|went|came|gave|made|ran|got|found|took|said|told|wrote|left"
    r"|sent|broke|began|brought|bought|chose|kept|led|lost|met|paid|put|saw|sold|thought|threw|caught|built)"
)
_AUXILIARY = r"(?:did|didn't|was|wasn't|were|weren't|had|hadn't|couldn't|could not)"
_ABOUT_THE_PAST = re.compile(
    rf"(?:^|, |: |; )(?:and |so |but |(?:by|with|on|in|for|from|to|at|after|before|under) )?{_ASKING}\b"
    rf"(?:(?! (?:is|am|are|do|does|can|will)\b)(?: [\w'’-]+){{0,3}} {_PAST}|[^?.!]{{0,60}}? {_AUXILIARY}"
    r"| (?:\w+ )?calls?)\b"
)
"""How a sentence asks about the past, or for calls, which are of the past."""
_WENT = re.compile(r"(?:did|was|were|had|have|has|didn't|wasn't|weren't)\b[^.!]*$")
"""A question for yes or no about the past, alone: behind a sentence that tells something it asks what may be done."""
_LOOKS_UP = re.compile(
    r"(?:find|show|list|name|give|describe|explain|summari[sz]e|recall|compare|count|enumerate|quote|identify|report"
    r"|provide|retrieve|look up|search)\b"
)
"""How a memory is told to look something up."""
_ASKS_NOW = re.compile(r"(?:is|are|am|can|could|will|would|may|might|should|do|does|shall)\b")
_SENTENCE = re.compile(r"[^.!?]+[.!?]*")
_LEAST_WORDS = 4
"""Of fewer words nothing is said that a task would need."""


def asked_of_memory(text: str) -> str:
    """The text without the courtesies that say that something is asked; the same where there are none."""
    framed = _FRAME.match(text)
    return text[framed.end() :] if framed is not None and len(text) - framed.end() > 1 else text


def is_task(text: str) -> bool:
    """Whether a text is a task: a wish, a complaint, or an order, and no question about what was done."""
    rest = asked_of_memory(text)
    folded = " ".join(fold_case(rest).split())
    framed = rest != text
    sentences = [one.strip() for one in _SENTENCE.findall(folded) if one.strip()]
    if any(_ABOUT_THE_PAST.search(one) and (framed or not one.endswith((".", "!"))) for one in sentences):
        return False
    if len(sentences) == 1 and _WENT.match(sentences[0]):
        return False
    if _OWN.search(folded):
        return True
    if framed or _LOOKS_UP.match(folded) or len(folded.split()) < _LEAST_WORDS:
        return False
    return all(_states(one) for one in sentences)


def _states(sentence: str) -> bool:
    """Whether a sentence that names nobody tells or orders something, or asks what may be done now."""
    return sentence.endswith((".", "!")) or (sentence.endswith("?") and _ASKS_NOW.match(sentence) is not None)

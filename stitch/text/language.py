"""What can be said of an English text without a model: sentences, their form, noun phrases, cue words.

Everything here is a closed list or a pattern of the language itself; nothing knows a domain.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from stitch.text.words import stem, words


def listed(text: str) -> frozenset[str]:
    """The words of a closed list that is written as running text."""
    return frozenset(text.split())


def cue(pattern: str) -> re.Pattern[str]:
    """A pattern of whole words, for texts that `plain` made; line breaks and indentation in it do not count."""
    return re.compile(r"(?<!\w)(?:" + _LINE_BREAK.sub("", pattern) + r")(?!\w)")


def plain(text: str) -> str:
    """The text in lower case with plain apostrophes, every character at its place."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters of other scripts grow when they are folded
        lowered = "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
    return lowered.replace("’", "'")


_LINE_BREAK = re.compile(r"\s*\n\s*")

FUNCTION_WORDS = listed(
    """a about above across actually after again against ago ah all almost along alright already also although always
    am among an and another any anybody anyone anything anyway anywhere are aren't around as at away awesome back
    basically be because been before being below besides between both but by bye can can't cannot certainly cool
    could couldn't definitely despite did didn't do does doesn't doing don't done down during each either else
    enough er especially etc even ever every everybody everyone everything exactly except few fine first for from
    further gonna good gotta great had hadn't haha has hasn't have haven't having he he's hello hence her here
    here's hers herself hey hi him himself his hmm how how's however i i'd i'll i'm i've if in indeed instead into
    is isn't it it'd it'll it's its itself just kind kinda last least less let let's like lol lot lots many may
    maybe me might mine more most mostly much must my myself near neither never next nice no nobody none nope nor
    not nothing now of off oh ok okay on once one ones only onto or other others otherwise ought our ours ourselves
    out over own per perfect perhaps please plus pretty probably quite rather really regarding right same shall she
    she's should shouldn't since so some somebody someone something sometimes somewhere soon sorry still such sure
    than thank thanks that that's the their theirs them themselves then there there's therefore these they they'd
    they'll they're they've thing things this those though through throughout thus till to too toward towards try um
    under unless unlike until unto up upon us usually very via wanna was wasn't way we we'd we'll we're we've
    welcome well were weren't what what's whatever when when's whenever where where's whereas wherever whether which
    whichever while who who's whoever whom whose why will with within without won't wonderful would wouldn't wow yea
    yeah yep yes yet you you'd you'll you're you've your yours yourself yup"""
)
"""Closed-class words, interjections and fillers: they carry no subject matter by themselves."""

_VERBS = listed(
    """accept add admit advise agree allow announce answer apologize appear apply appreciate approve argue arrive ask
    assist assume attend avoid bear become begin believe book break bring browse build buy call cancel care carry
    catch change check choose claim clarify close collect come commit compare complete confirm consider contact
    contain continue convert cost create crash cut deal debug decide delay delete deliver deny depart depend deploy
    describe design detect determine develop die differ disagree discover discuss drive drop eat edit enable end
    enjoy ensure enter establish estimate evaluate examine execute exist expect explain explore express fail fall
    feel fetch figure fill find finish fit fix fly focus follow forget get give go grab grow guess handle happen
    hate hear help hold hope identify ignore imagine implement improve include increase indicate inform insert
    inspect install intend introduce investigate invite involve join keep kill know lack land lead learn leave lend
    listen live load locate look lose love make manage matter mean meet mention merge miss mount move need note
    notice obtain occur offer open order organize own pay perform pick plan play point post prefer prepare prevent
    produce propose prove provide publish pull purchase push put raise reach react read realize receive recommend
    reduce refer refuse reject relate release remain remember remind remove rent repair repeat replace reply report
    represent request require reschedule reserve resolve respond restart return reveal review revise run save say
    schedule search see seem select sell send serve set settle share show sign sit skip solve sound speak spend
    stand start state stay stick stop submit suffer suggest suit supply support suppose switch take talk tell test
    think throw transfer travel trigger trust try turn understand update upgrade use verify visit wait walk want
    warn watch wear wish wonder work worry write"""
)
VERB_STEMS = frozenset(map(stem, _VERBS))
"""Stems of frequent verbs, so that what they act on can be told from them."""
_IRREGULAR = listed(
    """ate became began bought brought built came chose did done drove fell felt flew forgot found gave given gone gone
    got gotten grew heard held kept knew known left lost made meant met paid ran said sat saw seen sent set shown
    sold spent spoke stood taken taught thought told took understood went wore woke written wrote"""
)
_ADJECTIVES = listed(
    """able available bad best better big cheap cheaper cheapest clear close correct current different difficult early
    easy enough entire expensive extra fast favorite few final free full further glad good great happy hard high
    important interested interesting large late later latest little long low main major moderate new nice old open
    particular perfect pleasant possible present previous ready recent second separate short similar simple small
    special specific strong sure third total true upcoming useful various warm weak whole wonderful wrong young"""
)
_DETERMINERS = listed(
    """a an the my your our their his her its this that these those some any each every another no which what whose"""
)
_TOKEN = re.compile(r"[^\W_]+(?:[-.'’][^\W_]+)*|[^\w\s]")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]”’]*\s+(?=[^\s])|\n+")
_ABBREVIATIONS = "mr|mrs|ms|dr|st|no|vs|etc|e\\.g|i\\.e|al|fig|eq|approx|dept|inc|ltd|jr|sr"
_ABBREVIATION = re.compile(rf"(?:\b(?:{_ABBREVIATIONS})|\b[A-Z])\.$", re.IGNORECASE)

MAX_READ_CHARS = 4_000
"""How much of a step is read word by word: what it is about shows in its beginning."""


class SentenceForm(str, Enum):
    """What kind of move a sentence is, by its form alone."""

    QUESTION = "question"
    REQUEST = "request"
    """An imperative, "let's ...", "I want ...", "can you ..."."""
    GREETING = "greeting"
    FAREWELL = "farewell"
    THANKS = "thanks"
    AGREEMENT = "agreement"
    REFUSAL = "refusal"
    APOLOGY = "apology"
    STATEMENT = "statement"

    __hash__ = str.__hash__  # that of an enumeration is Python code


class NounPhrase(NamedTuple):
    """A run of words that names something: "check-in date" with the head "date"."""

    text: str
    """Lower case, without determiners."""
    head: str
    start: int
    """Index of the first character in the text that was read."""


_OPENINGS = (
    (
        SentenceForm.THANKS,
        (
            r"(?:(?:ok|okay|great|perfect|awesome|cool|alright|all right|no|yes)[,.! ]+)?(?:many )?"
            r"(?:thanks|thank you|thx|ty\b|cheers|much appreciated|i appreciate)"
        ),
    ),
    (
        SentenceForm.FAREWELL,
        (
            r"(?:good ?bye|bye|see (?:you|ya)|farewell|take care|good night|later\b"
            r"|(?:you )?(?:have|enjoy) (?:an?|your|the) (?:\w+ ){0,2}?(?:day|night|evening|weekend|time|trip|one|stay)"
            r"|have fun)"
            r"|(?:you'?re|you are) (?:very |most |quite )?welcome|my pleasure|(?:i'm )?glad (?:i could|to) help"
        ),
    ),
    (SentenceForm.GREETING, r"(?:hello|hi|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day)|welcome)\b"),
    (
        SentenceForm.APOLOGY,
        (
            r"(?:(?:i'?m|i am|we'?re|we are|my|so|very)? ?(?:sorry|apologies|apologize|unfortunately|regrettably)"
            r"|i apologi[sz]e|excuse me|my bad)"
        ),
    ),
    (
        SentenceForm.REFUSAL,
        (
            r"(?:no|nope|nah|not really|never ?mind|i don'?t think so|i'?d rather not|that'?s wrong"
            r"|nothing (?:else|more)|i'?m (?:all )?(?:good|set|done)"
            r"|(?:that'?s|that is|that will be|that would be|that'll be) (?:all|it|everything|enough)"
            r"|not (?:now|yet|today|right now))\b(?! (?:problem|worries|idea|doubt))"
        ),
    ),
    (
        SentenceForm.AGREEMENT,
        (
            r"(?:yes|yeah|yep|yup|yea|sure|ok|okay|okey|alright|all right|right|correct|exactly|absolutely|definitely"
            r"|certainly|of course|agreed|fine|perfect|great|awesome|cool|no problem|no worries|indeed"
            r"|sounds? (?:good|great|fine|perfect|like)|that (?:sounds|works|would be|will (?:do|work)|is (?:fine|right"
            r"|correct|great))|that's (?:right|correct|fine|great|good|perfect)|got it|i see|works for me"
            r"|makes sense)\b"
        ),
    ),
)
_OPENING = re.compile("|".join(f"(?P<{form.name}>{pattern})" for form, pattern in _OPENINGS), re.IGNORECASE)
_QUESTION_WORDS = (
    r"(?:what|which|who|whom|whose|where|when|why|how)\b|(?:what|who|where|when|how)'s\b"
    r"|(?:do|does|did|is|are|am|was|were|will|would|can|could|should|shall|may|might|have|has|had|isn't|aren't|don't"
    r"|doesn't|didn't|won't|can't|couldn't|wouldn't|any(?:one|body)) (?:you|i|we|they|he|she|it|there|that|this|the|any"
    r"|some|my|your|our|else|here|know|knows|got|have)\b"
)
_LEADS = "and|so|but|well|ok|okay|also|then|now|hi|hey|hello|btw"
_QUESTION = re.compile(rf"(?:(?:{_LEADS}|[\w'-]+ ?[:,]) ?)*(?:{_QUESTION_WORDS})", re.IGNORECASE)
_REQUEST = re.compile(
    rf"(?:(?:{_LEADS}|yes|yeah|sure|great|first|next|actually|alright)[,.!]* )*"
    r"(?:please\b|let'?s\b|let us\b|(?:can|could|would|will|can't) (?:you|we) (?:please |also |maybe )?"
    r"(?!(?:do you|tell you|like|want|prefer|be)\b)[a-z]+"
    r"|i(?:'d| would| really| also| just)* (?:like|love|want|need|wish|prefer)\b"
    r"|(?:i'm|i am) (?:looking|trying|hoping|planning|going|thinking|interested|searching)"
    r"|we (?:need|want|should)\b|we'(?:d|re) (?:like|looking|going)|(?P<verb>[a-z]+)\b)",
    re.IGNORECASE,
)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Where the sentences of a text stand, in characters; line breaks end sentences, abbreviations do not."""
    spans: list[tuple[int, int]] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if "\n" not in end.group() and _ABBREVIATION.search(text, start, end.start()):
            continue
        if text[start : end.start()].strip():
            spans.append((start, end.start()))
        start = end.end()
    if text[start:].strip():
        spans.append((start, len(text)))
    return spans


def sentences(text: str) -> list[str]:
    """The sentences of a text, without outer blanks."""
    return [text[start:end].strip() for start, end in sentence_spans(text)]


@lru_cache(maxsize=4_096)
def sentence_form(sentence: str) -> SentenceForm:
    """What kind of move a sentence is.

    A sentence with a question mark is a question unless it asks somebody to do something; after an opening such as
    "Yes," the opening decides.
    """
    sentence = sentence.strip().replace("’", "'")
    ends_asking = sentence.rstrip("\"')”’ ").endswith("?")
    opening = _OPENING.match(sentence)
    if opening and not (ends_asking and opening.end() < len(sentence) * 0.8):
        return SentenceForm[opening.lastgroup or "STATEMENT"]
    request = _REQUEST.match(sentence)
    verb = request["verb"].lower() if request and request["verb"] else None
    if verb and (verb in FUNCTION_WORDS or not is_verb(verb, base=True)):
        request = None
    if request and not (ends_asking and verb):
        return SentenceForm.REQUEST
    if ends_asking or _QUESTION.match(sentence):
        return SentenceForm.QUESTION
    return SentenceForm.STATEMENT


@lru_cache(maxsize=16_384)
def is_verb(word: str, *, base: bool = False) -> bool:
    """Whether a lower-case word is a frequent verb; `base` asks for its plain form ("find", not "found")."""
    if base:
        return word in _VERBS
    return word in _IRREGULAR or stem(word) in VERB_STEMS


def content_words(text: str) -> list[str]:
    """The words of a text that can carry subject matter, in order: no function words, no single letters."""
    return [word for word in words(text) if word not in FUNCTION_WORDS and (len(word) > 1 or word.isdigit())]


def content_stems(text: str) -> list[str]:
    """As `content_words`, stemmed."""
    return [stem(word) for word in content_words(text)]


def noun_phrases(text: str) -> list[NounPhrase]:
    """Runs of words that name things, in order.

    A run ends at punctuation, function words and verbs (a verb after a determiner counts as a noun: "the search"). The
    head is the last word. Runs of adjectives or numbers alone are left out.
    """
    phrases: list[NounPhrase] = []
    run: list[str] = []
    start = 0
    after_determiner = determined = False
    for token in _TOKEN.finditer(text[:MAX_READ_CHARS]):
        word = token.group().lower().replace("’", "'")
        named = word[0].isalnum() and word not in FUNCTION_WORDS
        if named and is_verb(word):
            named = after_determiner or (
                bool(run) and (word.endswith(("ing", "er", "ion")) or (determined and is_verb(word, base=True)))
            )
        if named and word.endswith("ly") and not run:
            named = False
        if not named:
            _close(phrases, run, start)
            run = []
            after_determiner = word in _DETERMINERS or (after_determiner and word in _ADJECTIVES)
            continue
        if not run:
            start = token.start()
            determined = after_determiner
        run.append(word)
        after_determiner = False
    _close(phrases, run, start)
    return phrases


def _close(phrases: list[NounPhrase], run: list[str], start: int) -> None:
    while run and (run[-1] in _ADJECTIVES or not run[-1][0].isalpha() or (run[1:] and run[-1].endswith(("ly", "ed")))):
        run.pop()
    if run and len(run[-1]) > 1:
        phrases.append(NounPhrase(" ".join(run), run[-1].removesuffix("'s"), start))


_PLURALS_OF_IE = listed("movies cookies calories zombies selfies brownies rookies hoodies pixies smoothies")
_PLURALS_OF_US = listed("buses bonuses viruses statuses campuses minibuses gases aliases atlases")


@lru_cache(maxsize=16_384)
def singular(noun: str) -> str:
    """The singular of an English noun by its ending; unchanged where the ending says nothing."""
    if len(noun) < 4 or noun.endswith(("ss", "us", "is", "news", "series")):
        return noun
    if noun.endswith("ies"):
        return noun[:-3] + "y" if len(noun) > 4 and noun not in _PLURALS_OF_IE else noun[:-1]
    if noun.endswith(("ches", "shes", "xes", "sses", "zes")) or noun in _PLURALS_OF_US:
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") else noun

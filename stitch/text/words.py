"""Words: as everything that compares texts cuts and stems them, and closed lists of English words.

Nothing here knows a domain: the lists are of the language itself.
"""

from __future__ import annotations

import re
import threading
from functools import lru_cache

from stitch.core.text_cache import text_cache

MAX_READ_CHARS = 4_000
"""How much of a step is read word by word: what it is about shows in its beginning."""

_WORD = re.compile(r"[^\W_]+(?:[.'’][^\W_]+)*")
_INDIC = "".join(
    "".join(f"{chr(block + first)}-{chr(block + last)}" for first, last in ((0, 3), (0x3A, 0x4F), (0x62, 0x63)))
    for block in range(0x0900, 0x0E00, 0x80)  # all blocks are laid out alike
)
_MARKS = f"\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0670\u0e31\u0e34-\u0e3a\u0e47-\u0e4e{_INDIC}"
"""Accents, points and vowels that stand above, below and beside letters: `re` takes them for no part of a word."""
_MARKED_WORD = re.compile(rf"[^\W_](?:[^\W_]|[{_MARKS}])*(?:[.'’][^\W_]+)*")
_JOINING = frozenset(".'\u2019")
_DOTTED = "\u0130"
"""The capital of the Turkish i: in lower case it would be two characters, and its word two words."""
_local = threading.local()


def words(text: str) -> list[str]:
    """The words and numbers of a text, folded to lower case; "3.14" and "don't" stay whole."""
    if _DOTTED in text:
        text = text.replace(_DOTTED, "I")
    found: list[str] = (_WORD if text.isascii() else _MARKED_WORD).findall(text.lower())
    return [word.replace("’", "'") for word in found] if "’" in text else found


def stems(text: str) -> list[str]:
    """The Snowball (English) stems of the words of a text, in order, repeated as they occur."""
    return [stem(word) for word in words(text)]


@text_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The Snowball (English) stem of one lower-case word."""
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:  # a Stemmer keeps a buffer of its own: one for each thread
        import Stemmer

        stemmer = _local.stemmer = Stemmer.Stemmer("english", 0)  # without a cache: an erasure could not clear it
    return str(stemmer.stemWord(word.removesuffix("'s")))


def says_stem(folded: str, stemmed: str) -> bool:
    """Whether a text has a word of this stem: `stemmed in stems(text)`, without cutting the text into words.

    Args:
        folded: The text in lower case.
        stemmed: As `stem` gives it.
    """
    # A stem is the beginning of its words but for its last letter ("happi"), and of "lying" it is "lie".
    begins = stemmed[:1] if len(stemmed) == 3 and stemmed.endswith("ie") else stemmed[:-1] or stemmed
    begins = begins.partition("'")[0]  # which may be written as another sign
    place = folded.find(begins)
    while place >= 0:
        if _begins_word(folded, place) and (word := _WORD.match(folded, place)) is not None:
            if stem(word[0].replace("\u2019", "'")) == stemmed:
                return True
            place = word.end() - 1
        place = folded.find(begins, place + 1)
    return False


def _begins_word(folded: str, place: int) -> bool:
    before = folded[place - 1 : place]
    return not before.isalnum() and not (before in _JOINING and folded[max(0, place - 2) : place - 1].isalnum())


def word_set(text: str) -> frozenset[str]:
    """The words of a closed list that is written as running text."""
    return frozenset(text.split())


def whole_words(pattern: str) -> re.Pattern[str]:
    """A pattern of whole words, for texts that `fold_case` made; line breaks and indentation in it do not count."""
    joined = "".join(line.strip() for line in pattern.split("\n"))
    return re.compile(rf"(?<!\w)(?:{joined})(?!\w)")


def fold_case(text: str) -> str:
    """The text in lower case with plain apostrophes, every character at its place."""
    lowered = text.replace(_DOTTED, "I").lower()
    if len(lowered) != len(text):  # a few letters of other scripts grow when they are folded
        lowered = "".join(low if len(low := letter.lower()) == 1 else letter for letter in text.replace(_DOTTED, "I"))
    return lowered.replace("’", "'")


FUNCTION_WORDS = word_set(
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

_VERBS = word_set(
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
_IRREGULAR = word_set(
    """ate became began bought brought built came chose did done drove fell felt flew forgot found gave given gone gone
    got gotten grew heard held kept knew known left lost made meant met paid ran said sat saw seen sent set shown
    sold spent spoke stood taken taught thought told took understood went wore woke written wrote"""
)


@lru_cache(maxsize=1)
def _verb_stems() -> frozenset[str]:
    return frozenset(map(stem, _VERBS))  # not when the module is loaded: the stemmer loads on first use


@text_cache(maxsize=16_384)
def is_verb(word: str, *, base: bool = False) -> bool:
    """Whether a lower-case word is a frequent verb; `base` asks for its plain form ("find", not "found")."""
    if base:
        return word in _VERBS
    return word in _IRREGULAR or stem(word) in _verb_stems()


_PLURALS_OF_IE = word_set("movies cookies calories zombies selfies brownies rookies hoodies pixies smoothies")
_PLURALS_OF_US = word_set("buses bonuses viruses statuses campuses minibuses gases aliases atlases")


@text_cache(maxsize=16_384)
def singular(noun: str) -> str:
    """The singular of an English noun by its ending; unchanged where the ending says nothing."""
    if len(noun) < 4 or noun.endswith(("ss", "us", "is", "news", "series")):
        return noun
    if noun.endswith("ies"):
        return noun[:-3] + "y" if len(noun) > 4 and noun not in _PLURALS_OF_IE else noun[:-1]
    if noun.endswith(("ches", "shes", "xes", "sses", "zes")) or noun in _PLURALS_OF_US:
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") else noun

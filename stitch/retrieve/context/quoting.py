"""Texts of a memory as data in a prompt: nothing in them can begin or end what stands around them.

Three things in a text could: an element of the context, a marker by which chat templates tell turns apart, and signs
that nobody sees. They are known by class and not by list: what stands after an opening bracket is read as a person (or
a tokenizer that folds) would read it, without unseen signs and accents, in Latin letters of the same shape.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime, timezone
from html import escape

from stitch.core.text_cache import text_cache

_LINE_BREAKS = re.compile("\r\n?|[\u000b\u000c\u0085\u2028\u2029]")
_UNSEEN = re.compile(
    "[\u0000-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f\ud800-\udfff]"  # controls, halves of signs
    "|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|[\u200c\u200d\ufe0e\ufe0f]{2,}"  # one joins letters or colors an emoji; more of them hide a text
)
"""Signs that a person does not see and a model reads: what Unicode calls default-ignorable, and controls."""
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_PLAIN = re.compile(r"[a-zA-Z0-9 .,'_/-]*")
_JOINING = "\u200c\u200d\ufe0e\ufe0f"

_LEFT = "<\u02c2\u1438\u2039\u2329\u276c\u276e\u27e8\u29fc\u3008\ufe64\uff1c"
_RIGHT = ">\u02c3\u1433\u203a\u232a\u276d\u276f\u27e9\u29fd\u3009\ufe65\uff1e"
_SQUARE_LEFT, _SQUARE_RIGHT = "[\u2772\u27e6\u3010\u3014\u301a\uff3b", "]\u2773\u27e7\u3011\u3015\u301b\uff3d"
_BARS = "|\u00a6\u01c0\u05c0\u2223\u23d0\u2502\u2503\u2758\uff5c\uffe8"
_SHAPES = {
    **{ord(sign): plain for signs, plain in ((_LEFT, "<"), (_RIGHT, ">"), (_BARS, "|")) for sign in signs},
    **{ord(sign): plain for signs, plain in ((_SQUARE_LEFT, "["), (_SQUARE_RIGHT, "]")) for sign in signs},
    **dict(zip(map(ord, "аеорсуѕтмгһіјԁԛԝкοερτυμικνγӏ▁"), "aeopcystmrhijdqwkoeptumikvyl_", strict=True)),
}
_NAMED_LETTER = re.compile(
    r"(?:LETTER SMALL CAPITAL|MODIFIER LETTER(?: SMALL| CAPITAL)*|REGIONAL INDICATOR SYMBOL LETTER"
    r"|(?:SQUARED|CIRCLED|PARENTHESIZED) LATIN (?:CAPITAL|SMALL) LETTER|TAG LATIN (?:CAPITAL|SMALL) LETTER) ([A-Z])"
)

_OPENERS = re.compile(f"[{_LEFT}{re.escape(_SQUARE_LEFT + _SQUARE_RIGHT)}]")
_NO_LETTERS = re.compile(rf"(?:[^\w{_LEFT}]|_)*")
_FIRST_WORD = re.compile(r"(?:memory|step|theme)(?![a-z0-9])")
_REACH_CHARS = 64
_ANGLE_MARKER = re.compile(
    r"[\s/]*(?:\||(?:[a-z0-9.-]*[_:][a-z0-9_:.-]*"
    r"|s|bos|eos|pad|unk|sep|cls|mask|sop|eop|sys|system|user|assistant|human|bot|ai|model|role|think|tool|用户)\s*/?>)"
)
"""`<|...`, and names as `<start_of_turn>`, which no markup language has, or which stand for a turn."""
_SQUARE_MARKER = re.compile(
    r"[\s/]*(?:\||[a-z~]*~|(?:[a-z]+_[a-z_]+|inst|gmask|smask|mask|bos|eos|cls|sep|pad|unk|args|img|audio|think|system"
    r"|user|assistant|prefix|suffix|middle)\s*])"
)
"""`[INST]`, `[TOOL_CALLS]`, `[|user|]`, `[e~[`."""
_CLOSING_MARKER = re.compile(r"\s*(?:~|![a-z]*~)")
"""`]~b]`, `]!d~[`."""
_HEADS = re.compile("^([^\n:\u2236\ua789\ufe55\uff1a]{1,80})[:\u2236\ua789\ufe55\uff1a]", re.MULTILINE)
_TURN = re.compile(
    r"[ \t>*#]*(?:gpt[\w.-]*[ ]\w+[ ])?<?"
    r"(?:human|assistant|user|system|instruct(?:ion)?|response|bot|ai|model)>?[ *]*"
)
"""A turn as templates without markers begin it: "### Instruction:", "Human:", "GPT4 Correct User:"."""

_EARLIEST_S, _LATEST_S = 1e8, 1e11
"""Between these, a number is taken for Unix seconds."""


def quote(text: str) -> str:
    """Return `text` so that it neither opens nor closes what stands around it, and without what nobody can see.

    Of what reads as an element of a context or as the marker of a chat template, the first sign (of a turn its colon)
    is written as an HTML entity: `&lt;`, `&#91;`, `&#58;`. All else stays as it is, markup and code included.
    """
    return _defuse(_seen(text))


@text_cache(maxsize=4096)
def quote_attribute(value: str) -> str:
    """Return a value for an attribute in double quotes, on one line."""
    line = " ".join(_seen(value).split())
    return line if _PLAIN.fullmatch(line) else _defuse(escape(line))


def clock(moment: float | str) -> str:
    """A moment as a person reads it, in UTC to the minute; a text as it is."""
    return str(moment) if isinstance(moment, str) else _clock(moment)


@text_cache(maxsize=4096)
def _clock(moment: float) -> str:
    if not _EARLIEST_S <= moment < _LATEST_S:
        return str(moment)
    return datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%d %H:%M")


def _seen(text: str) -> str:
    """The text without what nobody sees, every line break as one."""
    if text.isascii() and (text.isprintable() or _CONTROLS.search(text) is None):
        return text
    return _UNSEEN.sub("", _LINE_BREAKS.sub("\n", text))


def _defuse(text: str) -> str:
    ascii_only = text.isascii()  # of such texts, most have nothing that begins or ends a marker
    if not ascii_only or "<" in text or "[" in text or "]" in text:
        text = _OPENERS.sub(_escape_marker, text)
    return text if ascii_only and ":" not in text else _HEADS.sub(_escape_turn, text)


def _escape_marker(opener: re.Match[str]) -> str:
    text, end, shape = opener.string, opener.end(), opener[0].translate(_FOLDED)
    after = text[end : end + _REACH_CHARS].translate(_FOLDED)
    if shape == "<":
        letters = _NO_LETTERS.match(text, end)
        word = text[letters.end() if letters else end :][:_REACH_CHARS].translate(_FOLDED)
        return "&lt;" if _FIRST_WORD.match(word) or _ANGLE_MARKER.match(after) else opener[0]
    if shape == "[":
        return "&#91;" if _SQUARE_MARKER.match(after) else opener[0]
    return "&#93;" if _CLOSING_MARKER.match(after) else opener[0]


def _escape_turn(head: re.Match[str]) -> str:
    return f"{head[1]}&#{ord(head[0][-1])};" if _TURN.fullmatch(head[1].translate(_FOLDED)) else head[0]


class _Folding(dict[int, str]):
    """Every sign as it reads: in lower case, without accents, in the Latin letter or bracket of the same shape."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _fold(chr(code))
        return folded


def _fold(sign: str) -> str:
    if sign.isascii():
        return sign.lower()
    if sign in _JOINING or unicodedata.combining(sign):
        return ""
    if ord(sign) in _SHAPES:
        return _SHAPES[ord(sign)]
    if named := _NAMED_LETTER.search(unicodedata.name(sign, "")):
        return named[1].lower()
    parts = [part for part in unicodedata.normalize("NFKD", sign) if not unicodedata.combining(part)]
    return "".join(_SHAPES.get(ord(part.lower()), part.lower()) if len(part.lower()) == 1 else part for part in parts)


_FOLDED = _Folding()

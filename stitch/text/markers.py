"""Signs in a text that begin or end what stands around it in a prompt: elements of contexts, markers of chat templates.

They are known by class and not by list: what stands after an opening bracket is read as a person (or a tokenizer that
folds) would read it, without unseen signs and accents, in Latin letters of the same shape.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

_NO_SIGNS = "\ufdd0-\ufdef" + "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
"""Code points that will never be a sign."""
_LINE_BREAKS = re.compile("\r\n?|[\u000b\u000c\u0085\u2028\u2029]")
_UNSEEN = re.compile(
    f"[\u0000-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f\ud800-\udfff{_NO_SIGNS}]"  # controls, halves of signs
    "|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|[\u200c\u200d\ufe0e\ufe0f]{2,}"  # one joins letters or colors an emoji; more of them hide a text
)
"""Signs that a person does not see and a model reads: what Unicode calls default-ignorable, controls, and no signs."""
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_NOT_IN_LINES = re.compile(f"{_UNSEEN.pattern}|[\u000b\u000c\u0085\u2028\u2029]")
_JOINING = "\u200c\u200d\ufe0e\ufe0f"

_LEFT = "<\u226a\u227a\u02c2\u1438\u169c\u2039\u2329\u276c\u276e\u27e8\u29fc\u3008\ufe64\uff1c"
_RIGHT = ">\u226b\u227b\u02c3\u1433\u169b\u203a\u232a\u276d\u276f\u27e9\u29fd\u3009\ufe65\uff1e"
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
_NO_WORD = re.compile(r"\W")
_NO_LETTER = " \t\n/_.-!?*\"'`"
_FIRST_WORD = re.compile(r"(?:memory|step|theme)(?![a-z0-9]|_[a-z0-9])")
_REACH_CHARS = 64
_ANGLE_MARKER = re.compile(
    r"[\s/]*(?:\||(?:(?![^>]*::)[a-z0-9.-]*[_:][a-z0-9_:.-]*"
    r"|s|bos|eos|pad|unk|sep|cls|mask|sop|eop|sys|system|user|assistant|human|bot|ai|model|role|think|thinking|reflection|answer|system-reminder"
    r"|tools?|escape|image|audio|video|box|ref|quad"
    r"|(?:unused|ctrl|control|special|reserved)-?\d{1,6}|用户)\s*/?>|[a-z0-9.-]{1,40}\s*\|\s*>"
    r"|invoke\s+name\s*=|(?:function|parameter)\s*=)"
)
"""`<|...`, and names as `<start_of_turn>`, which no markup language has, or which stand for a turn."""
_SQUARE_MARKER = re.compile(
    r"[\s/]*(?:\|[^|\[\]]{1,40}\||\[\s*##|[a-z]?~\["
    r"|(?:available_tools?|tool_(?:calls?|results?|responses?|content)|system_prompt|model_settings"
    r"|(?:begin|start|end)_(?:of_)?(?:text|turn|role|image|img|audio|inst|sentence)|(?:img|image)_(?:break|end|start)"
    r"|(?:unused|ctrl|control|special|reserved|extra_id)_\d{1,6}|[a-z]+_token|inst|gmask|smask|mask|bos|eos|cls|sep|pad|unk|args|img|audio"
    r"|transcribe|think|system|user|assistant|prefix|suffix|middle)\s*])"
)
"""`[INST]`, `[TOOL_CALLS]`, `[|user|]`, `[e~[`, and `[[ ## answer ## ]]`, by which DSPy tells fields apart.

Of names with a `_` only those of templates: `[first_name]` is a blank that somebody fills in.
"""
_INDEX = re.compile(r"\[[a-z_]+\]")
_ENTITIES = {"<": "&lt;", "[": "&#91;", "]": "&#93;"}
_CLOSING_MARKER = re.compile(r"\s*(?:~!?[a-z]?[\[\]]|![a-z]*~|<\s*]\s*[a-z])")
"""`]~b]`, `]!d~[`, `]<]image[>[`."""


def seen(text: str) -> str:
    """The text without what nobody sees, every line break as one."""
    if text.isascii() and (text.isprintable() or _CONTROLS.search(text) is None):
        return text
    return _UNSEEN.sub("", _LINE_BREAKS.sub("\n", text))


def escape_unseen(text: str, *, escape: Callable[[str], str]) -> str:
    """The text with what nobody sees, and line breaks that few know, written as escapes."""
    if text.isascii() and _CONTROLS.search(text) is None:
        return text
    return _NOT_IN_LINES.sub(lambda sign: escape(sign[0]), text)


def escape_markers(text: str, *, escape: Callable[[str], str]) -> str:
    """The text with the first sign of each marker and element written as an escape; all else stays as it is."""
    if text.isascii() and not ("<" in text or "[" in text or "]" in text):
        return text  # of such texts, most have nothing that begins or ends a marker
    return _OPENERS.sub(lambda opener: escape(opener[0]) if _begins_marker(opener) else opener[0], text)


class Quoted(str):
    """A text of which every part was made harmless when it was put together, with elements of its own around them."""


def harmless(given: Any) -> Any:
    """A text, or a list of texts, without what nobody sees and with each marker escaped.

    What is no text, or is `Quoted`, stays as it is.
    """
    if isinstance(given, Quoted):
        return str(given)
    if isinstance(given, str):
        return escape_markers(seen(given), escape=entity)
    return [harmless(each) for each in given] if isinstance(given, list | tuple) else given


def harmless_json(text: str) -> str:
    """JSON in which what nobody sees, and the beginning of each marker, are JSON's own escapes: it says the same."""
    return escape_markers(escape_unseen(text, escape=_escaped), escape=_escaped)


def _escaped(signs: str) -> str:
    return "".join(f"\\u{ord(sign):04x}" for sign in signs) if signs.isascii() else json.dumps(signs)[1:-1]


def entity(sign: str) -> str:
    """The HTML entity of a bracket of any shape."""
    return _ENTITIES[folded(sign)]


def folded(text: str) -> str:
    """The text as it reads: in lower case, without accents, in Latin letters and brackets of the same shape."""
    return text.translate(_FOLDED)


def _begins_marker(opener: re.Match[str]) -> bool:
    text, end, shape = opener.string, opener.end(), opener[0].translate(_FOLDED)
    after = text[end : end + _REACH_CHARS].translate(_FOLDED)
    if shape == "<":
        letters = _NO_LETTERS.match(text, end)
        written = text[letters.end() if letters else end :][:_REACH_CHARS]
        # A letter in a square may be one of the word, begin it or end it.
        words = (written.translate(_FOLDED), _NO_WORD.sub(" ", written).translate(_FOLDED), after.lstrip(_NO_LETTER))
        return any(map(_FIRST_WORD.match, words)) or _ANGLE_MARKER.match(after) is not None
    if shape == "]":
        return _CLOSING_MARKER.match(after) is not None
    return _SQUARE_MARKER.match(after) is not None and not _is_code(opener)


def _is_code(opener: re.Match[str]) -> bool:
    """Whether a bracket holds an index, as in `rows[user]`, or the text of a link, as in `![img](x.png)`.

    No template has markers in small letters that stand right behind a word, or right before a parenthesis.
    """
    text = opener.string
    held = _INDEX.match(text, opener.start())
    before = text[max(0, opener.start() - 1) : opener.start()]
    return held is not None and (before.isalnum() or before in ("_", ")", "]") or text.startswith("(", held.end()))


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

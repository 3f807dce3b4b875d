"""Text in which somebody speaks: chats, transcripts, subtitles, text with role marks, and tables with a header."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

from stitch.sources.limits import MAX_RECORD_BYTES, Unreadable
from stitch.sources.lines import decoded, read_as
from stitch.sources.parts import without
from stitch.sources.placeholders import NOTED, PLACEHOLDER, noted_by_program, says_nothing
from stitch.text.dates import date_alone, is_slashed, iso_of_slashed, month_leads, probable_order

Lines = Iterable["tuple[int, bytes]"]
Utterances = Iterator["tuple[int, Any]"]

_BARE = r"(?P<bare>\d[\d/.:,T APMapm\u202f-]{3,30}?)\s+-\s+"
_LEVELS = "(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)"
_NEXT_SAYS = rf"(?!{_LEVELS}\b)(?=[^\W\d_][\w .'-]{{0,40}}:\s)"
_CLOCK = (r"(?P<clock>(?:\d{4}-\d\d-\d\d[ T])?\d{1,2}:\d\d(?::\d\d)?)"
          rf"(?:\s+(?=<)|[ ]{{1,4}}{_NEXT_SAYS}|\t(?=[^\t\n]{{1,40}}\t))")  # fmt: skip
_STAMP = rf"(?:\[(?P<square>[^\]\n]{{4,40}})\]\s*|\((?P<round>\d[^)\n]{{3,40}})\)\s*|{_BARE}|{_CLOCK})?"
_WHO = r"[^\W\d_][\w .'&()/-]{0,60}?"
_WITHIN = r"\s*(?:[(\[](?P<within>\d[^)\]\n]{2,30})[)\]]\s*)?"
_BOLD, _NICK = rf"\*\*(?P<who>{_WHO}):?\*\*:?", r"<\s{0,3}[@+%~&]?(?P<nick>[^<>\s]{1,40})>"
_NAMED, _PHONE = rf"~?\s?(?P<name>{_WHO}){_WITHIN}:", r"(?P<phone>\+\d[\d ()\u00a0-]{5,24}):"
_PROMPT = r"(?P<prompt>(?i:user|assistant|human|ai|bot|system|you|model))>"
_TAB = r"(?<=\t)(?P<tab>[^\t\n]{1,40})(?=\t)"
_SENT = re.compile(r"(?P<clock>(?:\d{4}-\d\d-\d\d )?\d{1,2}:\d\d:\d\d)\s+From\s+(?P<who>[^:\n]{1,80}?)"
                   r"(?:\s+to\s+(?P<to>[^:\n]{1,80}))?\s*:(?=\s|$)")  # fmt: skip
"""How a line of a chat begins that says to whom something is sent: `10:04:12 From Ann to Everyone:`."""
_SPEAKER = re.compile(rf"{_STAMP}(?:{_BOLD}|{_NICK}|{_NAMED}|{_PHONE}|{_PROMPT}|{_TAB})(?=\s|$)")
"""How a line of plain text begins that says who speaks: `Ann:`, `[10:04] Ann:`, `1/2/26, 10:04 - Ann:`, `<ann>`."""

_AT = r"(?P<clock>[\d-]{0,10}[ T]?\d{1,2}:\d\d(?::\d\d)?)"
_NOTICE = re.compile(rf"(?:\[(?P<square>(?=[^\]]*\d)[^\]\n]{{4,40}})\]\s+|{_BARE}|{_AT}\s+)(?P<said>.+)")
_OF_DAY = re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?")
_NO_SPEAKERS = frozenset(
    {"note", "notes", "warning", "error", "errors", "todo", "example", "examples", "summary", "ps", "output", "input",
     "result", "results", "step", "steps", "title", "subject", "date", "time", "usage", "code", "file", "files", "tip",
     "tips", "hint", "total", "price", "total price", "address", "phone", "options", "details", "conclusion", "data",
     "event", "role", "content", "messages"}
)  # fmt: skip
_ROLES = frozenset({"user", "human", "assistant", "ai", "bot", "model", "system", "tool", "you", "me", "prompt",
                    "response", "chatgpt", "claude", "gemini", "copilot", "gpt", "gpt-4", "developer"})  # fmt: skip
_HEADING = re.compile(r"#{1,6}\s+\W{0,3}(?P<who>[\w.-]{2,20})\W{0,3}$")
_MARKED = re.compile(
    r"<\|im_start\|>\s*(?P<chat>[\w-]{1,40})[^\n]{0,80}\n|<\|start_header_id\|>(?P<llama>[\w-]{1,40})<\|end_header_id\|>"
)
_MARKS = re.compile(r"<\|(?:im_end|eot_id|end_of_text|begin_of_text|endoftext)\|>")
_CUE = re.compile(r"(?P<began>(?:\d\d:)?\d\d:\d\d[.,]\d{3})\s+-->\s+\S+")
_VOICE = re.compile(r"<v(?:\.[\w.]+)?\s+(?P<who>[^>]{1,60})>")
_TAKE = re.compile(rf"(?P<who>{_WHO})\s{{2,}}(?P<at>(?:\d{{1,2}}:)?\d{{1,2}}:\d\d)$")
_AIDER = "# aider chat started at"
_AIDER_ROLES = (("#### ", "user"), (">", "notice"))
_MOST_LINES = 100_000
_LEADING = "\ufeff\u200e\u200f\u202a\u202b\u2068"


def speaker_of(line: str) -> dict[str, Any] | None:
    """Speaker, words and time of a line; None if it goes on with what was said before."""
    line = line.strip().lstrip(_LEADING)
    if sent := _SENT.match(line):
        said = line[sent.end() :].strip()
        return {"role": sent["who"], "content": said, "timestamp": sent["clock"], "to": sent["to"]}
    found = _SPEAKER.match(line)
    if found is None:
        return None
    who = next(filter(None, map(found.group, ("who", "nick", "name", "phone", "prompt", "tab")))).strip()
    stamp = next(filter(None, map(found.group, ("square", "round", "bare", "clock", "within"))), None)
    if found["phone"] and stamp is None:
        return None
    if found["name"] and stamp is None and not _may_speak(who):
        return None
    said = line[found.end() :].strip(_LEADING + " \t")
    if found["tab"] and not any(sign.isalnum() for sign in who):
        # A star says what somebody did, an arrow that somebody came or went.
        who = said.split(" ", 1)[0] if who == "*" and said else "notice"
    spoken = {"role": who.lstrip("@+%~&") if found["tab"] else who, "content": said}
    spoken |= noted_by_program(line[found.end() :])
    return spoken | ({"timestamp": stamp.strip()} if stamp else {})


def speaks(line: bytes) -> bool:
    """Whether a line says who speaks."""
    return speaker_of(decoded(line)) is not None


def conversation_in(head: Sequence[tuple[int, bytes]], lines: Lines) -> Utterances | None:
    """Messages of a text with their line numbers; None if nobody speaks in its `head`.

    No more lines are read than are asked for.
    """
    texts = [decoded(raw).strip() for _, raw in head]
    whole = "\n".join(texts)
    if texts and texts[0].startswith(_AIDER):
        return _utterances(lines, begins=_aider_line(), joined=("user", "assistant", "notice"))
    if _MARKED.search(whole + "\n"):
        return _marked(lines)
    if sum(map(bool, map(_CUE.match, texts))) > 1 or texts[:1] == ["WEBVTT"]:
        return _subtitles(lines)
    if len({heading for heading in map(_heading_of, texts) if heading}) > 1:
        return _utterances(lines, begins=_under_heading)
    if sum(map(bool, map(_TAKE.match, texts))) > 1:
        return _utterances(lines, begins=_take_of)
    if _commands(texts):
        return _utterances(lines, begins=_played_line, joined=("environment",))
    if speaks(head[0][1]) or sum(speaks(raw) for _, raw in head) > 1:
        return _utterances(lines, begins=speaker_of)
    return None


def in_one_order(said: Utterances) -> Utterances:
    """The messages of a text, with times in which it is known, or probable, whether the month comes first.

    Those before the first that shows it wait for that one.
    """
    waiting: list[tuple[int, Any]] = []
    order: bool | None = None
    for number, one in said:
        waiting.append((number, one))
        stamp = one.get("timestamp")
        order = month_leads(stamp) if is_slashed(stamp) else None
        if order is not None or not is_slashed(waiting[0][1].get("timestamp")) or len(waiting) > _MOST_LINES:
            break
    stamps = [stamp for _, one in waiting if is_slashed(stamp := one.get("timestamp"))]
    if order is None and stamps:
        order = probable_order(stamps)
    for number, one in chain(waiting, said):
        stamp = one.get("timestamp")
        slashed = order is not None and is_slashed(stamp)
        one = {**one, "timestamp": iso_of_slashed(stamp, month_first=bool(order))} if slashed else one
        yield number, PLACEHOLDER if says_nothing(one) else without(one, NOTED)


def _may_speak(who: str) -> bool:
    """Whether a name is one, and not the beginning of a sentence that ends in a colon."""
    words = re.sub(r"\([^)]{0,60}\)", " ", who).split()
    if who.casefold() in _NO_SPEAKERS or not 0 < len(words) <= 5:
        return False
    return len(words) == 1 or all(not word[0].islower() or len(word) <= 3 for word in words[1:])


def _utterances(
    lines: Lines, *, begins: Callable[[str], dict[str, Any] | None], joined: tuple[str, ...] = ()
) -> Utterances:
    """The messages of a text: a line on which somebody `begins` to speak, and others that go on with it.

    What those in `joined` begin to say after they spoke goes on with it, too.
    """
    speakers = _Speakers(begins)
    number, spoken, said, foreign = 0, {"role": "text"}, list[str](), dict[str, str]()
    for line_number, raw in lines:
        line = decoded(raw).strip()
        if speakers.dates(line):
            continue
        begun = speakers.begun_by(line)
        if begun is not None and begun["role"] == spoken["role"] in joined:
            line, begun = begun["content"], None
        if begun is None:
            number = number or line_number
            said.append(line)
        if said and (begun is not None or len(said) > _MOST_LINES):  # nobody says as much: it is given on in pieces
            yield number, {**spoken, "content": "\n".join(said).strip(), **foreign}
            number, said, foreign = 0, [], {}
        if begun is not None:
            number, spoken, said = line_number, begun, [begun["content"]]
        foreign |= read_as(raw)
    yield number, {**spoken, "content": "\n".join(said).strip(), **foreign}


class _Speakers:
    """Beginnings of speech in a text, in the light of how others began before."""

    def __init__(self, begins: Callable[[str], dict[str, Any] | None]) -> None:
        self._begins = begins
        self._last: dict[str, Any] | None = None
        self._day = ""
        """The day that was named last in a line of its own."""
        self._titled = False
        """The first name is written with a capital, as those of all others are then."""

    def dates(self, line: str) -> bool:
        """Whether a line says nothing but of which day the next ones are."""
        self._day = (day := date_alone(line)) or self._day
        return day is not None

    def begun_by(self, line: str) -> dict[str, Any] | None:
        """Begin of speech in a line: who says what, or a notice of a program; None if it goes on with what was said."""
        begun = self._begins(line)
        if begun is not None and self._last is None:
            self._titled = begun["role"][:1].isupper()
        if begun is not None and self._is_said(begun):
            begun = None
        if begun is None and (self._last is None or "timestamp" in self._last):
            begun = _notice_of(line)
        self._last = begun or self._last
        if begun is not None and self._day and _OF_DAY.fullmatch(begun.get("timestamp") or ""):
            return {**begun, "timestamp": f"{self._day} {begun['timestamp']}"}
        return begun

    def _is_said(self, begun: Mapping[str, Any]) -> bool:
        """Whether somebody says this: where names are written with a capital, `code: x = 1` is no speaker's."""
        return self._titled and begun["role"][:1].islower() and "timestamp" not in begun


def _notice_of(line: str) -> dict[str, Any] | None:
    """Notice of a program between messages that have a time."""
    notice = _NOTICE.match(line)
    if notice is None:
        return None
    stamp = next(filter(None, map(notice.group, ("square", "bare", "clock")))).strip()
    return {"role": "notice", "content": notice["said"].strip(_LEADING + " "), "timestamp": stamp}


def _heading_of(line: str) -> str | None:
    found = _HEADING.match(line)
    return found["who"].casefold() if found and found["who"].casefold() in _ROLES else None


def _under_heading(line: str) -> dict[str, Any] | None:
    heading = _heading_of(line)
    return {"role": heading, "content": ""} if heading else None


def _take_of(line: str) -> dict[str, Any] | None:
    found = _TAKE.match(line)
    return {"role": found["who"].strip(), "content": "", "timestamp": found["at"]} if found else None


def _commands(texts: Sequence[str]) -> bool:
    """Whether a text is a world that answers commands: lines after a `>`, none below another, as a quote's are.

    Most commands are no sentences: what a letter quotes to answer it ends with a point or a question mark.
    """
    given = [at for at, text in enumerate(texts) if text.startswith("> ")]
    sentences = sum(texts[at].rstrip().endswith((".", "?", "!", ",")) for at in given)
    if len(given) < 2 or given[0] == 0 or 2 * sentences >= len(given):
        return False
    apart = all(later - earlier > 1 for earlier, later in pairwise(given))
    return apart and not any(map(speaker_of, texts[given[0] + 1 : given[0] + 2]))


def _played_line(line: str) -> dict[str, Any]:
    """A line of such a world: a command, or what the world says then."""
    commanded = line.startswith("> ")
    return {"role": "assistant" if commanded else "environment", "content": line.removeprefix("> ")}


def _marked(lines: Lines) -> Utterances:
    """Text in which marks of a chat template say whose turn it is."""
    numbered = [(number, decoded(raw)) for number, raw in lines]
    text = "".join(line for _, line in numbered)
    found = list(_MARKED.finditer(text))
    for turn, after in zip(found, [*found[1:], None], strict=True):
        number = text.count("\n", 0, turn.start()) + numbered[0][0]
        content = _MARKS.sub("", text[turn.end() : after.start() if after else len(text)]).strip()
        yield number, {"role": turn["chat"] or turn["llama"], "content": content}


def _subtitles(lines: Lines) -> Utterances:
    """Subtitles: who speaks stands in a voice mark or before a colon, when in the line of the times."""
    began, at, spoken, nobody = None, 0, list[str](), "text"
    for number, raw in chain(lines, [(0, b"00:00.000 --> end")]):
        line = decoded(raw).strip()
        if found := _CUE.match(line):
            if spoken:
                cue = _cue(spoken, began, nobody=nobody)
                # Where others are named, one who is not is somebody all the same.
                nobody = nobody if cue["role"] == "text" else "unknown"
                yield at, cue
            began, at, spoken = found["began"], number, []
        elif began is not None and not line.isdecimal():
            spoken.append(line)


def _cue(spoken: list[str], began: str | None, *, nobody: str) -> dict[str, Any]:
    text = " ".join(spoken)
    if voice := _VOICE.search(text):
        text = re.sub(r"</?v[^>]{0,80}>", "", text).strip()
        return {"role": voice["who"].strip(), "content": text, "timestamp": began}
    return {"role": nobody, "content": text, **(speaker_of(text) or {}), "timestamp": began}


def _aider_line() -> Callable[[str], dict[str, Any]]:
    """Reader of lines of the history of Aider: headings are what the user asked, quotes what the program said."""
    started = [""]

    def begins(line: str) -> dict[str, Any]:
        if line.startswith(_AIDER):
            started[0] = line.removeprefix(_AIDER).strip()
            return {"role": "notice", "content": line.removeprefix("# "), "session": started[0]}
        role, mark = next(((role, mark) for mark, role in _AIDER_ROLES if line.startswith(mark)), ("assistant", ""))
        return {"role": role, "content": line.removeprefix(mark).strip(), "session": started[0]}

    return begins


_WHO_COLUMNS = {"role", "speaker", "from", "sender", "author", "user", "username", "name", "participant", "agent",
                "who"}  # fmt: skip
_WHAT_COLUMNS = {"content", "text", "message", "utterance", "value", "body", "msg"}
_HEADERS = {"name": "speaker", "who": "speaker"}
_PAIRS = ({"prompt", "response"}, {"prompt", "completion"}, {"instruction", "output"}, {"input", "output"},
          {"query", "response"}, {"question", "response"})  # fmt: skip
_DELIMITERS = ",\t;"


def delimiter_of(header: str) -> str | None:
    """The sign between the columns, if a line is the header of a table that says who speaks and what; else None."""
    for delimiter in _DELIMITERS:
        names = {name.strip().strip('"').casefold() for name in header.split(delimiter)}
        if (names & _WHO_COLUMNS and names & _WHAT_COLUMNS) or any(pair <= names for pair in _PAIRS):
            return delimiter
    return None


def rows_of(lines: Iterable[tuple[int, bytes]], *, delimiter: str) -> Iterator[tuple[int, Any]]:
    """Yield the rows of a table as records, with the lines on which they begin."""
    at, line, foreign = 0, b"", dict[str, str]()

    def texts() -> Iterator[str]:
        nonlocal at, line, foreign
        for number, raw in lines:
            at, line = number, raw
            foreign |= read_as(line)
            yield decoded(line)

    reader = csv.DictReader(texts(), delimiter=delimiter, restkey="more")
    names = [(name or "").strip() for name in reader.fieldnames or ()]
    known = {name: name.casefold() if name.casefold() in _WHO_COLUMNS | _WHAT_COLUMNS else name for name in names}
    if not {"role", "speaker"} & set(known.values()):
        known = {name: _HEADERS.get(plain, plain) for name, plain in known.items()}
    reader.fieldnames = [known[name] for name in names]
    csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD_BYTES))  # one for the process: by itself 128 kB
    begins = at + 1
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:  # those after it are read all the same
            yield begins, Unreadable(f"no row of a table: {str(error).partition(' - ')[0]}", line)
        else:
            if row is None:
                return
            yield begins, _said_in(row) | foreign
        begins, foreign = at + 1, {}


def _said_in(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key and value not in (None, "")}

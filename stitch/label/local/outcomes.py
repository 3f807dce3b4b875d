"""Outcomes of calls, from their results: success, failure, refusal, empty, timeout, partial.

Exit codes, exceptions, HTTP statuses, fields of JSON and the summaries of tests are read where programs write them: at
the beginning, at the end, and at the beginning of lines. A listing that quotes an error is no error.
"""

from __future__ import annotations

import re

from stitch.core.steps import Step

SUCCESS, FAILURE, REFUSAL, EMPTY, TIMEOUT, PARTIAL = "success", "failure", "refusal", "empty", "timeout", "partial"
OUTCOMES = (SUCCESS, FAILURE, REFUSAL, EMPTY, TIMEOUT, PARTIAL)
"""Event types of results."""
BAD_OUTCOMES = (FAILURE, REFUSAL, TIMEOUT)

_HEAD_CHARS, _TAIL_CHARS = 700, 900
_SHORT_CHARS = 300
_CODE = re.compile(
    r"(?:<returncode>|\b(?:exit|return) ?(?:code|status)\W{1,4}|\bexited with(?: code)?\W{1,3})(?P<code>-?\d{1,3})\b",
    re.IGNORECASE,
)
_STATUS = re.compile(r"\b(?:HTTP(?:/[\d.]+)?|status(?:[_ ]?code)?)\W{1,4}(?P<code>[2345]\d\d)\b", re.IGNORECASE)
_FENCED = re.compile(
    r"<returncode>-?\d+</returncode>|</?\w+>"
    r"|^\s*(?:OBSERVATION|Observation|Output|Result|Code output|stdout|exitcode: -?\d+ \([^)]*\))\s*:?",
    re.MULTILINE,
)
_TRAILER = re.compile(
    r"\(Open file: [^\n]*\)|\(Current directory: [^\n]*\)|^\S*[$#>]\s*$|^\[[A-Z][a-z]+[^\]\n]{0,200}\]$", re.MULTILINE
)
_NOTHING = re.compile(
    r"\W*(?:\[\s*\]|\{\s*\}|\(\s*\)|none|null|nil|no (?:results?|matches|output|data|rows|items|entries|records)"
    r"(?: (?:were )?found)?|0 (?:results?|matches|rows|items)|empty|nothing (?:found|happen(?:s|ed))?)?\W*",
    re.IGNORECASE,
)
_SAYS_NOTHING = re.compile(
    r"\bno (?:\w+ ){0,2}(?:results?|matches|matching \w+|rows|records|entries|hits|items) (?:were |was |could be )?"
    r"(?:found|returned|available)\b|\bfound (?:0|no)\b|\b0 (?:results?|matches)\b|\bnothing happens\b"
    r"|\breturned no\b|\bdid not (?:match|find|return)\b",
    re.IGNORECASE,
)
_QUIET = re.compile(
    r"\b(?:ran|completed|executed) successfully\b[^\n]{0,30}\bno(?:t produce any)? output", re.IGNORECASE
)
_TIMED_OUT = re.compile(
    r"\btim(?:ed|e) ?-?out\b|\bTimeoutError\b|\bdeadline exceeded\b|\btook too long\b", re.IGNORECASE
)
_REFUSED = re.compile(
    r"\b(?:not (?:allowed|permitted|authorized|eligible|possible)|(?:permission|access) denied|forbidden|unauthorized"
    r"|(?:can|could)(?:no|')?t be (?:modified|changed|cancel\w*|return\w*|refund\w*|exchanged|updated|booked|deleted)"
    r"|cannot be \w+ed|refus(?:ed|es|ing)|declined|rejected|not supported|insufficient \w+|not enough|exceeds?"
    r"|does not (?:add up|belong|match)|wrong (?:flag|answer|password)|incorrect|violat\w+|must (?:be|have|not))\b",
    re.IGNORECASE,
)
_ERROR_OPENS = re.compile(
    r"\W{0,4}(?:\w+ ){0,3}?(?:error|fatal|failed|failure|exception|invalid|unable to|cannot|could not|can't|wrong"
    r"|traceback)\b(?!\"\s*:\s*(?:null|false|0\b|\"\"|\[\s*\]|\{\s*\}))",
    re.IGNORECASE,
)
_ERROR_LINE = re.compile(
    r"^(?:Traceback \(most recent call last\)|(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Exit)\b(?::|$)"
    r"|(?:E  +)?(?:[\w.]+)?(?:Error|Exception): |(?:error|ERROR|Error|fatal|FATAL|FAILED|panic)\b ?[:\[]"
    r"|\S+: (?:command not found|No such file or directory|cannot |Permission denied|not found)"
    r"|(?:bash|sh|zsh|/\S+): (?:line \d+: )?.{0,80}(?:not found|No such file|Permission denied|error)"
    r"|.{0,120}: No module named |.{0,80}No such file or directory\)?$|npm ERR!"
    r"|Your (?:proposed )?(?:edit|command|code) (?:has introduced|failed|was not))",
    re.MULTILINE,
)
_LINTED = re.compile(r"^\S+:\d+(?::\d+)?: (?:fatal )?error\b", re.MULTILINE)
_TESTS = re.compile(
    r"\b(?P<count>\d+) (?P<what>passed|failed|errors?|failures?|skipped|passing|failing)\b", re.IGNORECASE
)
_COLLECTED = re.compile(r"\b[1-9]\d* errors? in \d+(?:\.\d+)? ?s\b")
"""What pytest says where tests could not be read, and none ran."""
_UNITTEST = re.compile(r"^(?:FAILED \(|OK\b)", re.MULTILINE)
_FIELD = re.compile(
    r'"(?:error|errors|exception|error_message)"\s*:\s*(?P<error>"[^"]|\{|\[\s*[^\]\s]|true)'
    r'|"(?:success|ok|succeeded)"\s*:\s*(?P<flag>true|false)'
    r'|"(?:status|result|state|outcome)"\s*:\s*"(?P<said>error|failed|failure|denied|refused|rejected|timeout|success|ok)"',
    re.IGNORECASE,
)
_SAID = {
    "denied": REFUSAL,
    "refused": REFUSAL,
    "rejected": REFUSAL,
    "timeout": TIMEOUT,
    "success": SUCCESS,
    "ok": SUCCESS,
}
_QUERIES = frozenset(("read", "search"))
"""Acts whose exit code 1 means that there was nothing, or that two files differ."""


def outcome_of_step(step: Step, *, act: str = "") -> str:
    """The outcome of the call whose result a step is: flags decide it, and words where there are none."""
    told, said = step.metadata.get("outcome"), outcome_of(step.content, act=act)
    if told == FAILURE and said not in BAD_OUTCOMES:
        return FAILURE
    return SUCCESS if told == SUCCESS and said in BAD_OUTCOMES else said


def outcome_of(text: str, *, act: str = "") -> str:
    """The outcome of a call by the text of its result; `SUCCESS` where nothing else is said."""
    head, tail = text[:_HEAD_CHARS], text[-_TAIL_CHARS:] if len(text) > _HEAD_CHARS else ""
    body = _TRAILER.sub("", _FENCED.sub("", head)).strip()
    code = _code(head, tail)
    found_nothing = act in _QUERIES and code == 1 and not _ERROR_LINE.search(body)
    failed = code not in (None, 0) and not found_nothing
    if not body or _NOTHING.fullmatch(body):
        return FAILURE if failed else EMPTY
    if told := _told(text, head, tail, body):
        return told
    if _ERROR_OPENS.match(body) is not None:
        return _why(body, may_refuse=not failed)
    if failed or _in_lines(head, tail, act=act):
        return _why(f"{body}\n{tail}", may_refuse=False)
    return _of_short(body, may_refuse=code != 0 and act not in _QUERIES) if len(body) < _SHORT_CHARS else SUCCESS


def _told(text: str, head: str, tail: str, body: str) -> str | None:
    """The outcome that a result states: in words, a summary of tests or a field; None if it states none."""
    if _QUIET.search(body):
        return SUCCESS
    if tests := _tests(tail or head):
        return tests
    found = _of_fields(head) if text.lstrip()[:1] in "{[" else None
    return REFUSAL if found == FAILURE and _REFUSED.search(head) else found


def _why(said: str, *, may_refuse: bool) -> str:
    """The kind of a failed outcome."""
    if _TIMED_OUT.search(said):
        return TIMEOUT
    return REFUSAL if may_refuse and _REFUSED.search(said[:_SHORT_CHARS]) else FAILURE


def _of_short(said: str, *, may_refuse: bool) -> str:
    """The outcome of a call whose result is only a few words."""
    if _TIMED_OUT.search(said):
        return TIMEOUT
    if _SAYS_NOTHING.search(said):
        return EMPTY
    return REFUSAL if may_refuse and _REFUSED.search(said) else SUCCESS


def _code(head: str, tail: str) -> int | None:
    match = _CODE.search(head[:120]) or _CODE.search(tail[-250:] or head[-250:])
    return int(match["code"]) if match is not None else None


def _of_fields(head: str) -> str | None:
    for match in _FIELD.finditer(head[:400]):
        if match["error"]:
            return FAILURE
        if match["flag"]:
            return SUCCESS if match["flag"].lower() == "true" else FAILURE
        return _SAID.get(match["said"].lower(), FAILURE)
    return None


def _tests(text: str) -> str | None:
    """The outcome that a summary of tests states; None if there is none."""
    counts: dict[str, int] = {}
    for match in _TESTS.finditer(text):
        counts[match["what"].lower()[:4]] = int(match["count"])
    good, bad = counts.get("pass", 0), counts.get("fail", 0) + counts.get("erro", 0)
    if "pass" in counts or "fail" in counts:
        return SUCCESS if not bad else PARTIAL if good else FAILURE
    if bad and _COLLECTED.search(text):
        return FAILURE
    unit = _UNITTEST.search(text) if "Ran " in text else None
    return None if unit is None else SUCCESS if unit.group() == "OK" else FAILURE


def _in_lines(head: str, tail: str, *, act: str) -> bool:
    if act in ("write", "edit") and "error" not in head[:400].lower():
        return False
    where = f"{head[:400]}\n{tail[-400:]}" if act in _QUERIES else f"{head}\n{tail}"
    if _STATUS.search(head[:200]) and _STATUS.search(head[:200])["code"] >= "400":  # type: ignore[index]
        return True
    return _ERROR_LINE.search(where) is not None or (act == "run" and _LINTED.search(where) is not None)

"""Tool calls, and what they do to the world (§2.2.2): read, search, write, edit, run, book, send ...

The name of a tool says it by its verb; where the name is that of a shell, an editor or a database, the command or query
in its arguments does. Calls that stand in the words of an agent are read, too. No tool of anybody is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from stitch.core.steps import ToolCall
from stitch.core.text_cache import text_cache
from stitch.text.structured import in_words
from stitch.text.words import stem, word_set

MOST_DEEDS = 2

_VERBS = {
    "read": """read get view show open load fetch describe display inspect retrieve list lookup decompile disassemble
        dump print examine observe screenshot preview download cat obtain pull access scroll peek detail details status
        profile info information look watch check track""",
    "search": "search find grep query browse discover locate filter glob explore scan seek lookfor",
    "write": "write compose draft save generate touch scaffold record log upload note",
    "edit": """edit update modify change replace patch rename move delete remove drop append insert undo revert apply
        adjust alter revise amend set toggle enable disable configure swap exchange upgrade downgrade switch correct
        rewrite refactor put take place close reopen archive lock unlock""",
    "run": """run execute exec eval evaluate bash shell terminal console python test build compile invoke launch restart
        stop kill connect interpreter command cmd code sandbox repl script notebook sql""",
    "install": "install uninstall",
    "navigate": "navigate goto go visit back forward cd enter walk travel",
    "click": "click press tap hover select choose type fill tick",
    "submit": "submit finish complete done finalize deliver commit push merge publish deploy terminate answer resolve",
    "book": "book reserve schedule order buy purchase checkout rent reservation booking hire",
    "cancel": "cancel abort void revoke cancellation withdraw annul",
    "return": "return",
    "pay": "pay charge refund reimburse deposit payment compensate",
    "send": "send email mail message notify post reply tweet share comment contact notification forward",
    "delegate": "delegate handoff handover escalate transfer dispatch assign route spawn subagent",
    "plan": "plan think ponder reason todo deliberate consider brainstorm thought",
    "reflect": "reflect critique review verify validate assess",
    "calculate": "calculate compute sum count convert calculator arithmetic math multiply divide subtract",
    "report": "report summarize",
}  # fmt: skip
_WEAK_VERBS = {
    "write": "create make new add initiate issue start begin register",
    "run": "do perform process handle use call tool function action api request",
}
"""Verbs that leave to the next words what is done: "create booking", "process refund"."""
_THINGS = frozenset(map(stem, word_set("editor file tool agent user human order item detail note code test")))
"""Words that are things as often as deeds: they count only where no other word does."""


def _by_stem(verbs: Mapping[str, str]) -> dict[str, str]:
    return {stem(word): deed for deed, told in verbs.items() for word in told.split()}


_WEAK, _STRONG = _by_stem(_WEAK_VERBS), _by_stem(_VERBS)
_OF_PROGRAMS = {
    "read": """cat head tail less more nl file strings xxd hexdump objdump readelf od stat wc diff cmp env ps df du jq
        awk column sort uniq cut base64 md5sum sha256sum man whoami id date uname top history curl wget zcat bat nm ldd
        lsof netstat dig nslookup ping sed""",
    "search": "grep rg egrep fgrep ack ag find fd locate ls tree pwd which whereis zgrep",
    "edit": "patch ed mv chmod chown rm rmdir ln unzip tar gunzip gzip zip",
    "write": "tee touch mkdir cp install dd",
    "send": "scp rsync mail sendmail",
    "navigate": "cd pushd popd",
    "install": "pip pip3 apt apt-get yum dnf brew conda mamba gem apk poetry uv",
    "submit": "submit exit",
}  # fmt: skip
_PROGRAM = {program: deed for deed, told in _OF_PROGRAMS.items() for program in told.split()}
_GIT = {
    "edit": "checkout restore reset stash revert apply am cherry-pick rebase merge rm mv clean add init switch",
    "search": "grep",
    "submit": "commit push",
}
_GIT_DEED = {word: deed for deed, told in _GIT.items() for word in told.split()}
_PREFIXES = word_set("sudo time nohup timeout env command exec nice xargs")
_BESIDE = word_set("export source set true sleep alias : #")
"""Commands of a shell that do nothing to speak of."""
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?[\s\S]*?(?:^\s*\1\s*$|\Z)", re.MULTILINE)
_SEPARATOR = re.compile(r"&&|\|\||;|\n")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=\S*$")
_WRITES_TO = re.compile(r"(?<![0-9&])>{1,2}\s*(?!&|/dev/null)\S")
_INSTALLS = re.compile(r"\b(?:install|add|ci)\b")
_SUBMITS = re.compile(r"\b\w*SUBMIT\w*\b|\bTASK_?(?:COMPLETE|DONE)\w*\b|\bCOMPLETE_TASK\w*\b")
_SQL = re.compile(
    r"\s*(?:--[^\n]*\n\s*)*(?P<verb>select|with|show|describe|desc|explain|pragma|insert|update|delete|create|alter|drop"
    r"|truncate|replace)\s+\S",
    re.IGNORECASE,
)
_SQL_DEEDS = {
    "run": "select with", "read": "show describe desc explain pragma", "write": "create",
    "edit": "insert update delete alter drop truncate replace",
}  # fmt: skip
_SQL_DEED = {verb: deed for deed, told in _SQL_DEEDS.items() for verb in told.split()}
_HTTP = {"GET": "read", "HEAD": "read", "POST": "send", "PUT": "edit", "PATCH": "edit", "DELETE": "edit"}
_SUBCOMMANDS = ("command", "action", "operation", "op", "method", "mode", "verb", "action_type", "type", "cmd")
_SCRIPTS = ("command", "cmd", "input", "code", "script", "query", "sql", "bash", "shell", "commands", "action")
_WORDLIKE = re.compile(r"[A-Za-z][\w-]{1,30}$")
_OF_SHELLS = ("", "run", "search", "read", "edit", "write")
"""What the name of a tool may say while its arguments say it better."""

_CALL_LINE = re.compile(r"^(?P<name>[A-Za-z_][\w.-]{1,60})\((?P<arguments>\{.*\}|)\)[ \t]*$", re.MULTILINE)
_ACTION = re.compile(r"^\s*\**(?:ACTION|Action|Act)(?: \d+)?\**\s*:\**[ \t]*(?P<said>[^\n]*\S)", re.MULTILINE)
_FENCE = re.compile(r"```(?P<language>[\w+-]*)[ \t]*\n(?P<code>[\s\S]*?)(?:```|$)")


class MadeCall(NamedTuple):
    """A call of a tool: a field of a step, or in its words."""

    name: str
    arguments: Mapping[str, Any]
    id: str = ""


def calls_of(calls: Iterable[ToolCall]) -> tuple[MadeCall, ...]:
    """The calls that are fields of a step."""
    return tuple(MadeCall(call.name, call.arguments, call.id or "") for call in calls)


def written_calls(text: str, *, in_fences: bool) -> tuple[MadeCall, ...]:
    """The calls that a text makes: lines of `name({...})`, an action, or with `in_fences` code in a fence."""
    if text.rstrip().endswith(")"):
        found = [MadeCall(line["name"], _arguments(line["arguments"])) for line in _CALL_LINE.finditer(text)]
        if found:
            return tuple(found)
    for said in [action["said"] for action in _ACTION.finditer(text)][-1:]:
        name = re.split(r"\W", said.strip("`* "), maxsplit=1)[0]
        return (MadeCall(name.lower(), {"command": said.strip("`* ")}),)
    for fence in list(_FENCE.finditer(text))[-1:] if in_fences else ():
        if code := fence["code"].split(maxsplit=1):
            return (MadeCall(code[0][:40], {"command": fence["code"].strip()}),)
    return ()


def _arguments(written: str) -> Mapping[str, Any]:
    try:
        given = orjson.loads(written) if written else {}
    except orjson.JSONDecodeError:  # code that looks like a call
        return {"input": written}
    return given if isinstance(given, dict) else {}


def deeds_of(calls: Iterable[MadeCall]) -> list[str]:
    """Actions of calls, at most two in their order; empty where nothing tells."""
    return list(dict.fromkeys(deed for call in calls for deed in _deeds(call)))[:MOST_DEEDS]


def _deeds(call: MadeCall) -> list[str]:
    by_name = deed_of_name(call.name)
    for value in _texts(call.arguments, _SUBCOMMANDS):
        if by_name in ("", "run", "read", "send") and value.upper() in _HTTP:
            return [_HTTP[value.upper()]]
        if by_name in ("", "run", "edit", "click") and _WORDLIKE.match(value) and (deed := deed_of_name(value)):
            return [deed]
    for script in _texts(call.arguments, _SCRIPTS) if by_name in _OF_SHELLS else ():
        if found := deeds_of_script(script):
            return found
    return [by_name] if by_name else []


def takes_script(call: MadeCall) -> bool:
    """Whether a call is given a command, code or a query: such a tool may be for anything."""
    return any(_texts(call.arguments, _SCRIPTS))


def _texts(arguments: Mapping[str, Any], keys: Iterable[str]) -> Iterator[str]:
    return (value for key in keys if isinstance(value := arguments.get(key), str) and value.strip())


@text_cache(maxsize=2_048)
def deed_of_name(name: str) -> str:
    """The action that the name of a tool says, by its first telling word; empty if none tells."""
    parts = list(map(stem, in_words(name).split()))
    strong = [part for part in parts if part in _STRONG]
    plain = [_STRONG[part] for part in strong if part not in _THINGS]
    if parts and parts[0] in _WEAK:
        return next((deed for deed in plain if deed not in ("read", "run", "reflect", "report")), _WEAK[parts[0]])
    if plain:
        return plain[0]
    return _STRONG[strong[0]] if strong else next((_WEAK[part] for part in parts if part in _WEAK), "")


def deeds_of_script(text: str) -> list[str]:
    """Actions of a shell command or a query; empty if the text is neither."""
    if (query := _SQL.match(text)) is not None:
        return [_SQL_DEED[query["verb"].lower()]]
    if _SUBMITS.search(text[:400]):
        return ["submit"]
    plain = _QUOTED.sub("_", _HEREDOC.sub("", text[:4_000]))
    found = dict.fromkeys(filter(None, map(_deed_of_command, _SEPARATOR.split(plain))))
    deeds = [deed for deed in found if deed != "navigate"]
    return (deeds or list(found))[:MOST_DEEDS]


def _deed_of_command(command: str) -> str:
    """The action of one shell command; empty if it does nothing to speak of."""
    parts = _without_prefixes(command.split())
    if not parts or parts[0] in _BESIDE or parts[0].startswith("#"):
        return ""
    if _WRITES_TO.search(command):
        return "write"
    return _deed_of_program(parts[0].rsplit("/", 1)[-1].lower(), parts[1:])


def _deed_of_program(program: str, arguments: list[str]) -> str:
    """The action of a program with its arguments; `run` where nothing tells."""
    if program == "git":
        return next((_GIT_DEED[word] for word in arguments if word in _GIT_DEED), "read")
    if program == "sed" and any(part.startswith("-i") for part in arguments):
        return "edit"
    if _PROGRAM.get(program) == "install" or arguments[:2] == ["-m", "pip"]:
        return "install" if _INSTALLS.search(" ".join(arguments)) else "read"
    return _PROGRAM.get(program) or deed_of_name(program) or "run"


def _without_prefixes(parts: list[str]) -> list[str]:
    """A command without what stands before its program: `sudo`, variables that are set, `timeout 60`."""
    while parts and (parts[0] in _PREFIXES or _ASSIGNED.match(parts[0]) or parts[0].startswith("-")):
        parts = parts[2:] if parts[0] == "timeout" else parts[1:]
    return parts

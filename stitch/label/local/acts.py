"""What a call does to the world (§2.2.2): reads, searches, writes, edits, runs, books, sends ..., whatever the tool.

The name of a tool says it by its verb, in whatever words; where the name is that of a shell, an editor or a database,
the command, the code or the query in its arguments does. Closed lists: verbs of English, programs of a shell, key words
of SQL and HTTP. No tool of anybody is named.

More than 400 lines because these lists, which are data, stand beside the code that reads by them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from stitch.core.text_cache import text_cache
from stitch.text.structured import in_words
from stitch.text.words import stem, word_set

CALL = "call tool"
"""The act of a call that nothing tells."""

_VERBS = {
    "read": """read get view show open load fetch describe display check inspect retrieve list lookup decompile
        disassemble dump print examine observe screenshot preview download cat obtain pull access scroll peek detail
        details status profile info information look watch ask_file""",
    "search": "search find grep query browse discover locate filter glob explore scan seek lookfor",
    "write": "write compose draft save generate touch scaffold record log upload note",
    "edit": """edit update modify change replace patch rename move delete remove drop append insert undo revert apply
        adjust alter revise amend set toggle enable disable configure swap exchange upgrade downgrade switch correct
        rewrite refactor put take place close reopen archive lock unlock""",
    "run": """run execute exec eval evaluate bash shell terminal console python test build compile invoke launch restart
        stop kill connect interpreter command cmd code sandbox repl script notebook sql""",
    "install": "install uninstall",
    "navigate": "navigate goto go visit back forward cd enter walk travel",
    "click": "click press tap hover select choose type fill tick check_box scrollto",
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
DEEDS = (*_VERBS, "move", "use", CALL)
"""All acts."""
_ACT_OF = {stem(word): act for act, told in _VERBS.items() for word in told.split()}
_WEAK = {
    stem(word): act
    for act, told in (
        ("write", "create make new add initiate issue start begin register"),
        ("run", "do perform process handle use call tool function action api request"),
        ("submit", "submit"),
    )
    for word in told.split()
}
"""Verbs that leave to the next words what is done: "create booking", "process refund", "add note"."""
_OF_WEAK = ("read", "run", "reflect", "report")
"""Acts that such a verb says as well as the words after it."""
_STRONG = {word: act for word, act in _ACT_OF.items() if word not in _WEAK}
_NO_ACT = frozenset(
    map(stem, ("editor", "file", "tool", "agent", "user", "human", "order", "item", "detail", "note", "code", "test"))
)
"""Words that are things as often as deeds: they count only where no other word does."""

_PROGRAMS = {
    "read": """cat head tail less more nl file strings xxd hexdump objdump readelf od stat wc diff cmp env printenv ps
        df du free jq awk column sort uniq cut tr base64 md5sum sha256sum man whoami id date uname top history curl wget
        zcat bat nm ldd exiftool binwalk tshark tcpdump lsof netstat ss ip dig nslookup ping tac""",
    "search": "grep rg egrep fgrep ack ag find fd locate ls tree pwd which whereis whatis type dir zgrep",
    "edit": "patch ed mv chmod chown rm rmdir ln unzip tar gunzip gzip zip sed perl",
    "write": "tee touch mkdir cp install dd",
    "run": """python python3 python2 node pytest make bash sh zsh ruby php java javac gcc g++ clang cargo go npm npx
        yarn pnpm tox mypy ruff flake8 black pylint unittest nose coverage docker cmake ctest mvn gradle dotnet
        rustc ipython
        julia rscript sqlite3 mysql psql mongo redis-cli nc netcat ssh telnet gdb openssl time watch kill service
        systemctl flask uvicorn gunicorn django-admin manage.py jupyter""",
    "send": "scp rsync mail sendmail",
    "navigate": "cd pushd popd",
    "install": "pip pip3 apt apt-get yum dnf brew conda mamba gem apk poetry uv",
    "submit": "submit exit",
}  # fmt: skip
_PROGRAM_ACT = {program: act for act, told in _PROGRAMS.items() for program in told.split()}
_GIT = {
    "read": "show diff log status blame branch remote describe rev-parse ls-files cat-file reflog tag config",
    "search": "grep",
    "edit": "checkout restore reset stash revert apply am cherry-pick rebase merge rm mv clean add init switch",
    "submit": "commit push",
    "read remote": "clone pull fetch",
}
_GIT_ACT = {word: act.split(" ")[0] for act, told in _GIT.items() for word in told.split()}
_PREFIXES = word_set(
    """
    sudo time nohup timeout env command exec nice stdbuf xargs builtin
    """
)
_PRINT = ("echo", "printf")
_BESIDE = ("export", "source", "set", "true", "sleep", "alias", ":")
"""Commands of a shell that do nothing to speak of."""
_BUILT_IN = ("git", *_PRINT, "export", "source")
_MAY_WRITE = ("cat", *_PRINT, "tee", "git", "diff", "sed", "grep", "awk")
_WRITES_TO = re.compile(r"(?<![0-9&])>{1,2}\s*(?!&|/dev/null)(\S+)")
_ENDING = re.compile(r"\.\w{1,5}$")
_INSTALLS = re.compile(r"\b(?:install|add|ci|i)\b")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")
_SENDS = re.compile(r"\s(?:-X\s*P(?:OST|UT|ATCH)|-d|--data\S*|-F|--form\S*|--post-\S+|-T|--upload-file)\b")
_SEPARATOR = re.compile(r"&&|\|\||;|\n|(?<!\|)\|(?!\|)|(?<!&)&(?!&)")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=\S*$")
_SUBMITS = re.compile(r"\b\w*SUBMIT\w*\b|\bTASK_?(?:COMPLETE|DONE)\w*\b|\bCOMPLETE_TASK\w*\b")

_SQL = re.compile(
    r"\s*(?:--[^\n]*\n\s*)*(?P<verb>select|with|show|describe|desc|explain|pragma|insert|update|delete|create"
    r"|alter|drop"
    r"|truncate|replace|grant|begin|commit|rollback)\s+(?P<rest>[\s\S]*)",
    re.IGNORECASE,
)
_SQL_SHAPE = re.compile(
    r"\b(?:from|into|table|tables|set|where|values|database|databases|columns|index|view)\b|^\W*\w+\W*$", re.IGNORECASE
)
_SQL_ACT = {
    **dict.fromkeys(("select", "with"), "run"),
    **dict.fromkeys(("show", "describe", "desc", "explain", "pragma"), "read"),
    **dict.fromkeys(("insert", "update", "delete", "alter", "drop", "truncate", "replace", "grant"), "edit"),
    "create": "write",
    **dict.fromkeys(("begin", "commit", "rollback"), "run"),
}
_SCHEMA = re.compile(r"\binformation_schema\b|\bsqlite_master\b|\bpg_catalog\b", re.IGNORECASE)
_HTTP = {"GET": "read", "HEAD": "read", "OPTIONS": "read", "POST": "send", "PUT": "edit", "PATCH": "edit",
         "DELETE": "edit"}  # fmt: skip

_SUBCOMMAND = ("command", "action", "operation", "op", "method", "mode", "verb", "action_type", "type", "cmd")
_SCRIPT = ("command", "cmd", "input", "code", "script", "query", "sql", "bash", "shell", "commands", "action", "text",
           "source", "statement", "keystrokes")  # fmt: skip
_MAY_BE_OF_HTTP = ("", "run", "read", "send")
_MAY_BE_OF_VERB = ("", "run", "edit", "click")
_MAY_BE_OF_SCRIPT = ("", "run", "search", "read", "edit", "write")
"""What the name of a tool may say while its arguments say it better."""
_WORDLIKE = re.compile(r"[A-Za-z][\w-]{1,30}$")
_TO_PEOPLE = re.compile(r"\b(?:human|agent|person|staff|representative|operator|supervisor|support|team|expert)s?\b")
_CODE = re.compile(
    r"^\s*(?:import |from \w[\w.]* import |def |class |print\(|for \w+ in |#!|assert "
    r"|async def )",
    re.M,
)


class Act(NamedTuple):
    """What a call does."""

    act: str
    object: str = ""
    """The file, address or thing it is done to, as it is written; empty if nothing tells."""


def acts_of_call(name: str, arguments: Mapping[str, object]) -> list[Act]:
    """What a call does, at most two things in their order; `CALL` if nothing tells."""
    by_name = act_of_name(name)
    if act := _act_of_subcommand(by_name, arguments):
        return [Act(act, _object(arguments))]
    for script in _texts(arguments, _SCRIPT) if by_name in _MAY_BE_OF_SCRIPT else ():
        if script.strip() and (found := acts_of_script(script, sure=by_name == "run", name=name)):
            return found
    if by_name == "delegate" and _transfers_money(name, arguments):
        by_name = "pay"
    return [Act(by_name or CALL, _object(arguments))]


def _act_of_subcommand(by_name: str, arguments: Mapping[str, object]) -> str:
    """What a method of HTTP or a verb among the arguments says, where the name of the tool leaves it open."""
    for value in _texts(arguments, _SUBCOMMAND):
        if not _WORDLIKE.match(value):
            continue
        if by_name in _MAY_BE_OF_HTTP and value.upper() in _HTTP:
            return _HTTP[value.upper()]
        if by_name in _MAY_BE_OF_VERB and (act := act_of_name(value)):
            return act
    return ""


def _transfers_money(name: str, arguments: Mapping[str, object]) -> bool:
    is_transfer = "transfer" in name.lower() and not _TO_PEOPLE.search(in_words(name))
    return is_transfer and any("amount" in key for key in arguments)


def _texts(arguments: Mapping[str, object], keys: Iterable[str]) -> Iterator[str]:
    for key in keys:
        if isinstance(value := arguments.get(key), str):
            yield value


_OBJECTS = ("path", "file", "file_path", "filename", "url", "target", "element", "id")


def _object(arguments: Mapping[str, object]) -> str:
    for named in filter(None, _texts(arguments, _OBJECTS)):
        return named
    for key, value in arguments.items():
        if isinstance(value, str) and value and ("path" in key or "file" in key or "url" in key):
            return value
    return ""


@text_cache(maxsize=2_048)
def act_of_name(name: str) -> str:
    """What the name of a tool says it does: that of its first telling word; empty if none tells."""
    parts = list(map(stem, filter(None, in_words(name).split(" "))))
    strong = [part for part in parts if part in _STRONG]
    plain = [_STRONG[part] for part in strong if part not in _NO_ACT]
    weak = next((_WEAK[part] for part in parts if part in _WEAK), "")
    if parts and parts[0] in _WEAK:
        return next((act for act in plain if act not in _OF_WEAK), weak)
    if plain:
        return plain[0]
    return _STRONG[strong[0]] if strong else weak


def acts_of_script(text: str, *, sure: bool = False, name: str = "") -> list[Act]:
    """What a command, query or piece of code does; nothing if it is none of these.

    With `sure` it is known to be run, so that one that nothing tells is `run`. The tool's name may be the program that
    is called.
    """
    if (query := _SQL.match(text)) is not None and _SQL_SHAPE.search(query["rest"]):
        verb = query["verb"].lower()
        return [Act("read" if verb == "select" and _SCHEMA.search(text) else _SQL_ACT[verb])]
    if _SUBMITS.search(text[:400]):
        return [Act("submit")]
    if _is_command(text, name):
        found = list(dict.fromkeys(_shell(text)))
        acts = [act for act in found if act.act != "navigate"] or found
        if acts:
            return acts[:2]
    return [Act("run")] if sure or _CODE.search(text) else []


def _is_command(text: str, name: str) -> bool:
    """Whether a text begins with a program of a shell, a path, or the tool itself."""
    for first in text.strip().split(maxsplit=1)[:1]:
        program = first.rsplit("/", 1)[-1].lower().rstrip(";")
        known = program in _PROGRAM_ACT or program in _PREFIXES or program in _BUILT_IN
        return known or first.startswith(("./", "/")) or name.lower() == program
    return False


def _shell(text: str) -> Iterator[Act]:
    body = text
    heredoc = _HEREDOC.search(text)
    if heredoc is not None:  # what stands in it is no command; what follows its end is
        line_end = text.find("\n", heredoc.end())
        end = re.compile(rf"^[ \t]{{0,40}}{re.escape(heredoc[1])}[ \t]{{0,40}}$", re.MULTILINE).search(
            text, max(line_end, 0)
        )
        body = text[: line_end if line_end >= 0 else None] + ("\n" + text[end.end() :] if end is not None else "")
    piped = False
    at = 0
    plain = _unquoted(body)
    for separator in [*_SEPARATOR.finditer(plain), None]:
        stop = separator.start() if separator is not None else len(plain)
        command, quoted = body[at:stop], plain[at:stop]
        if not piped and (act := _command(command, quoted)) is not None:
            yield act
        piped = separator is not None and separator.group() == "|"
        at = separator.end() if separator is not None else stop


def _unquoted(text: str) -> str:
    """The text with what stands in quotes blotted out, every character at its place."""
    return re.sub(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", lambda match: "_" * len(match.group()), text)


def _command(command: str, plain: str) -> Act | None:
    """What one command of a shell does; None if it does nothing to speak of."""
    parts = _without_prefixes(command.split())
    if not parts or parts[0].startswith("#"):
        return None
    program, rest = parts[0].rsplit("/", 1)[-1].lower(), [part for part in parts[1:] if not part.startswith("2>")]
    if program in _MAY_WRITE and (written := _WRITES_TO.search(plain)) is not None:
        return Act("write", written[1])
    if program in _BESIDE:
        return None
    if program in _PRINT:
        return Act("run")
    if act := _of_packages(program, rest):
        return Act(act)
    target = _target(rest)
    if act := _by_arguments(program, rest, command) or _PROGRAM_ACT.get(program, ""):
        return Act(act, target)
    if parts[0].startswith(("./", "/")) or program.endswith((".py", ".sh", ".pl", ".rb", ".js")):
        return Act("run", parts[0])
    return Act(act_of_name(program) or "run", target)


def _without_prefixes(parts: list[str]) -> list[str]:
    """A command without what stands before its program: `sudo`, variables that are set, `timeout 60`."""
    while parts and (parts[0] in _PREFIXES or _ASSIGNED.match(parts[0]) or parts[0].startswith("-")):
        had = parts.pop(0)
        if had == "timeout" and parts:
            del parts[0]
    return parts


def _target(arguments: Sequence[str]) -> str:
    """The last file among arguments; empty if there is none."""
    for part in reversed(arguments):
        if (not part.startswith("-") and "/" in part) or _ENDING.search(part):
            return part
    return ""


def _by_arguments(program: str, rest: Sequence[str], command: str) -> str:
    """What a program does that does one thing or another, as its arguments say; empty of other programs."""
    if program == "git":
        return next((_GIT_ACT[word] for word in rest if word in _GIT_ACT), "read")
    if program in ("curl", "wget"):
        return "send" if _SENDS.search(f" {command}") else "read"
    if program in ("sed", "perl") and not any(part.startswith(("-i", "-pi")) or part == "--in-place" for part in rest):
        return "read" if program == "sed" else "run"
    return ""


def _of_packages(program: str, rest: Sequence[str]) -> str:
    """What a manager of packages does; empty of other programs."""
    manages = _PROGRAM_ACT.get(program) == "install"
    if manages or program in ("npm", "yarn", "pnpm", "cargo", "go"):
        return "install" if _INSTALLS.search(" ".join(rest[:2])) else "read" if manages else "run"
    is_pip = program.startswith("python") and rest[:2] in (["-m", "pip"], ["-m", "ensurepip"])
    return "install" if is_pip else ""


_FENCE = re.compile(r"```(?P<lang>[\w+-]*)[ \t]*\n(?P<code>[\s\S]*?)(?:```|$)")
_ACTION = re.compile(
    r"(?:^|\n)\s*\**(?:ACTION|Action|Act|Command|Tool(?: call)?|Operation)(?: \d+)?\**\s*[:>]\**\s*(?P<said>[^\n]+)"
)
_INPUT = re.compile(
    r"(?:^|\n)\s*\**(?:ACTION|Action|Tool|Command)[ _][Ii](?:nput|NPUT)\**\s*:\s*(?P<said>[\s\S]{1,600})"
)
_WRITTEN_CALL = re.compile(r"^(?P<name>[A-Za-z_][\w.-]{1,60})\((?P<arguments>\{[\s\S]*?\}|)\)\s*$", re.MULTILINE)
_BRACKETED = re.compile(r"^(?P<verb>[A-Za-z_]{2,30})\s*\[(?P<of>[^\]]*)\]")
_OF_SHELL = frozenset(("", "bash", "sh", "shell", "zsh", "console", "terminal", "cmd", "powershell"))
_OF_CODE = word_set(
    """
    python py javascript js ruby java cpp c go rust r perl php
    """
)
_DEEDS = {
    "navigate": "go walk head",
    "read": "look examine inspect check inventory read view goto scroll scrolled observe",
    "move": "take put move place pick drop grab carry pour stack",
    "use": "open close toggle use turn heat cool clean slice light press unlock activate wait sleep eat",
}
_DEED_OF = {word: act for act, told in reversed(_DEEDS.items()) for word in told.split()}


class WrittenAction(NamedTuple):
    """What a text says that its speaker does, where no call stands beside it."""

    name: str
    """The tool, program or verb."""
    acts: tuple[Act, ...]
    text: str
    """The command, code or arguments."""


def written_action(text: str, *, fences: bool) -> WrittenAction | None:
    """The action that a text gives in words; None if it gives none.

    With `fences` code in a fence is run by whoever reads it.
    """
    calls = list(_WRITTEN_CALL.finditer(text)) if text.rstrip().endswith(")") else []
    if calls:
        call = calls[-1]
        return WrittenAction(call["name"], _written_acts(call["name"], call["arguments"]), call["arguments"])
    if (action := _last(_ACTION, text)) is not None:
        said = action["said"].strip().strip("`*").strip()
        given = _INPUT.search(text, action.end() - 1)
        return _said(said, "" if given is None else given["said"])
    if fences and (fence := _last(_FENCE, text)) is not None and fence["code"].strip():
        code, lang = fence["code"].strip(), fence["lang"].lower()
        if lang in _OF_CODE:
            return WrittenAction(lang, (Act("run"),), code)
        if lang in _OF_SHELL or lang == "sql":
            found = acts_of_script(code, sure=True) if lang == "sql" else _in_fence(code)
            return WrittenAction(code.split(maxsplit=1)[0][:40], tuple(found), code)
    return None


def _in_fence(code: str) -> Sequence[Act]:
    first = code.split(maxsplit=1)[0]
    verb = first.lower()
    if verb not in _PROGRAM_ACT and verb not in _PREFIXES and (act := act_of_name(first)):
        rest = code[len(first) :].split()
        if act == "navigate" or verb == "goto":
            act = "read"
        return [Act(act, rest[0] if rest else "")]
    return acts_of_script(code, sure=True)


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    match = None
    for match in pattern.finditer(text):  # noqa: B007
        pass
    return match


def _written_acts(name: str, arguments: str) -> tuple[Act, ...]:
    import orjson

    try:
        given = orjson.loads(arguments) if arguments else {}
    except orjson.JSONDecodeError:
        given = {}
    return tuple(acts_of_call(name, given if isinstance(given, dict) else {}))


def _said(said: str, given: str) -> WrittenAction:
    """What "go to cabinet 1", "click[Buy Now]" or "search" with its input does."""
    if (bracketed := _BRACKETED.match(said)) is not None:
        verb = bracketed["verb"]
        return WrittenAction(verb, (Act(act_of_name(verb) or CALL, bracketed["of"]),), bracketed["of"])
    parts = said.split()
    verb = re.sub(r"\W.*$", "", parts[0]).lower() if parts else ""
    rest = " ".join(parts[1:])
    script = acts_of_script(given or said, sure=False) if given or len(parts) > 1 else []
    if verb in _DEED_OF and "/" not in rest and "." not in rest:
        return WrittenAction(verb, (Act(_DEED_OF[verb], rest),), said)
    if script:
        return WrittenAction(verb, tuple(script), given or said)
    return WrittenAction(verb, (Act(act_of_name(verb) or CALL, rest),), given or said)

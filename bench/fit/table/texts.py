"""The texts on which the table is fitted: all out of public packages, or made by our own generator.

The packages lie in one folder as the registries serve them (`.deb` and `.whl`, named in `README.md` beside this file).
Nothing is downloaded here. The same files give the same texts in the same order.
"""

from __future__ import annotations

import ast
import gzip
import html
import json
import random
import re
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from stitch.bench.generate.generation import SIZES, generate
from stitch.errors import SettingsError

MAX_CHARS = 320
"""Longer texts are cut into parts of whole sentences: the teacher's time grows with the length."""
SHORT_CHARS = 200
"""So much of a text is read."""
RUN = 4
"""Neighboring texts that are taken together."""
_MIN_WORDS = 3
_PLANS = 8
"""Trajectories of each domain that are generated."""
_ASKED_OF_WORDS = (
    "What is {}?", "Which {} did you mention?", "Have we talked about {} before?", "How many {} were there?",
)  # fmt: skip
_ASKED_OF_COMMANDS = ("How do I {}?", "I need to {}", "can you {} please", "which command did we use to {}")


class Text(NamedTuple):
    """A text and where it is from. Neighbors in a document make longer texts in the fit."""

    kind: str
    document: str
    text: str


class _Packages:
    """The files of the packages."""

    def __init__(self, folder: Path, unpacked: Path) -> None:
        self._folder, self._unpacked = folder, unpacked
        for package in sorted(folder.glob("*.deb")):
            place = unpacked / package.name.partition("_")[0]
            if not place.is_dir():
                place.mkdir(parents=True)
                subprocess.run(["dpkg-deb", "-x", package, place], check=True)

    def files(self, package: str, pattern: str) -> list[Path]:
        return _found(self._unpacked / package, pattern)

    def wheel(self, name: str) -> zipfile.ZipFile:
        return zipfile.ZipFile(_found(self._folder, f"{name}-*.whl")[0])

    def manuals(self) -> Iterator[tuple[int, str, str]]:
        """Number, name and source of each page, package by package."""
        for package in ("manpages", "coreutils", "git-man"):
            for place, path in enumerate(self.files(package, "usr/share/man/man*/*.gz")):
                yield place, path.name, _unzipped(path)

    def modules(self) -> Iterator[tuple[str, str]]:
        for path in self.files("libpython3.11-stdlib", "usr/lib/python3.11/**/*.py"):
            yield path.name, path.read_text("utf-8", "replace")
        for name in ("Django", "scikit_learn"):
            with self.wheel(name) as wheel:
                for member in sorted(wheel.namelist()):
                    if member.endswith(".py") and "/locale/" not in member:
                        yield member, wheel.read(member).decode("utf-8", "replace")

    def definitions(self) -> Iterator[tuple[str, str, str]]:
        """Module, docstring and code of each function and class."""
        for name, source in self.modules():
            try:
                tree = ast.parse(source)
            except SyntaxError:
                continue
            lines = source.splitlines()
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    yield name, ast.get_docstring(node) or "", "\n".join(lines[node.lineno - 1 : node.end_lineno])


def _found(folder: Path, pattern: str) -> list[Path]:
    found = sorted(path for path in folder.glob(pattern) if path.is_file())
    if not found:
        raise SettingsError(f"no {pattern} in {str(folder)!r}", hint="download the packages that the README names")
    return found


def _unzipped(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode("utf-8", "replace")


def read_texts(packages: Path, unpacked: Path) -> Iterator[Text]:
    """Yield every text of the packages, kind by kind, each text once.

    Raises:
        SettingsError: A package is missing.
    """
    seen: set[str] = set()
    own = _Packages(packages, unpacked)
    for kind, (_, read) in _KINDS.items():
        for document, passage in read(own):
            for part in parts(passage):
                if part.lower() not in seen:
                    seen.add(part.lower())
                    yield Text(kind, f"{kind}:{document}", part)


def sample_runs(texts: Iterator[Text], *, seed: int) -> list[tuple[Text, ...]]:
    """Choose runs of neighboring texts at random, so many of each kind, and shorten what is long."""
    by_kind: dict[str, list[Text]] = {kind: [] for kind in _KINDS}
    for text in texts:
        by_kind[text.kind].append(text)
    rng = random.Random(seed)
    runs: list[tuple[Text, ...]] = []
    for kind, (texts_wanted, _) in _KINDS.items():
        found = by_kind[kind]
        starts = list(range(0, len(found), RUN))
        rng.shuffle(starts)
        runs += [
            tuple(text._replace(text=shortened(text.text)) for text in found[start : start + RUN])
            for start in starts[: texts_wanted // RUN]
        ]
    rng.shuffle(runs)
    return runs


def shortened(text: str) -> str:
    """The first `SHORT_CHARS` of a text, whole words."""
    return text if len(text) <= SHORT_CHARS else text[:SHORT_CHARS].rpartition(" ")[0] or text[:SHORT_CHARS]


def parts(passage: str) -> Iterator[str]:
    """Cut a passage into texts of whole sentences, at most `MAX_CHARS` long; too short ones are left out."""
    text = " ".join(passage.split())
    while len(text) > MAX_CHARS:
        ends = [match.end() for match in re.finditer(r"[.!?;:] ", text[:MAX_CHARS])]
        at = ends[-1] if ends and ends[-1] > MAX_CHARS // 3 else (text.rfind(" ", 0, MAX_CHARS) + 1 or MAX_CHARS)
        if len(text[:at].split()) >= _MIN_WORDS:
            yield text[:at].strip()
        text = text[at:]
    if len(text.split()) >= _MIN_WORDS and re.search(r"[a-z]{3}", text, re.I):
        yield text


_Passages = Iterator[tuple[str, str]]
"""Documents and passages of them."""


def _glosses(packages: _Packages) -> _Passages:
    for path in packages.files("wordnet-base", "usr/share/wordnet/data.*"):
        for line in path.read_text("latin-1").splitlines():
            if line.startswith(" ") or "|" not in line:
                continue
            data, _bar, gloss = line.partition("|")
            fields = data.split()
            words = [word.replace("_", " ") for word in fields[4 : 4 + 2 * int(fields[3], 16) : 2]]
            words = [re.sub(r"\((a|p|ip)\)$", "", word) for word in words]
            definition, *examples = re.split(r';\s*(?=")', gloss.strip())
            yield fields[0], f"{', '.join(words[:4])}: {definition}"
            yield from ((fields[0], example.strip('"; ')) for example in examples)


def _questions_of_words(packages: _Packages) -> _Passages:
    for place, (document, text) in enumerate(_glosses(packages)):
        words, colon, _definition = text.partition(": ")
        if colon and place % 5 == 0:
            yield document, _ASKED_OF_WORDS[place // 5 % 4].format(words.split(", ")[0])


def _manuals(packages: _Packages) -> _Passages:
    for _, name, source in packages.manuals():
        for passage in re.split(r"\n\.(?:PP|TP|SH|SS|sp|IP|RS|RE|P|nf|fi|EX|EE|LP)\b[^\n]*\n|\n\n", source):
            lines = (re.sub(r"^\.(?:[BIR]{1,2}|SM)\s", "", line) for line in passage.splitlines())
            text = " ".join(line for line in lines if not line.startswith((".", "'")))
            text = re.sub(r"\\f[A-Z(][BWI]?|\\&|\\[|/]|\\s[-+]?\d", "", text)
            text = text.replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")
            yield name, re.sub(r"\\\(..|\\\[\w+\]|\\.", " ", text)


def _questions_of_commands(packages: _Packages) -> _Passages:
    for place, name, source in packages.manuals():
        if found := re.search(r'\.SH "?NAME"?\n[^\n]*?\\-\s(.+)', source):
            summary = re.sub(r"\\f.|\\", "", found[1])
            yield name, _ASKED_OF_COMMANDS[place % 4].format(summary[0].lower() + summary[1:].rstrip("."))


def _pages(packages: _Packages) -> _Passages:
    patterns = {
        "python3.11-doc": "usr/share/doc/python3.11/html/_sources/**/*.txt",
        "postgresql-doc-15": "usr/share/doc/**/*.html",
        "debian-reference-en": "usr/share/**/*.html",
        "aptitude-doc-en": "usr/share/**/*.html",
    }
    for package, pattern in patterns.items():
        for path in packages.files(package, pattern):
            text = path.read_text("utf-8", "replace")
            if path.suffix == ".html":
                text = re.sub(r"(?s)<(script|style|head)\b.*?</\1>", "", text)
                text = re.sub(r"</?(p|pre|li|dd|dt|h\d|div|td)\b[^>]*>", "\n\n", text)
                text = html.unescape(re.sub(r"<[^>]+>", "", text))
            else:
                text = re.sub(r":\w+(?::\w+)?:`~?([^`<]*?)(?:\s*<[^`]*>)?`", r"\1", text).replace("``", "")
                text = re.sub(r"(?m)^\s*\.\. .*$|^[=\-~^\"'*#+]{3,}$", "", text)
            yield from ((f"{package}/{path.name}", passage) for passage in re.split(r"\n\s*\n", text))


def _dictionaries(packages: _Packages) -> _Passages:
    for name in ("foldoc", "jargon"):
        source = _unzipped(packages.files(f"dict-{name}", f"usr/share/dictd/{name}.dict.dz")[0])
        for place, passage in enumerate(re.split(r"\n\s*\n", source)):
            yield f"{name}{place // 8}", re.sub(r"[{}]|\(\d{4}-\d\d-\d\d\)", "", passage)


def _sayings(packages: _Packages) -> _Passages:
    for path in packages.files("fortunes", "usr/share/games/fortunes/*"):
        if not path.suffix and path.name != "ascii-art":
            for place, passage in enumerate(path.read_text("utf-8", "replace").split("\n%\n")):
                yield f"{path.name}{place}", passage


def _docstrings(packages: _Packages) -> _Passages:
    for name, docstring, _code in packages.definitions():
        yield from ((name, passage) for passage in docstring.split("\n\n")[:4])


def _code(packages: _Packages) -> _Passages:
    for name, docstring, code in packages.definitions():
        body = code.replace(docstring, "") if docstring else code
        yield name, " ".join(body.split())[:MAX_CHARS]


def _errors(packages: _Packages) -> _Passages:
    for name, source in packages.modules():
        for place, found in enumerate(re.finditer(r"raise (\w+)\(\s*_?\(?f?[\"']([^\"'\n]{12,})", source)):
            message = re.sub(r"%[sdr]|\{\w*\}", "x", found[2])
            forms = ("{}: {}", f'Traceback (most recent call last): File "{name}", line {place * 17 + 3} {{}}: {{}}')
            yield name, (*forms, f"ERROR {name}: {{1}}")[place % 3].format(found[1], message)


def _chats(packages: _Packages) -> _Passages:
    with packages.wheel("chitchat_dataset") as wheel:
        conversations = json.loads(wheel.read("chitchat_dataset/dataset.json"))
    for name, conversation in conversations.items():
        for turn in conversation["messages"]:
            yield name, " ".join(message["text"] for message in turn)


def _replies(packages: _Packages) -> _Passages:
    with packages.wheel("chatterbot_corpus") as wheel:
        for member in sorted(name for name in wheel.namelist() if "/english/" in name):
            found = re.findall(r"(?m)^\s*- (?:- )?(.+)$", wheel.read(member).decode())
            yield from ((f"{member}{place // 2}", line.strip("'\"")) for place, line in enumerate(found))


def _plans(_: _Packages) -> _Passages:
    for domain in ("travel", "debate"):
        for seed in range(_PLANS):
            trajectory = generate(domain, SIZES["S"], seed=f"table {seed}")
            said = [turn.text for turn in trajectory.turns] + [question.text for question in trajectory.questions]
            yield from ((f"{domain}{seed}", text) for text in said)


_KINDS: dict[str, tuple[int, Callable[[_Packages], _Passages]]] = {
    "gloss": (16_800, _glosses),
    "word question": (3_000, _questions_of_words),
    "manual": (6_000, _manuals),
    "command question": (400, _questions_of_commands),
    "page": (9_000, _pages),
    "dictionary": (6_000, _dictionaries),
    "saying": (4_800, _sayings),
    "docstring": (5_400, _docstrings),
    "code": (4_800, _code),
    "error": (3_600, _errors),
    "chat": (22_800, _chats),
    "reply": (1_400, _replies),
    "plan": (4_800, _plans),
}
"""Texts of each kind, at most: talk and what words mean first, then what agents read and write."""

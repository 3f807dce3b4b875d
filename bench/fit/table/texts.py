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


class Text(NamedTuple):
    """A text and where it is from. Neighbors in a document make longer texts in the fit."""

    kind: str
    document: str
    text: str


_Passages = Iterator[tuple[str, str]]


def read_texts(packages: Path, unpacked: Path) -> Iterator[Text]:
    """Yield every text of the packages, kind by kind, each text once.

    Raises:
        SettingsError: A package is missing.
    """
    for package in sorted(packages.glob("*.deb")):
        folder = unpacked / package.name.partition("_")[0]
        if not folder.is_dir():
            folder.mkdir(parents=True)
            subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
    seen: set[str] = set()
    for kind, read in _KINDS.items():
        for document, passage in read(packages, unpacked):
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
    for kind, texts_wanted in _SHARES.items():
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


def _files(folder: Path, pattern: str) -> list[Path]:
    found = sorted(path for path in folder.glob(pattern) if path.is_file())
    if not found:
        raise SettingsError(f"no {pattern} in {str(folder)!r}", hint="download the packages that the README names")
    return found


def _wheel(packages: Path, name: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(_files(packages, f"{name}-*.whl")[0])


def _wordnet(_: Path, unpacked: Path) -> _Passages:
    for path in _files(unpacked / "wordnet-base", "usr/share/wordnet/data.*"):
        for line in path.read_text("latin-1").splitlines():
            if line.startswith(" ") or "|" not in line:
                continue
            data, _bar, gloss = line.partition("|")
            fields = data.split()
            words = [word.replace("_", " ") for word in fields[4 : 4 + 2 * int(fields[3], 16) : 2]]
            words = [re.sub(r"\((a|p|ip)\)$", "", word) for word in words]
            definition, *examples = re.split(r';\s*(?=")', gloss.strip())
            yield fields[0], f"{', '.join(words[:4])}: {definition}"
            for example in examples:
                yield fields[0], example.strip('"; ')


def _questions_of_words(packages: Path, unpacked: Path) -> _Passages:
    forms = ("What is {}?", "Which {} did you mention?", "Have we talked about {} before?", "How many {} were there?")
    for place, (document, text) in enumerate(_wordnet(packages, unpacked)):
        words, colon, _definition = text.partition(": ")
        if colon and place % 5 == 0:
            yield document, forms[place // 5 % len(forms)].format(words.split(", ")[0])


def _manuals(_: Path, unpacked: Path) -> _Passages:
    for package in ("manpages", "coreutils", "git-man"):
        for path in _files(unpacked / package, "usr/share/man/man*/*.gz"):
            source = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
            for passage in re.split(r"\n\.(?:PP|TP|SH|SS|sp|IP|RS|RE|P|nf|fi|EX|EE|LP)\b[^\n]*\n|\n\n", source):
                lines = (re.sub(r"^\.(?:[BIR]{1,2}|SM)\s", "", line) for line in passage.splitlines())
                text = " ".join(line for line in lines if not line.startswith((".", "'")))
                text = re.sub(r"\\f[A-Z(][BWI]?|\\&|\\[|/]|\\s[-+]?\d", "", text)
                text = text.replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")
                yield path.name, re.sub(r"\\\(..|\\\[\w+\]|\\.", " ", text)


def _questions_of_commands(_: Path, unpacked: Path) -> _Passages:
    forms = ("How do I {}?", "I need to {}", "can you {} please", "which command did we use to {}")
    for package in ("manpages", "coreutils", "git-man"):
        for place, path in enumerate(_files(unpacked / package, "usr/share/man/man*/*.gz")):
            source = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
            if found := re.search(r'\.SH "?NAME"?\n[^\n]*?\\-\s(.+)', source):
                summary = re.sub(r"\\f.|\\", "", found[1])
                yield path.name, forms[place % 4].format(summary[0].lower() + summary[1:].rstrip("."))


def _pages(_: Path, unpacked: Path) -> _Passages:
    patterns = {
        "python3.11-doc": "usr/share/doc/python3.11/html/_sources/**/*.txt",
        "postgresql-doc-15": "usr/share/doc/**/*.html",
        "debian-reference-en": "usr/share/**/*.html",
        "aptitude-doc-en": "usr/share/**/*.html",
    }
    for package, pattern in patterns.items():
        for path in _files(unpacked / package, pattern):
            text = path.read_text("utf-8", "replace")
            if path.suffix == ".html":
                text = re.sub(r"(?s)<(script|style|head)\b.*?</\1>", "", text)
                text = html.unescape(
                    re.sub(r"<[^>]+>", "", re.sub(r"</?(p|pre|li|dd|dt|h\d|div|td)\b[^>]*>", "\n\n", text))
                )
            else:
                text = re.sub(r":\w+(?::\w+)?:`~?([^`<]*?)(?:\s*<[^`]*>)?`", r"\1", text).replace("``", "")
                text = re.sub(r"(?m)^\s*\.\. .*$|^[=\-~^\"'*#+]{3,}$", "", text)
            for passage in re.split(r"\n\s*\n", text):
                yield f"{package}/{path.name}", passage


def _dictionaries(_: Path, unpacked: Path) -> _Passages:
    for name in ("foldoc", "jargon"):
        path = _files(unpacked / f"dict-{name}", f"usr/share/dictd/{name}.dict.dz")[0]
        source = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
        for place, passage in enumerate(re.split(r"\n\s*\n", source)):
            yield f"{name}{place // 8}", re.sub(r"[{}]|\(\d{4}-\d\d-\d\d\)", "", passage)


def _sayings(_: Path, unpacked: Path) -> _Passages:
    for path in _files(unpacked / "fortunes", "usr/share/games/fortunes/*"):
        if not path.suffix and path.name != "ascii-art":
            for place, passage in enumerate(path.read_text("utf-8", "replace").split("\n%\n")):
                yield f"{path.name}{place}", passage


def _modules(packages: Path, unpacked: Path) -> Iterator[tuple[str, str]]:
    for path in _files(unpacked / "libpython3.11-stdlib", "usr/lib/python3.11/**/*.py"):
        yield path.name, path.read_text("utf-8", "replace")
    for name in ("Django", "scikit_learn"):
        with _wheel(packages, name) as wheel:
            for member in sorted(wheel.namelist()):
                if member.endswith(".py") and "/locale/" not in member:
                    yield member, wheel.read(member).decode("utf-8", "replace")


def _definitions(packages: Path, unpacked: Path) -> Iterator[tuple[str, str, ast.AST, str]]:
    for name, source in _modules(packages, unpacked):
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue
        lines = source.splitlines()
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield name, ast.get_docstring(node) or "", node, "\n".join(lines[node.lineno - 1 : node.end_lineno])


def _docstrings(packages: Path, unpacked: Path) -> _Passages:
    for name, docstring, _node, _code in _definitions(packages, unpacked):
        for passage in docstring.split("\n\n")[:4]:
            yield name, passage


def _code(packages: Path, unpacked: Path) -> _Passages:
    for name, docstring, _node, code in _definitions(packages, unpacked):
        body = code.replace(docstring, "") if docstring else code
        yield name, " ".join(body.split())[:MAX_CHARS]


def _errors(packages: Path, unpacked: Path) -> _Passages:
    for name, source in _modules(packages, unpacked):
        for place, found in enumerate(re.finditer(r"raise (\w+)\(\s*_?\(?f?[\"']([^\"'\n]{12,})", source)):
            message = re.sub(r"%[sdr]|\{\w*\}", "x", found[2])
            forms = (
                f"{found[1]}: {message}",
                f'Traceback (most recent call last): File "{name}", line {place * 17 + 3} {found[1]}: {message}',
                f"ERROR {name}: {message}",
            )
            yield name, forms[place % 3]


def _chats(packages: Path, _: Path) -> _Passages:
    with _wheel(packages, "chitchat_dataset") as wheel:
        conversations = json.loads(wheel.read("chitchat_dataset/dataset.json"))
    for name, conversation in conversations.items():
        for turn in conversation["messages"]:
            yield name, " ".join(message["text"] for message in turn)


def _replies(packages: Path, _: Path) -> _Passages:
    with _wheel(packages, "chatterbot_corpus") as wheel:
        for member in sorted(wheel.namelist()):
            if "/english/" in member:
                found = re.findall(r"(?m)^\s*- (?:- )?(.+)$", wheel.read(member).decode())
                for place, line in enumerate(found):
                    yield f"{member}{place // 2}", line.strip("'\"")


def _plans(_packages: Path, _unpacked: Path) -> _Passages:
    for domain in ("travel", "debate"):
        for seed in range(_PLANS):
            trajectory = generate(domain, SIZES["S"], seed=f"table {seed}")
            spoken = [turn.text for turn in trajectory.turns] + [question.text for question in trajectory.questions]
            for text in spoken:
                yield f"{domain}{seed}", text


_KINDS: dict[str, Callable[[Path, Path], _Passages]] = {
    "gloss": _wordnet,
    "word question": _questions_of_words,
    "manual": _manuals,
    "command question": _questions_of_commands,
    "page": _pages,
    "dictionary": _dictionaries,
    "saying": _sayings,
    "docstring": _docstrings,
    "code": _code,
    "error": _errors,
    "chat": _chats,
    "reply": _replies,
    "plan": _plans,
}

_SHARES = {
    "gloss": 16800,
    "word question": 3000,
    "manual": 6000,
    "command question": 400,
    "page": 9000,
    "dictionary": 6000,
    "saying": 4800,
    "docstring": 5400,
    "code": 4800,
    "error": 3600,
    "chat": 22800,
    "reply": 1400,
    "plan": 4800,
}
"""Texts of each kind, at most: talk and what words mean first, then what agents read and write."""

"""A set of agents' runs under other names, asked in other words: `python -m stitch.bench.disguise DATA OUT --names`.

What is found by a rule about one tool, one trade or one way to ask is lost here: tools are called by synonyms, files,
identifiers and customers by others of the same shape (`--names`), and questions are put otherwise (`--frame`). Figures
that fall tell how much of them were the set's own words. All is drawn from the seed; evidence stays what it was.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from stitch.bench.data.files import read_records
from stitch.bench.data.sets import load_questions
from stitch.text.words import word_set

_PARTS = {
    "get": "fetch", "fetch": "obtain", "search": "find", "find": "locate", "list": "enumerate", "show": "display",
    "view": "inspect", "open": "load", "read": "retrieve", "update": "modify", "edit": "revise", "create": "make",
    "add": "append", "delete": "remove", "remove": "drop", "cancel": "abort", "book": "reserve", "send": "post",
    "transfer": "hand_over", "calculate": "compute", "think": "ponder", "submit": "deliver", "execute": "run",
    "run": "exec", "details": "profile", "reservation": "booking", "flight": "connection", "flights": "connections",
    "user": "client", "order": "purchase", "item": "article", "items": "articles", "product": "ware",
    "direct": "nonstop", "onestop": "single_change", "human": "person", "agents": "staff", "agent": "staff",
    "file": "document", "dir": "folder", "sql": "database", "ic": "shop", "str": "text", "replace": "swap",
    "editor": "writer", "goto": "jump", "return": "send_back", "exchange": "swap", "payment": "billing",
    "cart": "basket",
    "airports": "terminals", "passengers": "travelers", "baggages": "luggage", "certificate": "voucher",
    "address": "location", "policy": "rules", "eligibility": "entitlement", "refund": "repay", "check": "verify",
}  # fmt: skip
"""Words of the names of tools, with others that mean the same."""
_FIRST = tuple(sorted(word_set("""
    tessa bruno anouk casper delphine emil freya gustav hanne iker jelena kaspar linnea marek nadja orlan petra quirin
    runa stellan thora ulric vesna wim
""")))  # fmt: skip
_LAST = tuple(sorted(word_set("""
    abbot brandt corvi dorsey ekman fabry gruber holm iversen jansky kessler lorne marsh nyberg ostrow pryor quist rowe
    sandoz tully urban vance wendt zoller
""")))  # fmt: skip
_CLIENT = re.compile(r"\b([a-z]{2,12})_([a-z]{2,12})_(\d{3,6})\b")
_KEY = re.compile(
    r"(?<![\w-])(?=[A-Z0-9-]{0,40}\d)(?=[A-Z0-9-]{0,40}[A-Z])[A-Z0-9]{2,40}(?:-[A-Z0-9]{1,40}){0,8}\b"
    r"|\b[a-z]{1,40}(?:_[a-z]{1,40}){0,6}_\d{3,40}\b"
)
_FILE = re.compile(r"\b([A-Za-z][\w-]{3,40})\.(py|c|js|ts|txt|md|rst|csv|json|yaml|yml|cfg|toml|html|sh)\b")
_KEPT_FILES = frozenset(("setup", "main", "__init__", "readme", "conftest", "index", "changelog", "contributing"))
_SYLLABLES = ("ba", "do", "fi", "gu", "ka", "lo", "mi", "nu", "pe", "ri", "so", "tu", "va", "ze", "jo", "ha")

FRAMES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "indirect": ((r"^(?=[A-Z])(.*?)\??$", r"Please tell me: \1."),),
    "first person": (
        (r"^(.*?)\??$", r"I'd like to know this: \1?"),
    ),
    "remind": ((r"^(.*?)\??$", r"Remind me, \1?"),),
    "synonyms": (
        (r"\bwhy\b", "for what reason"), (r"\berrors?\b", "fault"), (r"\bfail(?:ed)?\b", "go wrong"),
        (r"\brefused\b", "turned down"), (r"\bcommand\b", "instruction"), (r"\bcall\b", "invocation"),
        (r"\bfirst\b", "initial"), (r"\blast\b", "most recent"),
        (r"\b(?:finally|(?:in|at) the end)\b", "ultimately"),
        (r"\bbefore\b", "prior to"), (r"\bright after\b|\bafter\b", "following"), (r"\bresults?\b", "outcome"),
        (r"\bcame of\b", "resulted from"), (r"\breturned?\b", "yield"), (r"\bprinted\b|\bprint\b", "put out"),
        (r"\bchanged\b", "altered"), (r"\bchange\b", "alter"), (r"\btried\b", "attempted"),
        (r"\bran\b|\brun\b", "executed"),
        (r"\bnow\b", "at the moment"), (r"\btold\b", "informed"), (r"\bhow many\b", "what number of"),
        (r"\bhow much\b", "what amount"), (r"\bwhich\b", "what"), (r"\blooked up\b", "consulted"),
        (r"\bcharged\b", "billed"), (r"\bmade\b", "produced"), (r"\badded\b", "put in"), (r"\beach\b", "every single"),
    ),
    "keywords": (
        (r"\b(?:what|which|who|did|does|do|was|were|is|are|the|a|an|of|to|in|on|at|for|it|that|with|and|by)\b", ""),
        (r"[?,]", ""), (r"\s+", " "),
    ),
}  # fmt: skip
"""Families of wordings: what is replaced by what, one after the other, whatever the case."""


def reworded(question: str, *, frame: str) -> str:
    """The question in the words of a family; what no replacement fits stays as it is."""
    for pattern, said in FRAMES[frame]:
        question = re.sub(pattern, said, question, flags=re.IGNORECASE)
    question = question.strip()
    return question[:1].upper() + question[1:]


class Names:
    """Other names for the tools, clients, keys and files of one memory, the same for the same wherever they stand."""

    def __init__(self, tools: set[str], *, seed: int) -> None:
        self._rng = random.Random(seed)
        self._tools = {tool: renamed_tool(tool) for tool in sorted(tools, key=len, reverse=True)}
        self._of_tool = re.compile("|".join(rf"\b{re.escape(tool)}\b" for tool in self._tools) or r"(?!)")
        self._given: dict[str, str] = {}
        self._people: dict[str, str] = {}

    def read(self, text: str) -> None:
        """Learn whose names a text has: those of which the ids of clients are made."""
        for first, last, _ in _CLIENT.findall(text):
            for name, pool in ((first, _FIRST), (last, _LAST)):
                if name not in self._people and not name.startswith(("gift", "credit", "certif")) and name != "card":
                    free = [one for one in pool if one not in self._people.values()]
                    self._people[name] = self._rng.choice(free or pool)

    def put(self, text: str) -> str:
        """The text under other names."""
        text = self._of_tool.sub(lambda match: self._tools[match.group()], text)
        text = _FILE.sub(lambda match: f"{self._once(match[1], self._file)}.{match[2]}", text)
        text = _CLIENT.sub(lambda match: self._client(match), text)
        text = _KEY.sub(lambda match: self._once(match.group(), self._key), text)
        for name, other in self._people.items():
            text = re.sub(rf"\b{name.capitalize()}\b", other.capitalize(), text)
            text = re.sub(rf"\b{name}(?=[._@\d]|\b)", other, text)
        return text

    def put_all(self, value: Any) -> Any:
        """A JSON value with all its texts under other names; names of arguments stay."""
        if isinstance(value, str):
            return self.put(value)
        if isinstance(value, list):
            return [self.put_all(one) for one in value]
        return {key: self.put_all(one) for key, one in value.items()} if isinstance(value, dict) else value

    def _once(self, name: str, make: Callable[[str], str]) -> str:
        if name not in self._given:
            self._given[name] = make(name)
        return self._given[name]

    def _client(self, match: re.Match[str]) -> str:
        if match[1] not in self._people:
            return match.group()
        return f"{self._people[match[1]]}_{self._people.get(match[2], match[2])}_{self._once(match[3], self._key)}"

    def _key(self, key: str) -> str:
        head, _, tail = key.rpartition("_")
        drawn = "".join(
            self._rng.choice("123456789") if one.isdigit() else self._rng.choice("ABCDEFGHJKLMNPRSTVWXYZ")
            if one.isupper() else one for one in tail
        )  # fmt: skip
        return f"{head}_{drawn}" if head else drawn

    def _file(self, stem: str) -> str:
        if stem.lower() in _KEPT_FILES:
            return stem
        parts = ["".join(self._rng.choice(_SYLLABLES) for _ in range(max(2, len(part) // 3))) if len(part) > 3 and
                 part not in ("test", "tests") else part for part in stem.split("_")]  # fmt: skip
        return "_".join(parts)


def renamed_tool(tool: str) -> str:
    """The name of a tool by synonyms of its parts; parts without one stay."""
    return "_".join(_PARTS.get(part, part) for part in re.split(r"_|(?<=[a-z])(?=[A-Z])", tool))


def disguised(record: Mapping[str, Any], *, seed: int) -> tuple[dict[str, Any], Names]:
    """A memory under other names, with what gives its questions the same."""
    steps = record["steps"]
    tools = {call["name"] for step in steps for call in step.get("tool_calls") or ()}
    names = Names(tools, seed=seed)
    for step in steps:
        names.read(step["content"])
    texts = ("content", "words", "tool_calls", "tool_name")
    under_names = [
        {key: names.put_all(value) if key in texts else value for key, value in step.items()} for step in steps
    ]
    return {**record, "steps": under_names}, names


@click.command()
@click.argument("data", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--names", is_flag=True, help="Give tools, files, identifiers and customers other names.")
@click.option("--frame", type=click.Choice(sorted(FRAMES)), help="Put the questions otherwise.")
@click.option("--seed", type=int, default=0, show_default=True)
def main(data: Path, out: Path, names: bool, frame: str | None, seed: int) -> None:
    """Write the set of runs in the folder DATA to a new folder OUT under other names, in other words, or both."""
    load_questions(data)  # which says what is wrong with it
    out.mkdir(parents=True)
    known: dict[str, Names] = {}
    with (out / "trajectories.jsonl").open("w", encoding="utf-8") as file:
        for _, record in _records(data, "trajectories"):
            if names:
                record, known[record["id"]] = disguised(record, seed=seed)
            file.write(json.dumps(record) + "\n")
    changed = 0
    with (out / "questions.jsonl").open("w", encoding="utf-8") as file:
        for _, record in _records(data, "questions"):
            said = record["question"]
            if names:
                said = known[record["trajectory"]].put(said)
            if frame is not None:
                said = reworded(said, frame=frame)
            changed += said != record["question"]
            file.write(json.dumps({**record, "question": said}) + "\n")
    click.echo(f"{changed} questions put otherwise")


def _records(data: Path, stem: str) -> Any:
    return read_records(next(file for file in sorted(data.iterdir()) if file.name.startswith(f"{stem}.jsonl")))


if __name__ == "__main__":
    main()

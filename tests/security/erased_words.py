"""Erases single steps, and looks for every word that only they held.

`python tests/security/erased_words.py --erasures 200` makes memories of dialogues and debates of the project's
generator, of agents' runs, of names in odd forms, of words that the files themselves use, and, where `../shared/data`
is, of steps of its sets. After each erasure the verb must say that nothing is left, and `scanner.py` must find no word
in any file that the erased step said and no living one does. A word that also stands in a memory that never held the
step (of the same steps otherwise) is no trace of it: labels have words of their own. In the end the memory is closed,
opened, asked and closed again, and looked through once more.
"""

import argparse
import gzip
import json
import random
import re
import shutil
import sys
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from security import scanner

from stitch import Memory, Step, ToolCall, open_memory
from stitch.bench.generate import SIZES, generate
from stitch.bench.samples import sample
from stitch.errors import StitchError
from stitch.lifecycle.selection import Selector
from stitch.observe import TraceObserver

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
LENGTH, ERASED = 36, 8
"""How many steps a memory's first trajectory has, and how many of these are erased."""
OWN_WORDS = frozenset({"person", "group", "thing"})
"""By these a labeling counts which pronouns stood for a thing; whether it has to depends on all that was said of it."""


def made_word(chance: random.Random, letters: str = "bdfgklmnprstvz") -> str:
    return "".join(
        chance.choice(letters) + chance.choice("aeiou") for _ in range(chance.randrange(1, 4))
    ) + chance.choice("nrstx")


def dialogue(chance: random.Random) -> list[Step]:
    return _generated(chance, "travel")


def debate(chance: random.Random) -> list[Step]:
    return _generated(chance, "debate")


def _generated(chance: random.Random, domain: str) -> list[Step]:
    turns = generate(domain, SIZES["S"], seed=str(chance.random())).turns
    first = chance.randrange(max(1, len(turns) - LENGTH))
    return [Step(id=turn.id, role=turn.role, content=turn.content) for turn in turns[first : first + LENGTH]]


def agent_run(chance: random.Random) -> list[Step]:
    """An agent that reads and changes files, with names that come once and names that come again."""
    files = [f"{made_word(chance)}/{made_word(chance)}_{made_word(chance)}.py" for _ in range(6)]
    steps = [Step(id="0", role="user", content=f"Please find out why {made_word(chance)} fails in {files[0]}.")]
    while len(steps) < LENGTH:
        file, name, n = chance.choice(files), f"{made_word(chance)}_{made_word(chance)}", str(len(steps))
        call = chance.choice([
            ToolCall(name="open", arguments={"path": file, "line": chance.randrange(900)}),
            ToolCall(name="bash", arguments={"command": f"grep -rn {name} {file}"}),
            ToolCall(name=f"{made_word(chance)}_search", arguments={"query": f"{name} {made_word(chance)}"}),
        ])  # fmt: skip
        steps.append(Step(id=n, role="assistant", content=f"I look at {name} in {file}.", tool_calls=(call,)))
        where = f"{file}:{chance.randrange(900)}: def {name}({made_word(chance)}, {made_word(chance)})"
        result = f"{where}:\n    raise {made_word(chance).title()}Error"
        noted = {"exit": n, "host": made_word(chance)}
        steps.append(Step(id=f"{n}r", role="tool", tool_name=call.name, content=result, metadata=noted))
    return steps[:LENGTH]


def odd_names(chance: random.Random) -> list[Step]:
    """Names in the forms in which they come, each said in one step or in a few."""
    forms: Sequence[Callable[[str, str], str]] = [
        lambda a, b: f"{a}_{b}",
        lambda a, b: f"{a.title()} {b.title()}",
        lambda a, b: f"{a}.{b}@{b}{a}.org",
        lambda a, b: f"{a.title()}{b.title()}",
        lambda a, b: f"O'{a.title()}",
        lambda a, b: f"{a}-{b}",
        lambda a, b: b.upper(),
        lambda a, b: f"{a}s",
        lambda a, b: f"Dr. {b.title()}’s",
        lambda a, b: f"#{a}{b}",
        lambda a, b: f"caf\u00e9 {a}\u00f1",
        lambda a, b: f"{len(a)}{ord(b[0])}.{ord(a[0])}",
        lambda a, b: f"{a}\u0131{b}\u0130",
        lambda a, b: f"\u6771\u4eac{a}",
    ]
    templates = (
        "Now let's plan the part with {0}. My idea is {1}.",
        "How much does {0} cost for {1}?",
        "It was {0} who asked for it.",
        "What about the first one I raised, the {0}?",
        "Book {0}, please, and tell {1} about it.",
        "It costs {0}.",
        "I agree with {0}: {1} is better than that.",
        "Where does {0} live?",
        "She lives in {0} with {1} and {1}'s friend.",
        "Next is the {0}. Compare it with the second one.",
    )
    steps = []
    for n in range(LENGTH):
        names = [chance.choice(forms)(made_word(chance), made_word(chance)) for _ in range(2)]
        content = chance.choice(templates).format(*names)
        steps.append(Step(id=f"s{n}", role=chance.choice(["user", "assistant", "Mel"]), content=content))
    return steps


def own_words(chance: random.Random) -> list[Step]:
    """Words that files of a memory use themselves, and those of labels: each said in one step or in a few."""
    with tempfile.TemporaryDirectory() as scratch:
        fill(Path(scratch) / "m", sample("trip").trajectory.steps[:30])
        texts = " ".join(each.text for each in scanner.texts_in(Path(scratch) / "m") if not each.chance)
    found = sorted(set(re.findall(r"[a-z_]{3,}", texts)))
    templates = (
        "{0} is low.",
        "{0}",
        "{1} {0}",
        "Compare {0} with the {1}.",
        "I say {0}: what about {1}?",
        "{1}? {0}!",
    )
    steps = []
    for n in range(LENGTH):
        pair = [chance.choice([word, word.title()]) for word in chance.sample(found, 2)]
        steps.append(Step(id=f"s{n}", role="user", content=chance.choice(templates).format(*pair)))
    return steps


def from_set(path: Path) -> Callable[[random.Random], list[Step]]:
    """Steps of a trajectory of a data set."""

    def read(chance: random.Random) -> list[Step]:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            records = [line for _, line in zip(range(60), lines, strict=False)]
        found = json.loads(chance.choice(records))["steps"]
        first = chance.randrange(max(1, len(found) - LENGTH))
        known = set(Step.model_fields)
        made = []
        for step in found[first : first + LENGTH]:
            fields = {key: value for key, value in step.items() if key in known}
            made.append(Step.model_validate({**fields, "content": fields["content"][:4000]}))
        return made

    return read


def kinds() -> dict[str, Callable[[random.Random], list[Step]]]:
    made: dict[str, Callable[[random.Random], list[Step]]] = {
        "dialogue": dialogue,
        "debate": debate,
        "agent run": agent_run,
        "odd names": odd_names,
        "own words": own_words,
    }
    for name in ("agent_runs", "locomo", "longmemeval_s", "multilingual", "qmsum", "sgd_interleaved"):
        path = DATA / "memory_qa" / name / "trajectories.jsonl.gz"
        if path.exists():
            made[name] = from_set(path)
    return made


class Outcome(NamedTuple):
    """What became of one erasure."""

    kind: str
    unclean: tuple[str, ...]
    """What the verb said was left."""
    leaks: dict[str, set[str]]
    """Words that were found, with the places."""


def fill(folder: Path, steps: Sequence[Step], *, gone: Sequence[str] = ()) -> None:
    """A memory of these steps, worked on: corrected, asked, of two tenants and two trajectories."""
    folder.mkdir(parents=True)
    with TraceObserver(folder / "trace.jsonl") as trace:
        with open_memory(folder, tenant="other", observers=[trace]) as other:
            other.add(Step(id="o", role="user", content="What was the price of the hotel?"), trajectory="theirs")
        with open_memory(folder, tenant="own", observers=[trace], recall_log=20) as memory:
            living = [step for step in steps if step.id not in gone]
            memory.add_many(living[: len(living) // 2], trajectory="first")
            memory.add(Step(id="1", role="user", content="Something else altogether."), trajectory="second")
            for step in living[len(living) // 2 :]:
                memory.add(step, trajectory="first")
            for number, step in enumerate(steps[::9]):
                if step.id not in gone and number % 2:
                    memory.lifecycle.correct(str(step.id), trajectory="first", labels={"scope": "a scope by hand"})
            memory.lifecycle.correct("1", trajectory="second", text="Something else.", labels={"scope": "by hand"})
            memory.search(steps[3].content[:80])
            memory.search("Which one was the first?", trajectory="first")


def go_on(folder: Path) -> None:
    """Open a memory, ask it and add to it."""
    with open_memory(folder, tenant="own", recall_log=20) as memory:
        memory.search("Which one was the first?")
        memory.add(Step(id="new", role="user", content="What about the first one?"), trajectory="first")


def erase_each(kind: str, chance: random.Random, scratch: Path, *, count: int = ERASED) -> Iterator[Outcome]:
    """Fill a memory, erase some of its steps one after another; each is looked for at once, and all in the end."""
    steps, folder = kinds()[kind](chance), scratch / "memory"
    fill(folder, steps)
    gone: list[str] = []
    searched: dict[str, tuple[set[str], Outcome]] = {}
    for step in chance.sample(steps, count):
        with open_memory(folder, tenant="own", recall_log=20) as memory:
            try:
                unclean = _unclean(memory, str(step.id))
            except StitchError as error:
                unclean = (f"{type(error).__name__}: {error}",)
            gone.append(str(step.id))
            words = _only(step, [each for each in steps if each.id not in gone])
            leaks = _leaks(words, folder, scratch / "control", steps, gone)
        searched[str(step.id)] = words, Outcome(kind, unclean, leaks)
    go_on(folder)
    everything = set[str]().union(*(words for words, _ in searched.values()))
    late = _leaks(everything, folder, scratch / "control", steps, gone, goes_on=True)
    for words, outcome in searched.values():
        for word in words & set(late):
            outcome.leaks.setdefault(word, set()).update(f"{place} (later)" for place in late[word])
        yield outcome


def _unclean(memory: Memory, step: str) -> tuple[str, ...]:
    erased = memory.lifecycle.erase(Selector(trajectory="first", step=step))
    said = [*erased.proof.found, *map(str, memory.lifecycle.verify().disagreements)]
    return (*said, *([] if erased.steps == 1 else [f"{erased.steps} steps were erased"]))


def _only(step: Step, living: Sequence[Step]) -> set[str]:
    """The words that the step says, in any field, and no living one does."""
    said = [
        step.content,
        step.role,
        str(step.id),
        step.tool_name or "",
        json.dumps(dict(step.metadata), ensure_ascii=False),
    ]
    said += [json.dumps(call.model_dump(), ensure_ascii=False) for call in step.tool_calls]
    living_words = scanner.said_words(json.dumps([each.model_dump() for each in living], ensure_ascii=False))
    others = scanner.reading_of_steps([each.model_dump() for each in living])
    return {word for word in scanner.said_words(" ".join(said)) - living_words if not others.places(word)}


def _leaks(
    words: set[str], folder: Path, control: Path, steps: Sequence[Step], gone: Sequence[str], *, goes_on: bool = False
) -> dict[str, set[str]]:
    """Words that stand in the folder and not in that of a memory which never held what is gone."""
    reading = scanner.reading_of(folder)
    dumped = json.dumps([each.model_dump() for each in steps if each.id not in gone], ensure_ascii=False)
    others = sorted(scanner.said_words(dumped))
    found = {
        word: places
        for word in words - OWN_WORDS
        if (places := reading.places(word, begins_others=_begins_one(word, others)))
    }
    if found:
        fill(control, steps, gone=gone)
        if goes_on:
            go_on(control)
        with open_memory(control, tenant="own"):  # as the other one is: who has it open is written down
            never = scanner.reading_of(control)
        shutil.rmtree(control)
        found = {word: places for word, places in found.items() if not never.places(word)}
    return found


def _begins_one(word: str, others: Sequence[str]) -> bool:
    """Whether one of others, which are in order, begins with a word."""
    at = bisect_right(others, word)
    return at < len(others) and others[at].startswith(word)


def main() -> int:
    """Erase; print what was left, by kind of memory and by place."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--erasures", type=int, default=200)
    arguments.add_argument("--first", type=int, default=0, help="the seed of the first memory")
    arguments.add_argument("--steps", type=int, default=ERASED, help="how many steps of a memory are erased")
    arguments.add_argument("--length", type=int, default=LENGTH, help="how many steps the memory's trajectory has")
    arguments.add_argument("--kind", action="append", help="only memories of this kind")
    arguments.add_argument("--show", action="store_true", help="print the words that were found")
    options = arguments.parse_args()
    globals()["LENGTH"] = options.length
    outcomes: list[Outcome] = []
    seed, names = options.first, options.kind or list(kinds())
    while len(outcomes) < options.erasures:
        with tempfile.TemporaryDirectory() as scratch:
            kind = names[seed % len(names)]
            made = list(erase_each(kind, random.Random(f"{kind} {seed}"), Path(scratch), count=options.steps))
        outcomes += made[: options.erasures - len(outcomes)]
        for each in made if options.show else ():
            if each.unclean or each.leaks:
                print(seed, each.kind, each.unclean, {word: sorted(where) for word, where in each.leaks.items()})
        sys.stdout.flush()
        seed += 1
    wrong = [each for each in outcomes if each.unclean or each.leaks]
    for kind in dict.fromkeys(each.kind for each in outcomes):
        own = [each for each in outcomes if each.kind == kind]
        unclean, leaking = sum(bool(each.unclean) for each in own), sum(bool(each.leaks) for each in own)
        print(f"{kind}: {len(own)} erasures, {unclean} not clean by their own word, {leaking} left a word")
    places = Counter(place for each in outcomes for place in set().union(*each.leaks.values()))
    for place, count in places.most_common():
        print(f"  in {place}: of {count} erasures")
    print(f"{len(outcomes)} erasures: {len(wrong) or 'nothing'} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

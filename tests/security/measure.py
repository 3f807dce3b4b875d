"""The long form of the security suite: writes the figures of `tests/security/README.md`.

python tests/security/measure.py        # some minutes; prints the README, which is kept if it is redirected there
"""

# ruff: noqa: E501  lines of text as they are printed
from __future__ import annotations

import importlib.util
import itertools
import os
import tempfile
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent
DATA = Path(os.environ.get("STITCH_TEST_DATA", HERE.parents[2] / "shared" / "data"))


ON_FRESH_LISTS = """\
What is found was measured with lists that the tests do not hold: secrets as agents leave them (commands, escaped JSON,
YAML, cookies, tables, thirty languages), and texts that only look like one. Each list was written with other tools,
trades and phrasings than those before it, and measured once before anything was changed for it.

| list | secrets | found at once | found now | harmless | false alarms at once | now |
|---|---:|---:|---:|---:|---:|---:|
| first three, of earlier rounds | 360 | 202 (.56) | 353 (.98) | 367 | 5 | 0 |
| A: everything that the rules name | 220 | 164 (.75) | 218 (.99) | 230 | 0 | 0 |
| B: odd tools, networks, thirty languages | 202 | 144 (.71) | 194 (.96) | 200 | 12 | 0 |
| C: offices, browsers, protocols, clouds | 122 | 93 (.76) | 121 (.99) | 130 | 1 | 0 |
| D: what traces commonly hold | 83 | 76 (.92) | 82 (.99) | 80 | 1 | 0 |
| E: the same, shorter | 50 | 48 (.96) | 48 (.96) | 50 | 0 | 0 |
| F: CI, clouds, clusters, package tools | 124 | 109 (.88) | 121 (.98) | 119 | 0 | 0 |
| G: data bases, headers, addresses, settings | 123 | 113 (.92) | 121 (.98) | 122 | 1 | 0 |
| H: sentences, languages, code, networks | 127 | 104 (.82) | 127 (1.00) | 129 | 2 | 0 |
| I: other tools of all these | 132 | 120 (.91) | 125 (.95) | 132 | 3 | 3 |
| K: results of tools, dialogues, clients, mail | 114 | 99 (.87) | 112 (.98) | 116 | 0 | 0 |
| L: what agents' steps commonly hold, seventeen languages | 130 | 124 (.95) | 130 (1.00) | 135 | 1 | 0 |
| M: other tools of all these, nothing named in L | 162 | 140 (.86) | 158 (.98) | 164 | 0 | 0 |
| N: seldom tools, protocols, languages of programming | 131 | 102 (.78) | 122 (.93) | 137 | 1 | 0 |
| O: settings, containers, clusters, logs, JDBC, PowerShell, escaped JSON, eleven languages, talk | 117 | 109 (.93) | 112 (.96) | 170 | 1 | 0 |
| P: other tools of all these, fourteen languages | 124 | 118 (.95) | 123 (.99) | 183 | 2 | 0 |

F to K are of one hand, F to I of before it read the rules; I and K were measured when F to H (and I) had been worked
on: the rules of before find 117 of I and 99 of K. L to N are of another hand, L and M of before it read the rules, N of
after, and so of what it knew to be hard; M was measured when L had been worked on, N when L and M had. O and P are of a third
hand, O of before it read the rules, P of after and when O had been worked on. The goal, 92 of 100, is reached on what steps
commonly hold (L, O, P), and not on odd tools: of all that was measured unseen from F on 1,136 of 1,282 are
found (.89), with 11 false alarms in 1,407 (.78 %). Known to be missed: arguments of clients that no rule names, words alone
beside `auth.txt` and the like, values that look like code (`Yukon(2005)`), what is typed in one call for a field that another
call chose, variables of a query beside it, numbers that are personal and no secret (social security). Redaction takes 1.0 to
1.2 times the time that it took before the lists A to E, by set (1.16 over all); what F to K added takes none (.97 and 1.02
times on agent runs, paired), and what L to N added 1.07 times (1.05 to 1.09, five pairs). Of 35,390 texts of the data sets
none is redacted otherwise than before L, and of 25,000 none otherwise than before O.
"""
"""Measured by hand: lists that the tests hold are no measure of what they miss."""


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def redaction_figures() -> list[str]:
    """How much of the data sets is taken for a secret, and how long looking for it takes."""
    import time
    from collections import Counter

    from stitch.core import SourcedStep
    from stitch.ingest.secrets import redact_step
    from stitch.sources import FileSource

    lines = []
    for folder in sorted(path for path in DATA.iterdir() if path.is_dir()) if DATA.is_dir() else []:
        steps = seconds = redacted = 0.0
        kinds: Counter[str] = Counter()
        for path in sorted(folder.rglob("*")):
            if not path.is_file() or path.stat().st_size > 30_000_000 or steps > 8_000:
                continue
            for item in itertools.islice(FileSource(path), 3_000):
                if isinstance(item, SourcedStep):
                    started = time.process_time()
                    _, found = redact_step(item.step)
                    seconds += time.process_time() - started
                    steps, redacted = steps + 1, redacted + bool(found)
                    kinds.update({each.kind: each.count for each in found})
        if steps:
            said = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) or "none"
            per_step = 1e6 * seconds / steps
            lines.append(f"| {folder.name} | {steps:.0f} | {redacted:.0f} | {said} | {per_step:.0f} |")
    return lines


def main() -> None:
    patterns, poisoned = load("test_patterns"), load("test_poisoned")
    found = patterns.patterns()
    tested = {name: each for name, each in found.items() if not name.startswith(patterns.READ_IN_PART)}
    worst = []
    for name, pattern in tested.items():
        used = patterns.uses(name)
        ratio, seconds, _ = patterns.growth(pattern, mixed=8, anchored=bool(used) and used <= {"match", "fullmatch"})
        worst.append((ratio, seconds, name))
    over = [name for ratio, _, name in worst if ratio > patterns.MOST_GROWTH]
    costs = {unit: poisoned.ingest_cost(unit, chars=80_000) for unit in poisoned.UNITS}
    slowest = max(costs, key=lambda unit: costs[unit])
    counter = itertools.count()
    with tempfile.TemporaryDirectory() as folder:
        rows = poisoned.figures(lambda: Path(folder) / str(next(counter)))
    print("# Hostile content\n")
    print(
        "Written by `python tests/security/measure.py`, the long form of the tests in this folder; the short form runs"
    )
    print("with all tests. Times are of a machine that was doing other things as well: read them as ratios.\n")
    print("## Poisoned trajectories\n")
    print(
        "Three good steps, and the steps of an attack. How many steps of the attack a search finds at each `min_trust`;"
    )
    print("the labels are those of the whole trajectory. What an attacker says through a tool or a document is never")
    print(
        "found from `medium` on; what it makes the agent or the user say is. In each context the attack stands as data, with"
    )
    print('`trust="low"`, and no step of it opens or closes an element.\n')
    print(
        "The last columns: the rank of the answer among all that is found and among what is found from `medium` on, and"
    )
    print("how many steps of the user and the agent the attack makes fall below `medium`.\n")
    print("| attack | steps | at low | at medium | at high | labels | rank | from medium | fallen |")
    print("|---|---:|---:|---:|---:|---|---:|---:|---:|")
    for name, steps, low, medium, high, labels in rows:
        print(f"| {name} | {steps} | {low} | {medium} | {high} | {labels} |")
    print("\n## Patterns\n")
    print(
        f"{len(found)} compiled patterns were found in the library; {len(tested)} of them are given whole texts and were"
    )
    print(
        f"tested alone, with texts of their own parts: {len(over)} take more than {patterns.MOST_GROWTH:g} times as long"
    )
    print(f"for four times the text. The other {len(found) - len(tested)} are given the beginning or the end of a text")
    print(
        "only, and are tested by what uses them: a step of 80,000 characters of one unit is cleaned, labeled, quoted and asked for"
    )
    print(f"in at most {max(costs.values()):.3f} s (the unit {slowest!r}; {len(costs)} units).\n")
    print("## Secrets\n")
    print(
        "Steps of the data sets in which something was taken for a secret; these sets hold made-up credentials, and no"
    )
    print("hash or id of a log was taken for one in those that were looked at, twelve of each kind.\n")
    print("| set | steps | redacted | kinds | µs a step |\n|---|---:|---:|---|---:|")
    print("\n".join(redaction_figures()) or "| no data sets are here | | | | |")


if __name__ == "__main__":
    main()

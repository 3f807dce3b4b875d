"""The long form of the security suite: writes the figures of `tests/security/README.md`.

python tests/security/measure.py        # some minutes; prints what stands there of attacks, patterns and data sets

What that page says of lists, fuzzing, files and erased words is written by hand.
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
    from stitch.ingest.redact import redact_step
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
    print("`low trust`, and no step of it opens or closes an element.\n")
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

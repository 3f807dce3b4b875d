"""The long form: every pattern of the library, and labeling as a whole, take time in proportion to their text.

python tests/security/patterns.py        # some minutes; ends with 1 and names what does not

Patterns are found where they are: as values of modules and classes, alone or in tables. Each is given texts made of its
own letters, repeated; six times the text may not take much more than six times the processor's time.
"""

import pkgutil
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import stitch
from stitch.core import Step
from stitch.label.local import LocalLabeler

LONG, TIMES = 4_000, 6
MOST_GROWTH = 2 * TIMES
NOISE_S = 0.002
"""What takes less is not looked at: the clock is no finer."""
UNITS = (
    " ", "a", "1", "\n", "A ", "a.", "<", '"', "\\", "no. ", "at 9:15 ", "$4 ", "it, ", "(", "-", "https://a.b/", "é",
)  # fmt: skip


def patterns() -> dict[str, re.Pattern[str]]:
    """All patterns by the names under which modules have them."""
    found: dict[str, re.Pattern[str]] = {}

    def walk(value: Any, name: str, depth: int = 0) -> None:
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            found.setdefault(f"{value.pattern} {value.flags}", value)
        elif depth < 4 and isinstance(value, dict):
            walk(list(value.items()), name, depth)
        elif depth < 4 and isinstance(value, list | tuple | set | frozenset):
            for item in value:
                walk(item, name, depth + 1)
        elif isinstance(value, type) and value.__module__ == name:
            walk(list(vars(value).values()), name, depth + 1)

    paths = {"stitch.": [str(Path(stitch.__file__).parent)]}  # in a checkout `stitch.__path__` has `stitch` in it again
    paths |= {
        f"stitch.{name}.": list(import_module(f"stitch.{name}").__path__)
        for name in ("signatures", "pipelines", "bench")
    }
    for module in chain.from_iterable(pkgutil.walk_packages(path, prefix) for prefix, path in paths.items()):
        if not re.search(r"\.(testing|__main__)\b", module.name):
            try:
                walk(list(vars(import_module(module.name)).values()), module.name)
            except ImportError:  # of an adapter whose framework is not here
                continue
    return found


def texts(pattern: str, rng: random.Random) -> Iterator[Callable[[int], str]]:
    """Makers of texts of a length: units of the pattern's own letters, and of those that occur anywhere."""
    letters = re.sub(r"\\.|[\[\](){}|?*+^$]", " ", pattern).split()
    units = [*UNITS, *letters[:20], *("".join(rng.choices([*UNITS, *letters], k=3)) for _ in range(8))]
    for unit in dict.fromkeys(units):
        yield partial(_repeated, unit)


def _repeated(unit: str, length: int) -> str:
    return unit * (length // len(unit)) + "\x00"


def _use(pattern: re.Pattern[str], text: str) -> None:
    pattern.fullmatch(text)
    for _ in pattern.finditer(text):
        pass


def grows(use: Callable[[str], object], make: Callable[[int], str], *, length: int = LONG) -> bool:
    """Whether a longer text takes more than its share, each of three times: a busy machine can look slow once."""

    def cost(text: str) -> float:
        began = time.thread_time()
        use(text)
        return time.thread_time() - began

    return all(
        (quick := cost(make(length))) > NOISE_S and cost(make(TIMES * length)) > MOST_GROWTH * quick for _ in range(3)
    )


def label(text: str) -> None:
    """Label a step of a text."""
    LocalLabeler().begin("t").label([Step(id="1", role="assistant", content=text)])


if __name__ == "__main__":
    rng, slow = random.Random(1), []
    known = patterns()
    for pattern in known.values():
        for make in texts(pattern.pattern, rng):
            if grows(partial(_use, pattern), make):
                slow.append(f"{pattern.pattern[:80]!r} on {make(40)!r}")
                break
    slow += [f"labeling {make(40)!r}" for make in texts("", rng) if grows(label, make, length=20_000)]
    print(*slow, f"{len(known)} patterns, {len(slow)} slow", sep="\n")
    sys.exit(bool(slow))

"""What only some systems have is used where it is there, told where it is missing, and never stops an import."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TAKE_AWAY = """
import importlib, os, signal, socket, sys

import asyncio, concurrent.futures, logging, multiprocessing, shutil, subprocess, tempfile, uuid  # for themselves

NAMES = ("fork", "register_at_fork", "O_NOFOLLOW", "posix_fallocate", "posix_fadvise", "fchmod", "getuid", "killpg",
         "mkfifo", "sched_getaffinity")
for name in NAMES:
    vars(os).pop(name, None)
vars(socket).pop("AF_UNIX", None)
for name in ("SIGKILL", "SIGHUP", "SIGUSR1"):
    vars(signal).pop(name, None)
for name in MISSING:
    sys.modules[name] = None  # whoever imports it gets an ImportError
"""
IMPORT_ALL = """
for name in MODULES:
    importlib.import_module(name)
print(len(MODULES))
"""
USE = """
from stitch import Step, StitchError, open_memory
try:
    with open_memory("m") as memory:
        memory.add(Step(id="a", role="user", content="Let's plan day 1."), trajectory="t")
        memory.lifecycle.backup("b")
        print(memory.search("day 1").hits[0].snippet.step, memory.lifecycle.verify().disagreements)
except StitchError as error:
    print(error.message)
"""


ROOT = Path(__file__).resolve().parents[2]
OF_FRAMEWORKS = {f"stitch.adapters.{file.stem}" for file in (ROOT / "stitch/adapters").glob("*.py")}
"""Modules that import a framework, which may not be installed, and which goes by the name of the system."""


def modules() -> list[str]:
    """Every module of the library and of the folders that are installed with it."""
    found = []
    for folder in ("stitch", "signatures", "pipelines", "bench", "configs"):
        for file in (ROOT / folder).rglob("*.py"):
            parts = file.relative_to(ROOT).with_suffix("").parts
            parts = parts if folder == "stitch" else ("stitch", *parts)
            found.append(".".join(part for part in parts if part != "__init__"))
    return sorted(name for name in found if not name.endswith(".__main__") and name not in OF_FRAMEWORKS)


def run(program: str, *, missing: tuple[str, ...], cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("COV", "STITCH_"))}
    text = f"MISSING = {missing!r}\n{TAKE_AWAY}{program}"
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_every_module_is_imported_without_what_only_some_systems_have_and_a_memory_says_so(tmp_path: Path) -> None:
    names = modules()
    program = f"MODULES = {names!r}\n{IMPORT_ALL}{USE}"
    count, told = run(program, missing=("fcntl", "resource", "pwd", "grp", "termios"), cwd=tmp_path).splitlines()
    assert int(count) == len(names)
    if sys.platform != "win32":  # which locks by other means
        assert told == "this system cannot lock files: nothing would keep a second process from opening the memory"
        assert list(tmp_path.iterdir()) == [], "what failed to open leaves nothing"

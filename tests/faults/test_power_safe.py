"""What `power_safe` promises: a step that was accepted is on the disk, not only with the system."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COUNTS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
static atomic_int synced;
int fsync(int file) { synced++; return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file); }
int fdatasync(int file) { synced++; return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file); }
int how_often_synced(void) { return synced; }
"""
"""Stands before the library of the system, and counts how often a file is made to reach the disk."""
ADDS = """
import ctypes, sys
from stitch import open_memory
synced = ctypes.CDLL(sys.argv[2]).how_often_synced
for safe in (True, False):
    with open_memory(f"{sys.argv[1]}-{safe}", power_safe=safe) as memory:
        memory.add({"role": "user", "content": "Book the Harbor Inn."}, trajectory="t")
        before = synced()
        for number in range(20):
            memory.add({"role": "user", "content": f"Room {number} is free."}, trajectory="t")
        print(synced() - before)
"""

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None, reason="counts with a library made here"
)


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("counting")
    (folder / "counts.c").write_text(COUNTS)
    library = folder / "counts.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, folder / "counts.c", "-ldl"], check=True, timeout=120)
    return library


@pytest.mark.slow
def test_where_power_may_be_lost_every_step_is_on_the_disk_before_its_receipt(counting: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", ADDS, str(tmp_path / "m"), str(counting)]
    environment = {**os.environ, "LD_PRELOAD": str(counting)}
    told = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert told.returncode == 0, told.stderr
    safe, quick = map(int, told.stdout.split())
    assert safe >= 20 > quick

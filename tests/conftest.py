"""How many examples the properties are tried on, that a run tries the same ones as the last, and where tests write."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from hypothesis import settings

settings.register_profile("short", max_examples=16, deadline=None, derandomize=True, database=None)
settings.register_profile("long", max_examples=200, deadline=None, database=None, print_blob=True)
settings.load_profile(os.environ.get("STITCH_TEST_PROFILE", "short"))

SHARED_MEMORY = Path("/dev/shm")
ROOM_BYTES = 4 * 2**30

# Tests make thousands of memories, each of which makes the disk write what it holds: in main memory, if there is room,
# that takes a quarter of the time. No test cuts the power, and those of a full disk have one of their own.
if os.access(SHARED_MEMORY, os.W_OK) and shutil.disk_usage(SHARED_MEMORY).free >= ROOM_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(SHARED_MEMORY))

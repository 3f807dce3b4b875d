"""How many examples the properties are tried on, and that a run tries the same ones as the last."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("short", max_examples=25, deadline=None, derandomize=True, database=None)
settings.register_profile("long", max_examples=200, deadline=None, database=None, print_blob=True)
settings.load_profile(os.environ.get("STITCH_TEST_PROFILE", "short"))

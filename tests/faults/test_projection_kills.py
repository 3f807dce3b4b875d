"""Snippets and themes that follow a journal outlive kill -9 at any moment: what is left equals what is rebuilt."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stitch.testing.contracts.projection import KilledProjectionContract

SNIPPETS = Path(__file__).with_name("projections.py")
THEMES = Path(__file__).with_name("themes.py")


def load(script: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestKilledSnippets(KilledProjectionContract):
    @pytest.fixture
    def opened(self) -> Any:
        return load(SNIPPETS).opened

    @pytest.fixture
    def command(self) -> Callable[[Path, int], list[str]]:
        return lambda folder, seed: [sys.executable, str(SNIPPETS), str(folder), str(seed)]

    @pytest.fixture
    def kills(self) -> int:
        return int(os.environ.get("STITCH_TEST_PROJECTION_KILLS", "2"))


class TestKilledThemes(KilledProjectionContract):
    @pytest.fixture
    def opened(self) -> Any:
        return load(THEMES).opened

    @pytest.fixture
    def command(self) -> Callable[[Path, int], list[str]]:
        return lambda folder, seed: [sys.executable, str(THEMES), str(folder), str(seed)]

    @pytest.fixture
    def kills(self) -> int:
        return int(os.environ.get("STITCH_TEST_PROJECTION_KILLS", "2"))


class TestKilledThemesOfModels(TestKilledThemes):
    """What a model said was paid for: it is a record of the journal, whole or not there."""

    @pytest.fixture
    def command(self) -> Callable[[Path, int], list[str]]:
        return lambda folder, seed: [sys.executable, str(THEMES), str(folder), str(seed), "told"]

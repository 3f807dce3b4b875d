"""Modules as trees, which several tests look through."""

import ast
from functools import cache
from pathlib import Path

import pytest


@cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def parsed():
    return _parsed

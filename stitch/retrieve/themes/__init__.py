"""Retrieval over the hierarchy of themes: what covers a question first, more of it while that pays (xMemory, §4)."""

from __future__ import annotations

from stitch.retrieve.themes.constants import THEME_CONSTANTS, ThemeConstants
from stitch.retrieve.themes.retriever import ThemesRetriever

__all__ = ["THEME_CONSTANTS", "ThemeConstants", "ThemesRetriever"]

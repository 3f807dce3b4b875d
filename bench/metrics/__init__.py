"""Measures: pure functions, one a file, each with its formula and source."""

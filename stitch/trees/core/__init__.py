"""Artifacts as trees, below everything that asks them: values, operations, formats, versions in the journal."""

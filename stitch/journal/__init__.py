"""The append-only truth of a memory: what was accepted, how it was labeled, how far it has come."""

from stitch.journal.entries import Checkpoint, Entry, IngestCounts
from stitch.journal.sqlite import Journal

__all__ = ["Checkpoint", "Entry", "IngestCounts", "Journal"]

"""The append-only truth of a memory: what was accepted, how it was labeled, how far it has come."""

from stitch.journal.entries import (
    Checkpoint,
    DamagedRecordError,
    Entry,
    IngestCounts,
    KeptStep,
    NewRecord,
    Record,
    Revision,
    Selected,
)
from stitch.journal.sqlite import Journal

__all__ = [
    "Checkpoint", "DamagedRecordError", "Entry", "IngestCounts", "Journal", "KeptStep", "NewRecord", "Record",
    "Revision", "Selected",
]  # fmt: skip

"""The append-only truth of a memory: what was accepted, how it was labeled, how far it has come."""

from stitch.journal.entries import (
    Checkpoint,
    DamagedRecordError,
    DamagedStepError,
    Entry,
    IngestCounts,
    KeptStep,
    NewRecord,
    Record,
    Revision,
    Selected,
)
from stitch.journal.journal import Journal
from stitch.journal.sqlite_file import copy_running
from stitch.journal.tables import VERSION
from stitch.journal.versions import check_version

__all__ = [
    "VERSION", "Checkpoint", "DamagedRecordError", "DamagedStepError", "Entry", "IngestCounts", "Journal", "KeptStep",
    "NewRecord", "Record", "Revision", "Selected", "check_version", "copy_running",
]  # fmt: skip

"""The append-only truth of a memory: what was accepted, how it was labeled, how far it has come."""

from stitch.journal.entries import Checkpoint, Entry, IngestCounts, KeptStep, Revision, Selected
from stitch.journal.protocol import CopyableJournal, DamagedRecordError, Journal, NewRecord, Record
from stitch.journal.sqlite import SqliteJournal

__all__ = [
    "DamagedRecordError",
    "Checkpoint", "CopyableJournal", "Entry", "IngestCounts", "Journal", "KeptStep", "NewRecord", "Record", "Revision",
    "Selected", "SqliteJournal",
]  # fmt: skip

"""How steps come in: the journal that keeps them, and the way from a step to a snippet that can be found."""

from stitch.ingest.entries import Checkpoint, Entry, IngestCounts
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.inventories import unite
from stitch.ingest.journal import Journal
from stitch.ingest.state import IngestState

__all__ = ["Checkpoint", "Entry", "IngestCounts", "IngestState", "Ingestor", "Journal", "unite"]

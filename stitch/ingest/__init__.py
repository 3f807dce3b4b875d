"""How steps come in: the journal that keeps them, and the way from a step to a snippet that can be found."""

from stitch.ingest.entries import Checkpoint, Entry, IngestCounts
from stitch.ingest.ingestor import Ingestor, IngestState
from stitch.ingest.inventories import TenantInventories, unite
from stitch.ingest.journal import Journal

__all__ = ["Checkpoint", "Entry", "IngestCounts", "IngestState", "Ingestor", "Journal", "TenantInventories", "unite"]

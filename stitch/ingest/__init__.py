"""From a step to a snippet that can be found: accept, label, put."""

from stitch.ingest.ingestor import Ingestor, Role
from stitch.ingest.inventories import unite
from stitch.ingest.state import TrajectoryState

__all__ = ["TrajectoryState", "Ingestor", "Role", "unite"]

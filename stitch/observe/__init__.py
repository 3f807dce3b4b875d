"""Observers of a memory: log records, a trace, and the fan-out that keeps them apart from the work."""

from stitch.observe.log import LogObserver
from stitch.observe.observers import Observers
from stitch.observe.trace import TraceObserver

__all__ = ["LogObserver", "Observers", "TraceObserver"]

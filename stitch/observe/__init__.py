"""Observers of a memory, and the recall log."""

from stitch.observe.observers import LogObserver, Observers, TraceObserver

__all__ = ["LogObserver", "Observers", "TraceObserver"]

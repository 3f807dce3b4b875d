"""Observers for tests."""

from stitch.core import MemoryEvent


class RecordingObserver:
    """Keeps every event."""

    def __init__(self) -> None:
        self.events: list[MemoryEvent] = []

    def notice(self, event: MemoryEvent) -> None:
        self.events.append(event)


class FailingObserver:
    """Raises at every event.

    Args:
        error: What it raises.
    """

    def __init__(self, error: Exception) -> None:
        self.error = error

    def notice(self, event: MemoryEvent) -> None:
        raise self.error

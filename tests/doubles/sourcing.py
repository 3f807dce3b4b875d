"""A broker in memory, and a source that reads it: what a source of messages looks like, and a proof that it fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stitch.core import Position, Rejection, SourcedStep
from stitch.sources.reading import StepReader


class Topic:
    """Messages in their order, each one record, and how far each group of readers has committed.

    Args:
        name: The topic.
    """

    def __init__(self, name: str = "steps") -> None:
        self.name = name
        self.messages: list[bytes] = []
        self.committed: dict[str, Position] = {}


class TopicSource:
    """The steps of a topic; positions are committed to the broker.

    Args:
        topic: What is read.
        group: Who reads.
    """

    def __init__(self, topic: Topic, *, group: str = "memory") -> None:
        self.name = topic.name
        self._topic = topic
        self._group = group
        self._reader = StepReader(topic.name, trajectory=topic.name)
        committed = topic.committed.get(group)
        self._next = int(committed["offset"]) if committed else 0
        if committed:
            self._reader.restore(committed)

    def read(self) -> Iterator[Sequence[SourcedStep | Rejection]]:
        while self._next < len(self._topic.messages):
            self._next += 1
            yield list(self._reader.line(self._next, self._topic.messages[self._next - 1]))

    def snapshot(self) -> Position:
        return {"offset": self._next, **self._reader.save()}

    def commit(self, position: Position) -> None:
        self._topic.committed[self._group] = position

    def close(self) -> None:
        """Nothing is open."""

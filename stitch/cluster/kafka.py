"""Steps from a topic of Kafka, which never ends: `stitch ingest kafka://BROKER/TOPIC`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson

from stitch.core import Position, Rejection, SourcedStep
from stitch.errors import InputError, SettingsError, require_extra
from stitch.sources.reading import StepReader

_MESSAGES = 500
_WAIT_S = 0.2
_TELL_S = 5.0
"""Seconds between two times at which it is told how far the group is behind."""

_log = logging.getLogger(__name__)


class KafkaTopic:
    """The steps of a topic's messages, each a record as in a line of a file; a `StepSource`.

    Members of one consumer group share its partitions. A position is committed when all before it is accepted; what is
    read again then has the same ids: a step that brings none is named by its partition and offset. Messages of one
    trajectory come in order where they have the same key; the key is the trajectory of records that name none.

    Args:
        url: `kafka://BROKER[:PORT][,...]/TOPIC`; what stands behind `?` are options of librdkafka, such as
            `group.id=NAME` or `security.protocol=SASL_SSL`.
        tenant: Whose memory it goes to: the group is `stitch-TENANT` by default.
        trajectory: Of records without one that have no key either; by default the topic's name.
        tell: Is told now and then of how many messages the group is behind, by partitions of this member.

    Raises:
        SettingsError: The URL names no topic or an option that is not known, or the extra is missing.
    """

    def __init__(
        self,
        url: str,
        *,
        tenant: str,
        trajectory: str | None = None,
        tell: Callable[[str, str, Mapping[int, int]], None] | None = None,
    ) -> None:
        require_extra("kafka", package="confluent_kafka", needed_by="a topic of Kafka")
        from confluent_kafka import Consumer, KafkaException

        parts = urlsplit(url)
        self.name = parts.path.strip("/")
        if not parts.netloc or not self.name:
            raise SettingsError("the URL of the topic cannot be read", hint="write kafka://BROKER:9092/TOPIC")
        self._trajectory = trajectory or self.name
        self._offsets: dict[int, int] = {}
        """By partition, the offset behind the last message that was read."""
        options: dict[str, Any] = {
            "bootstrap.servers": parts.netloc.rpartition("@")[2],
            "group.id": f"stitch-{tenant}",
            "auto.offset.reset": "earliest",
            **dict(parse_qsl(parts.query)),
            "enable.auto.commit": False,
        }
        self._tell, self._group, self._told_at = tell, options["group.id"], -_TELL_S
        try:
            self._consumer = Consumer(options, logger=_log)
            self._consumer.subscribe([self.name], on_revoke=self._lose, on_lost=self._lose)
        except KafkaException as error:
            raise SettingsError(
                f"the topic {self.name!r} cannot be read: {_said(error)}", hint="check the options in its URL"
            ) from error

    def read(self) -> Iterator[Sequence[SourcedStep | Rejection]]:
        """Yield what has come, message by message.

        Raises:
            InputError: The broker refuses the topic.
        """
        while messages := self._consumer.consume(_MESSAGES, timeout=_WAIT_S):
            for given in messages:
                message: Any = given  # the package's types say that everything may be missing
                if (error := message.error()) is not None:
                    self._refuse(error)
                    continue
                yield self._steps(message)
                self._offsets[message.partition()] = message.offset() + 1
        self._tell_lag()

    def snapshot(self) -> Position:
        """The offset behind the last message of each partition."""
        return {str(partition): offset for partition, offset in self._offsets.items()}

    def commit(self, position: Position) -> None:
        """Commit offsets; of a partition that another member has by now, that one begins where the last commit was."""
        from confluent_kafka import KafkaException, TopicPartition

        offsets = [
            TopicPartition(self.name, int(partition), offset)
            for partition, offset in position.items()
            if int(partition) in self._offsets
        ]
        if not offsets:
            return
        try:
            self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            _log.warning("what was read of topic %r will be read again: %s", self.name, _said(error))
        self._tell_lag()

    def _tell_lag(self) -> None:
        """Tell how many messages lie behind the committed position of each partition, if it is time to."""
        from confluent_kafka import KafkaException

        if self._tell is None or time.monotonic() < self._told_at + _TELL_S:
            return
        lags = dict[int, int]()
        try:
            for each in self._consumer.committed(self._consumer.assignment(), timeout=_TELL_S):
                first, end = self._consumer.get_watermark_offsets(each, cached=True)
                if end >= 0:  # else nothing was fetched yet; an offset below 0 says that nothing is committed
                    lags[each.partition] = end - max(first, each.offset, 0)
        except KafkaException as error:
            _log.info("how far the group %r is behind is told later: %s", self._group, _said(error))
        if lags:
            self._told_at = time.monotonic()
            self._tell(self.name, self._group, lags)

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()

    def _steps(self, message: Any) -> list[SourcedStep | Rejection]:
        key, raw = message.key(), message.value() or b""
        place = f"{message.partition()}-{message.offset()}"
        reader = StepReader(self.name, trajectory=key.decode("utf-8", "replace") if key else self._trajectory)
        items = list(reader.line(message.offset(), raw))
        if _names_its_steps(raw):
            return items
        return [
            item._replace(step=item.step.model_copy(update={"id": f"{place}-{item.step.id}"}))
            if isinstance(item, SourcedStep)
            else item
            for item in items
        ]

    def _refuse(self, error: Any) -> None:
        if error.fatal() or not error.retriable():
            from confluent_kafka import KafkaError

            if error.code() in (KafkaError._PARTITION_EOF, KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
                return
            raise InputError(f"the topic {self.name!r} cannot be read: {error.str()}", hint="check its name and rights")

    def _lose(self, _: Any, partitions: Sequence[Any]) -> None:
        for each in partitions:
            self._offsets.pop(each.partition, None)


def _said(error: Any) -> str:
    return str(error.args[0].str() if error.args and hasattr(error.args[0], "str") else error)


def _names_its_steps(raw: bytes) -> bool:
    """Whether all steps of a record bring their own ids."""
    try:
        record = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return False
    if not isinstance(record, Mapping):
        return False
    steps = record.get("steps")
    inside = steps if isinstance(steps, list) else [record]
    return all(isinstance(each, Mapping) and each.get("id") is not None for each in inside)

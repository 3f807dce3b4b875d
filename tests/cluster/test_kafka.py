"""Steps from a topic: librdkafka's own cluster of one broker, which lives in a producer."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from stitch import Memory, open_memory
from stitch.cluster.kafka import KafkaTopic
from stitch.core import Rejection
from stitch.errors import SettingsError
from stitch.lifecycle.selection import Selector
from stitch.pipelines.follow import follow_sources
from stitch.pipelines.ingest import ingest

kafka = pytest.importorskip("confluent_kafka")


class EnoughError(Exception):
    """Nothing more comes."""


@pytest.fixture
def producer() -> Iterator[Any]:
    made = kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock"})
    yield made
    made.flush(60)


@pytest.fixture
def url(producer: Any) -> str:
    [broker] = producer.list_topics(timeout=120).brokers.values()
    return f"kafka://{broker.host}:{broker.port}/agents?group.id=g&session.timeout.ms=6000"


def send(producer: Any, *messages: tuple[str | None, bytes]) -> None:
    for key, value in messages:
        producer.produce("agents", value, key=key)
    producer.flush(60)


def said(content: str, **fields: object) -> bytes:
    return orjson.dumps({"role": "user", "content": content, **fields})


def read(memory: Memory, url: str, until: Callable[[Memory, list[Rejection]], bool]) -> list[Rejection]:
    """Take in a topic until something is true of the memory and the rejections, as `stitch ingest` does."""
    source, rejections = KafkaTopic(url, tenant="default", tell=memory.note_lag), list[Rejection]()
    looks = iter(range(600))

    def wait(_: float) -> None:
        if until(memory, rejections) or next(looks, None) is None:
            raise EnoughError

    with pytest.raises(EnoughError):
        ingest(memory, follow_sources([source], wait=wait), on_rejection=rejections.append)
    return rejections


def has(steps: int, *, rejected: int = 0) -> Callable[[Memory, list[Rejection]], bool]:
    return lambda memory, rejections: memory.status().accepted >= steps and len(rejections) >= rejected


def lag(memory: Memory) -> str:
    return memory.status().topics.get("topic agents of group g", "")


def committed(url: str) -> int:
    """The offset at which the next member of the group would begin."""
    member = kafka.Consumer({"bootstrap.servers": url.split("/")[2], "group.id": "g"})
    partitions = member.list_topics("agents", timeout=120).topics["agents"].partitions
    offsets = member.committed([kafka.TopicPartition("agents", each) for each in partitions], timeout=120)
    member.close()
    return max(int(each.offset) for each in offsets)


def test_messages_are_stored_in_order_by_trajectory_and_poison_is_rejected_with_its_reason(
    producer: Any, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stitch.cluster.kafka._TELL_S", 0.2)
    send(producer, *[("trip", said(f"The hotel of day {n} costs {n}0 dollars.")) for n in range(5)])
    send(producer, ("trip", b"\xff\xfe no json"), ("trip", said("Book the last one.")), (None, said("Hello.")))
    with open_memory(tmp_path / "m") as memory:
        [rejection] = read(
            memory, url, lambda *given: has(7, rejected=1)(*given) and lag(memory).startswith("0 behind")
        )
        assert (rejection.source, bool(rejection.reason)) == ("agents", True)
        told = [entry.step.content for entry in memory.steps("trip")]
        assert told == [*(f"The hotel of day {n} costs {n}0 dollars." for n in range(5)), "Book the last one."]
        assert [entry.step.content for entry in memory.steps("agents")] == ["Hello."]
        assert lag(memory).startswith("0 behind in ")


def test_status_says_how_far_the_group_is_behind_and_an_erasure_leaves_no_name_of_its_trajectory(
    producer: Any, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stitch: Callable[..., Any]
) -> None:
    send(producer, *[(None, said(f"Day {n}: Kyoto.")) for n in range(3)])
    with open_memory(tmp_path / "m") as memory:
        monkeypatch.setattr(KafkaTopic, "commit", lambda self, position: None)  # it cannot say what it has
        read(memory, url, lambda *given: has(3)(*given) and lag(memory).startswith("3 behind"))
        assert has(3)(memory, [])
        assert lag(memory).startswith("3 behind")
        assert lag(memory) in stitch("status", "--memory", str(tmp_path / "m"))[1]
        assert memory.lifecycle.erase(Selector(trajectory="agents")).proof.found == ()
        assert memory.status().topics == {}


@pytest.mark.slow  # ten seconds of waiting for the consumer group; the order of messages and poison stay
def test_what_is_read_again_after_a_kill_is_there_once_and_committed(
    producer: Any, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(producer, ("t", said("one")), ("t", said("two", id="own")))
    with open_memory(tmp_path / "m") as memory:
        lost = KafkaTopic(url, tenant="default")
        monkeypatch.setattr(lost, "commit", lambda position: None)  # it dies before it commits
        looks = iter(range(60))

        def wait(_: float) -> None:
            if memory.status().accepted == 2 or next(looks, None) is None:
                raise EnoughError

        with pytest.raises(EnoughError):
            ingest(memory, follow_sources([lost], wait=wait), on_rejection=lambda each: None)
        send(producer, ("t", said("three")))
        read(memory, url, has(3))
        assert committed(url) == 3
        assert [entry.step.content for entry in memory.steps("t")] == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("given", "told"),
    [("kafka://broker", "cannot be read"), ("kafka://broker/topic?no.such=1", "No such configuration property")],
)
def test_a_url_that_cannot_be_used_is_told_in_one_line(given: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told) as refused:
        KafkaTopic(given, tenant="default")
    assert "\n" not in refused.value.message


def test_the_command_says_what_is_wrong_with_a_topic(stitch: Callable[..., Any], tmp_path: Path) -> None:
    status, _, err = stitch("ingest", "kafka://broker", "--memory", str(tmp_path / "m"))
    assert (status, "the URL of the topic cannot be read" in err) == (2, True)

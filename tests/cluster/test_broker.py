"""Steps from a real broker of Kafka, into a memory that workers label: in order, once, though a reader is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from doubles.kafka import broker
from doubles.qdrant import LoopbackQdrant
from stitch import Memory

kafka = pytest.importorskip("confluent_kafka")
administration = pytest.importorskip("confluent_kafka.admin")
pytestmark = pytest.mark.slow  # a broker takes some seconds and 300 MB

TRAJECTORIES, STEPS = 12, 40


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with broker() as address:
        yield address


@pytest.fixture
def topic(address: str) -> str:
    """A topic of four partitions."""
    name = f"agents-{os.getpid()}-{time.monotonic_ns()}"
    admin = administration.AdminClient({"bootstrap.servers": address})
    admin.create_topics([administration.NewTopic(name, num_partitions=4, replication_factor=1)])[name].result(30)
    return name


def send(address: str, topic: str, *, first: int, behind: int) -> None:
    """Send the steps of all trajectories from one to before another."""
    producer = kafka.Producer({"bootstrap.servers": address, "enable.idempotence": True})
    for number in range(first, behind):
        for trajectory in range(TRAJECTORIES):
            content = f"Step {number} of trip {trajectory} costs {number} dollars."
            producer.produce(topic, orjson.dumps({"role": "user", "content": content}), key=f"trip {trajectory}")
        if number == first:
            producer.produce(topic, b"{ no record", key="trip 0")
    assert producer.flush(30) == 0


class Reader:
    """A process of `stitch ingest kafka://...`."""

    def __init__(self, address: str, topic: str, *, memory: str, journal: str, folder: Path) -> None:
        url = f"kafka://{address}/{topic}?session.timeout.ms=6000"
        command = [sys.executable, "-m", "stitch", "ingest", url, "--memory", memory, "--rejects", str(folder / "no")]
        environment = {**os.environ, "STITCH_JOURNAL": journal, "STITCH_WORKERS": "true"}
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def wait_for(memory: Memory, until: Callable[[Any], bool], *, within_s: float = 120) -> None:
    end = time.monotonic() + within_s
    while not until(memory.status()):
        assert time.monotonic() < end, memory.status()
        time.sleep(0.1)


def test_what_two_readers_take_in_is_there_once_and_in_order_though_one_is_killed(
    address: str,
    topic: str,
    open_shared: Callable[..., Memory],
    server: LoopbackQdrant,
    journal_url: str,
    worker: None,
    tmp_path: Path,
) -> None:
    def read() -> Reader:
        return Reader(address, topic, memory=server.url, journal=journal_url, folder=tmp_path)

    send(address, topic, first=0, behind=STEPS // 2)
    readers = [read(), read()]
    try:
        with open_shared() as memory:
            wait_for(memory, lambda told: told.accepted > TRAJECTORIES)
            readers[0].kill()
            send(address, topic, first=STEPS // 2, behind=STEPS)
            readers.append(read())
            wait_for(memory, lambda told: told.accepted >= TRAJECTORIES * STEPS)
            lag = f"topic {topic} of group stitch-default"
            wait_for(memory, lambda told: told.topics.get(lag, "").startswith("0 behind in 4 partitions"))
            memory.flush()
            assert memory.status().stored == TRAJECTORIES * STEPS
            for number in range(TRAJECTORIES):
                said = [entry.step.content for entry in memory.steps(f"trip {number}")]
                assert said == [f"Step {step} of trip {number} costs {step} dollars." for step in range(STEPS)]
    finally:
        for each in readers:
            each.kill()
    rejected = [json.loads(line) for line in (tmp_path / "no").read_text().splitlines()]
    assert {each["source"] for each in rejected} == {topic}

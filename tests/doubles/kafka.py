"""A broker of Kafka for the long tests: of the project's own jars, on one node without ZooKeeper."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_JARS = {"org.apache.kafka:kafka_2.13": "4.1.2", "org.slf4j:slf4j-nop": "1.7.36"}
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>broker</artifactId><version>1</version><dependencies>{}</dependencies></project>"""
_JAR = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/logs
num.partitions=4
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
"""
_READY_S = 60.0


@contextmanager
def broker() -> Iterator[str]:
    """The address of a broker, as long as this is entered: of `STITCH_TEST_KAFKA_URL`, or one that is begun here.

    Without either the test is skipped.
    """
    if url := os.environ.get("STITCH_TEST_KAFKA_URL"):
        yield url.removeprefix("kafka://").strip("/")
        return
    jars = _jars()
    with tempfile.TemporaryDirectory(prefix="stitch-kafka-") as folder:
        port, controller = _free_port(), _free_port()
        settings = Path(folder) / "server.properties"
        settings.write_text(_SETTINGS.format(port=port, controller=controller, folder=folder))
        java = ["java", "-Xmx512m", "-cp", f"{jars}/*"]
        made = [*java, "kafka.tools.StorageTool", "format", "-t", "c3RpdGNoLXRlc3RzLWEtYg", "-c", str(settings)]
        subprocess.run(made, check=True, capture_output=True)
        with (Path(folder) / "broker.log").open("wb") as log:
            started = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=log, stderr=log)
        try:
            _wait_for(port, started)
            yield f"127.0.0.1:{port}"
        finally:
            started.kill()
            started.wait()


def _jars() -> Path:
    """The folder of the broker's jars, which Maven fetches once."""
    if shutil.which("mvn") is None or shutil.which("java") is None:
        pytest.skip("a broker of Kafka needs Java and Maven, or STITCH_TEST_KAFKA_URL")
    folder = Path(tempfile.gettempdir()) / f"stitch-kafka-jars-{_JARS['org.apache.kafka:kafka_2.13']}"
    if not folder.is_dir():
        making = Path(tempfile.mkdtemp(prefix="stitch-kafka-jars-"))
        jars = "".join(_JAR.format(*name.split(":"), version) for name, version in _JARS.items())
        (making / "pom.xml").write_text(_POM.format(jars))
        copying = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={making / 'jars'}"]
        fetched = subprocess.run(copying, cwd=making, capture_output=True, text=True, check=False)
        if fetched.returncode:
            pytest.skip(f"Maven fetches no broker of Kafka: {fetched.stdout.strip().splitlines()[:1]}")
        (making / "jars").rename(folder)
        shutil.rmtree(making)
    return folder


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def _wait_for(port: int, started: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _READY_S
    while True:
        assert started.poll() is None, "the broker ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < until, "the broker does not begin"
            time.sleep(0.2)
        else:
            return

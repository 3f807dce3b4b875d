"""Observers: log lines, trace lines, and failures that reach nobody."""

import logging
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest

from doubles.observing import FailingObserver, RecordingObserver
from stitch.core import (
    InputRejected,
    IntentFilter,
    LabelKind,
    LabelMerge,
    LabelsMerged,
    MemoryEvent,
    Rejection,
    Searched,
    StepCorrected,
    StepsAccepted,
    StepsErased,
    StepsFailed,
    StepsRestored,
    StepsRetired,
    StepsStored,
)
from stitch.observe import LogObserver, Observers, TraceObserver

ACCEPTED = StepsAccepted(tenant="a", trajectory="t", steps=("1", "2"))
SECRET = "the password is swordfish"
OF_T: Any = {"tenant": "a", "trajectory": "t"}
QUERY = IntentFilter()
MERGE = LabelMerge(kind=LabelKind.EVENT_TYPE, alias="query", into="ask")
REJECTION = Rejection(source="f.jsonl", line=3, reason="no content", text=SECRET)
EVENTS: list[tuple[MemoryEvent, str, str]] = [
    (ACCEPTED, "DEBUG", "accepted 2 steps of 't' of 'a'"),
    (StepsStored(**OF_T, steps=("1",), made_by="local"), "DEBUG", "stored step '1' of 't' of 'a', labeled by local"),
    (StepsFailed(**OF_T, steps=("1",), reason="no"), "WARNING", "failed step '1' of 't' of 'a': no"),
    (InputRejected(tenant="a", rejection=REJECTION), "WARNING", "rejected f.jsonl line 3 of 'a': no content"),
    (LabelsMerged(**OF_T, merge=MERGE), "INFO", "merged event_type 'query' into 'ask' of 't' of 'a'"),
    (StepCorrected(**OF_T, step="1", by="ann"), "DEBUG", "corrected step '1' of 't' of 'a', by ann"),
    (StepsRetired(**OF_T, steps=("1", "2"), reason=SECRET), "DEBUG", "retired 2 steps of 't' of 'a'"),
    (StepsRestored(**OF_T, steps=("1",), by="ann"), "DEBUG", "put back step '1' of 't' of 'a', by ann"),
    (StepsErased(tenant="a", steps=3, trajectories=2), "DEBUG", "erased 3 steps of 2 trajectories of 'a'"),
    (Searched(**OF_T, query=SECRET, intent_filter=QUERY, hits=("x", "y"), milliseconds=1.25), "DEBUG",
     "searched of 't' of 'a': 2 hits in 1.2 ms"),
    (Searched(tenant="a", trajectory=None, query=SECRET, intent_filter=QUERY, hits=(), milliseconds=3.0), "DEBUG",
     "searched all of 'a': 0 hits in 3.0 ms"),
]  # fmt: skip


@pytest.mark.parametrize(("event", "level", "line"), EVENTS)
def test_each_event_is_one_log_line_at_its_level(
    event: MemoryEvent, level: str, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "stitch.events"):
        LogObserver().notice(event)
    (record,) = caplog.records
    assert (record.levelname, record.getMessage()) == (level, line)
    assert record.__dict__["event"] is event
    assert SECRET not in record.getMessage()


def test_a_trace_holds_one_line_an_event(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text('{"event":"earlier"}\n')
    with TraceObserver(path, clock=lambda: 12.5) as trace:
        for event, _, _ in EVENTS:
            trace.notice(event)
        lines = list(map(orjson.loads, path.read_bytes().splitlines()))  # written at once, not when it is closed
    trace.close()
    assert lines[0] == {"event": "earlier"}
    assert lines[1] == {"event": "StepsAccepted", "at": 12.5, "tenant": "a", "trajectory": "t", "steps": ["1", "2"]}
    assert [line["event"] for line in lines[1:]] == [type(event).__name__ for event, _, _ in EVENTS]


def test_threads_do_not_tear_each_others_lines(tmp_path: Path) -> None:
    with TraceObserver(tmp_path / "trace.jsonl") as trace:

        def report() -> None:
            for _ in range(50):
                trace.notice(ACCEPTED)

        threads = [threading.Thread(target=report) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    lines = (tmp_path / "trace.jsonl").read_bytes().splitlines()
    assert [orjson.loads(line)["event"] for line in lines] == ["StepsAccepted"] * 200


def test_a_failing_observer_harms_nobody_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    last = RecordingObserver()
    observers = Observers([FailingObserver(OSError("disk full")), FailingObserver(ValueError("no")), last])
    with caplog.at_level(logging.WARNING):
        observers.notice(ACCEPTED)
        observers.notice(ACCEPTED)
    assert last.events == [ACCEPTED, ACCEPTED]
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [OSError, ValueError]


@pytest.mark.parametrize(
    ("level", "others", "heeded"),
    [("DEBUG", (), True), ("INFO", (), False), ("INFO", (RecordingObserver(),), True)],
)
def test_an_event_is_heeded_by_who_logs_its_level_and_by_any_other_observer(
    level: str, others: tuple[RecordingObserver, ...], heeded: bool
) -> None:
    logger = logging.Logger("of this test", level)
    assert Observers([LogObserver(logger), *others]).heeds(Searched) is heeded

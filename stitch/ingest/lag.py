"""The lag of topics: how many messages lie behind what was committed, as those who read them have told a journal."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime, timezone
from itertools import groupby

import orjson

from stitch.journal import Journal
from stitch.journal.entries import NewRecord

TOPIC_LAG = "lag of a topic"


def note_lag(journal: Journal, *, tenant: str, topic: str, group: str, messages: Mapping[int, int]) -> None:
    """Keep by how many messages a consumer group is behind in the partitions of a member, in place of what was said."""
    at = time.time()
    notes = [
        NewRecord(TOPIC_LAG, f"{topic} {group} {partition}", orjson.dumps([topic, group, lag, at]))
        for partition, lag in messages.items()
    ]
    journal.replace_records(tenant, notes)


def told_lags(journal: Journal, *, tenant: str) -> dict[str, str]:
    """The lag of each topic and group as a status says it, with the time at which its oldest part was told."""
    notes = sorted(orjson.loads(record.payload) for record in journal.records(tenant, kind=TOPIC_LAG))
    told = {}
    for (topic, group), found in groupby(notes, key=lambda note: tuple(note[:2])):
        lags, times = zip(*(note[2:] for note in found), strict=True)
        at = datetime.fromtimestamp(min(times), timezone.utc).isoformat(timespec="seconds")
        told[f"topic {topic} of group {group}"] = f"{sum(lags)} behind in {len(lags)} partitions, at {at}"
    return told

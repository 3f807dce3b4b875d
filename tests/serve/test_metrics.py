"""Numbers of a server as a scraper reads them: whole, and without a word of any tenant."""

import re

from stitch.serve.keys import ACTIONS

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)+)\})? (-?[0-9.e+-]+)')


def read(text):
    """Samples by name and labels, checked as the format wants them: declared before, counters end in `_total`."""
    lines = text.decode().splitlines()
    assert lines[-1] == "# EOF"
    kinds, found = {}, {}
    for line in lines[:-1]:
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in kinds
            kinds[name] = kind
        elif not line.startswith("# "):
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            name = sample[1]
            base = re.sub(r"_(?:total|bucket|count|sum)$", "", name)
            assert (kinds.get(base) in ("counter", "histogram")) != (kinds.get(name) == "gauge"), line
            found[name, sample[2] or ""] = float(sample[3])
    return found


def test_requests_are_counted_by_what_was_asked_and_how_it_ended(serving):
    client = serving()
    client.add("hello")
    client.post("/v1/search", {"query": "hello"})
    client.get("/v1/trajectories/secret-plan")
    client.post("/v1/search", {})
    answer = client.get("/metrics")
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    found = read(answer.body)
    assert found["stitch_requests_total", 'operation="add",status="200"'] == 1
    assert found["stitch_requests_total", 'operation="search",status="422"'] == 1
    assert found["stitch_requests_total", 'operation="other",status="404"'] == 1
    assert found["stitch_request_seconds_count", 'operation="search"'] == 2
    assert found["stitch_request_seconds_bucket", 'operation="search",le="+Inf"'] == 2
    assert found["stitch_steps_total", 'state="stored"'] == 1
    assert found["stitch_searches_total", ""] == 1
    assert found["stitch_store_away", ""] == 0
    assert b"secret-plan" not in answer.body


def test_no_name_of_a_tenant_is_in_them(keyed):
    ann, bea = keyed(**{"ann-smith": ACTIONS, "bea": ACTIONS})
    ann.add("swordfish", trajectory="secret plan")
    text = bea.get("/metrics").body
    for name in (b"ann-smith", b"secret", b"swordfish"):
        assert name not in text

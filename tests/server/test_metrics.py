"""Numbers, costs and the log of a server: whole, by key, and without a word of any tenant."""

import logging
import re
import sys

import pytest

from stitch.cli.server_log import WithoutText
from stitch.errors import BudgetSpentError
from stitch.lm import Charge, Ledger
from stitch.server.app_state import Spending
from stitch.server.keys import ACTIONS, Caller

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
            base = re.sub(r"_(?:total|bucket|count|sum|created)$", "", name)
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
    assert found["stitch_request_seconds_bucket", 'le="+Inf",operation="search"'] == 2
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


def charge(key, usd):
    return Charge(model="m", stage="window", tenant="ann", prompt_tokens=10, reply_tokens=1, cost_usd=usd, key=key)


def caller(key="k", spend_usd=None):
    return Caller(tenant="ann", id=key, spend_usd=spend_usd)


def test_a_ceiling_is_a_ceiling_of_its_key_alone():
    ledger = Ledger()
    spending = Spending(ledger)
    ledger.charge(charge("k1", 0.9))
    spending.check(caller("k1", 1.0))
    ledger.charge(charge("k1", 0.1))
    with pytest.raises(BudgetSpentError, match=r"key k1 has spent \$1.0000 of \$1 ") as error:
        spending.check(caller("k1", 1.0))
    assert "--spend-usd" in error.value.hint
    spending.check(caller("k1"))
    spending.check(caller("k2", 1.0))


def test_where_a_price_is_not_known_a_ceiling_cannot_be_kept_and_says_so():
    ledger = Ledger()
    ledger.charge(charge("k1", None))
    with pytest.raises(BudgetSpentError, match="not known") as error:
        Spending(ledger).check(caller("k1", 1.0))
    assert "price_prompt" in error.value.hint


def test_over_http_a_spent_ceiling_is_402_for_what_may_call_a_model_and_for_nothing_else(keyed):
    [ann] = keyed(ann=ACTIONS)
    ann.add("hello")
    [key] = ann.file.read()
    ann.file.revoke(key.id)
    ann.file.add(key.model_copy(update={"spend_usd": 1.0}))
    ann.served.tenants.ledger.charge(charge(key.id, 1.0))
    for answer in (ann.post("/v1/search", {"query": "x"}), ann.post("/v1/steps", {"trajectory": "t", "steps": []})):
        assert (answer.status, answer.json["error"]) == (402, "BudgetSpentError")
        assert answer.json["hint"]
    assert ann.get("/v1/status").status == 200
    assert f'stitch_key_spent_usd{{key="{key.id}"}} 1.0' in ann.get("/metrics").body.decode()


def lines_of(tell, name="stitch.ingest.labeling"):
    """What is shown of what somebody logs."""
    shown = []

    class Kept(logging.Handler):
        def emit(self, record):
            shown.append(self.format(record))

    handler, logger = Kept(), logging.getLogger(name)
    handler.setFormatter(WithoutText())
    logger.addHandler(handler)
    try:
        tell(logger)
    finally:
        logger.removeHandler(handler)
    return shown


def test_of_an_error_that_nobody_expected_its_kind_and_its_place_are_shown():
    def tell(logger):
        try:
            int("swordfish")
        except ValueError:
            logger.exception("a request failed")

    [line] = lines_of(tell, name="stitch.server.errors")
    assert line.startswith("stitch: a request failed: ValueError\n")
    assert __name__.split(".")[-1] in line
    assert "invalid literal" not in line
    assert sys.exc_info() == (None, None, None)

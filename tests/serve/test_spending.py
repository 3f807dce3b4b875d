"""What calls of a model cost is counted by key, over restarts too, and a ceiling ends it."""

import pytest

from stitch.errors import BudgetSpentError
from stitch.lm import Charge, Ledger
from stitch.serve.access import Caller
from stitch.serve.keys import ACTIONS
from stitch.serve.spending import Spending


def charge(key, usd):
    return Charge(model="m", stage="window", tenant="ann", prompt_tokens=10, reply_tokens=1, cost_usd=usd, key=key)


def caller(key="k", spend_usd=None):
    return Caller("ann", ACTIONS, key, spend_usd)


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

"""Costs of calls of a model by key, and a ceiling for each.

Calls are counted for the key whose request led to them: a question at once, labels for the key that added to the
trajectory last. Sums go on over a restart, for the ledger of the memory names the keys; labels that waited when the
server ended are nobody's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from stitch.errors import BudgetSpentError

if TYPE_CHECKING:
    from stitch.lm import Charge, Ledger
    from stitch.server.access import Caller


class Spending:
    """Knows what each key has led to.

    `earlier` was charged before the server began.
    """

    def __init__(self, ledger: Ledger, *, earlier: Iterable[Charge] = ()) -> None:
        self._ledger = ledger
        self._earlier: dict[str, float | None] = {}
        for charge in earlier:
            if charge.key:
                self._earlier[charge.key] = _sum(self._earlier.get(charge.key, 0.0), charge.cost_usd)

    def by_key(self) -> Mapping[str, float | None]:
        """Dollars by key; None where a price is not known."""
        now = {key: totals.cost_usd for key, totals in self._ledger.keys().items()}
        keys = dict.fromkeys((*self._earlier, *now))
        return {key: _sum(self._earlier.get(key, 0.0), now.get(key, 0.0)) for key in keys}

    def check(self, caller: Caller) -> None:
        """Refuse what may lead to a call of a model, once the ceiling of the key is reached.

        Raises:
            BudgetSpentError: It is reached; or there is one, and what calls cost is not known.
        """
        by_key = {} if caller.spend_usd is None else self.by_key()
        if caller.spend_usd is None or caller.key not in by_key:
            return
        spent = by_key[caller.key]
        if spent is None:
            raise BudgetSpentError(
                f"key {caller.key} may spend ${caller.spend_usd:g}, and what its calls cost is not known",
                hint="set price_prompt and price_reply, or make a key without --spend-usd",
            )
        if spent >= caller.spend_usd:
            raise BudgetSpentError(
                f"key {caller.key} has spent ${spent:.4f} of ${caller.spend_usd:g} on language models",
                hint="`stitch keys add --spend-usd N` makes one with another ceiling",
            )


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other

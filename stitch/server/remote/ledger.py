"""What calls of a model came to where a memory is, since it is used from here."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from typing_extensions import override

from stitch.lm import Ledger, Totals
from stitch.server.api.models import Nothing
from stitch.server.remote.rebuilding import totals_of

if TYPE_CHECKING:
    from stitch.server.api.listing_models import OwnTotalsResponse
    from stitch.server.remote.asking import Asking


class RemoteLedger(Ledger):
    """As the `Ledger` of a memory, for one that is somewhere else.

    It counts from the first time on that it is made; what others who use the memory of this tenant meanwhile cost is in
    it too.
    """

    def __init__(self, memory: Asking) -> None:
        super().__init__()
        self._memory = memory
        self._before = self._now() if memory.uses_model else None

    @override
    def total(self) -> Totals:
        if self._before is None:  # no model is called there
            return Totals()
        return _since(totals_of(self._now().total), totals_of(self._before.total))

    @override
    def stages(self) -> dict[str, Totals]:
        if self._before is None:
            return {}
        before = {name: totals_of(each) for name, each in self._before.stages.items()}
        now = {name: totals_of(each) for name, each in self._now().stages.items()}
        return {name: _since(each, before.get(name, Totals())) for name, each in now.items()}

    def _now(self) -> OwnTotalsResponse:
        totals: OwnTotalsResponse = self._memory.ask("totals", Nothing())
        return totals


def _since(now: Totals, before: Totals) -> Totals:
    """What came between."""
    counted = Totals.model_fields.keys() - {"cost_usd", "rejected"}
    numbers = {name: getattr(now, name) - getattr(before, name) for name in counted}
    rejected = dict(Counter(now.rejected) - Counter(before.rejected))
    paid, had = now.cost_usd, before.cost_usd if before.calls else 0.0
    return Totals(**numbers, rejected=rejected, cost_usd=None if paid is None or had is None else paid - had)

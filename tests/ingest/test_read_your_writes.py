"""Whoever holds a receipt finds the step, whatever others write, search and label meanwhile; and who is in a hurry."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from stitch import open_memory
from stitch.core import Receipt, Step, StepState
from stitch.memory import Memory


class Batch(NamedTuple):
    """What a writer adds at a time."""

    trajectory: str
    size: int
    wait: bool


batches = st.builds(Batch, st.sampled_from("tuv"), st.integers(1, 6), st.booleans())
plans = st.lists(st.lists(batches, min_size=1, max_size=3), min_size=2, max_size=4)


def write(memory: Memory, writer: int, plan: list[Batch]) -> list[Receipt]:
    """Add by a plan, and look for the steps as soon as there are receipts of them."""
    receipts = list[Receipt]()
    for number, batch in enumerate(plan):
        steps = [
            Step(role="user", content=f"writer {writer} asks {number} about price {n} of the Olympus Inn for day {n}")
            for n in range(batch.size)
        ]
        made = memory.add_many(steps, trajectory=batch.trajectory, wait=batch.wait)
        assert {receipt.state for receipt in made} == {StepState.STORED if batch.wait else StepState.ACCEPTED}
        for retriever in ("intent", "lexical"):
            hits = memory.search("Olympus Inn", trajectory=batch.trajectory, k=1_000, retriever=retriever).hits
            found = [hit.snippet.step for hit in hits]
            assert {receipt.step for receipt in made} <= set(found)
            assert len(found) == len(set(found))
        receipts += made
    return receipts


@settings(max_examples=settings().max_examples // 2)
@given(plans)
def test_every_step_with_a_receipt_is_found_at_once(plans: list[list[Batch]]) -> None:
    with tempfile.TemporaryDirectory() as folder, open_memory(folder) as memory:
        with ThreadPoolExecutor(len(plans)) as pool:
            written = list(pool.map(write, [memory] * len(plans), range(len(plans)), plans))
        promised = {(receipt.trajectory, receipt.step) for receipts in written for receipt in receipts}
        assert memory.status().accepted == len(promised) == sum(batch.size for plan in plans for batch in plan)
        memory.flush()
        assert {(hit.snippet.trajectory, hit.snippet.step) for hit in memory.search("Inn", k=1_000).hits} == promised
        assert {receipt.state for receipt in memory.receipts()} == {StepState.STORED}
        assert memory.lifecycle.verify().disagreements == ()

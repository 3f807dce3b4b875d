"""What every `StepSource` must pass: subclass `StepSourceContract`, give it `make_source`, run pytest."""

import json
from collections.abc import Callable, Iterator

import pytest

from stitch.core import Position, Rejection, SourcedStep, StepSource

MakeSource = Callable[[], StepSource]

STEPS = [{"role": "user" if number % 2 == 0 else "assistant", "content": f"say {number}"} for number in range(7)]
CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "find", "arguments": {"city": "Rome"}}]}
RECORDS: list[bytes] = [
    *(json.dumps(step).encode() for step in STEPS[:2]),
    json.dumps({"id": "talk", "messages": STEPS[2:5]}).encode(),
    b'{"role": "user", "content": ',
    json.dumps(CALL).encode(),
    json.dumps({"role": "tool", "tool_call_id": "c1", "content": "two hotels"}).encode(),
    *(json.dumps(step).encode() for step in STEPS[5:]),
]
"""What the source under test holds, record by record: one is broken, one is three steps, one answers the one before."""

ItemRow = tuple[str, str | None, str, str | None]


def told(item: SourcedStep | Rejection) -> ItemRow:
    if isinstance(item, Rejection):
        return ("rejected", str(item.line), item.text, None)
    return (item.trajectory, item.step.id, item.step.content, item.step.tool_name)


def batches_of(source: StepSource) -> Iterator[tuple[list[ItemRow], Position]]:
    for batch in source.read():
        yield list(map(told, batch)), json.loads(json.dumps(source.snapshot()))


def all_of(source: StepSource) -> list[ItemRow]:
    return [item for batch, _ in batches_of(source) for item in batch]


def all_anew(make_source: MakeSource) -> list[ItemRow]:
    source = make_source()
    items = all_of(source)
    source.close()
    return items


class StepSourceContract:
    """Inherit, name the class `Test…`, and override the fixture `make_source`.

    Sources made one after the other are what one process after the other would make: they read the same, and each
    begins where the last one has committed.
    """

    goes_back = True
    """Whether it is read from a position. One that is not, as standard input, begins again with all that it is sent."""

    @pytest.fixture
    def make_source(self) -> MakeSource:
        raise NotImplementedError

    def test_it_is_a_source_with_a_name(self, make_source: MakeSource) -> None:
        source = make_source()
        assert isinstance(source, StepSource)
        assert source.name
        source.close()

    def test_everything_is_read_in_order_and_what_is_broken_is_rejected_in_its_place(
        self, make_source: MakeSource
    ) -> None:
        source = make_source()
        items = all_of(source)
        said = [what for _, _, what, _ in items]
        assert said[:5] == [f"say {number}" for number in range(5)]
        assert items[5][0] == "rejected"
        assert said[6:] == ["", "two hotels", "say 5", "say 6"]
        assert items[7][3] == "find"
        source.close()

    def test_steps_of_a_trajectory_have_ids_of_their_own(self, make_source: MakeSource) -> None:
        source = make_source()
        keys = [item[:2] for item in all_of(source) if item[0] != "rejected"]
        assert len(set(keys)) == len(keys)
        assert all(step for _, step in keys)
        source.close()

    def test_to_read_again_goes_on_and_yields_nothing_twice(self, make_source: MakeSource) -> None:
        source = make_source()
        all_of(source)
        assert all_of(source) == []
        source.close()

    def test_a_reading_that_is_left_off_goes_on_with_the_next_batch(self, make_source: MakeSource) -> None:
        whole = all_anew(make_source)
        source = make_source()
        first = [told(item) for item in next(iter(source.read()))]
        assert first + all_of(source) == whole
        source.close()

    def test_without_a_commit_everything_comes_again(self, make_source: MakeSource) -> None:
        first = make_source()
        items = all_of(first)
        first.close()
        assert all_anew(make_source) == items

    def test_after_a_commit_at_any_batch_nothing_is_lost_and_nothing_is_doubled(self, make_source: MakeSource) -> None:
        source = make_source()
        batches = list(batches_of(source))
        source.close()
        for number, (_, position) in enumerate(batches):
            behind = [item for batch, _ in batches[number + 1 :] for item in batch]
            before = [item for batch, _ in batches[: number + 1] for item in batch]
            committing = make_source()
            committing.commit(position)
            committing.close()
            again = all_anew(make_source)
            assert again == behind if self.goes_back else again == before + behind

    def test_an_earlier_position_may_be_committed_while_reading_goes_on(self, make_source: MakeSource) -> None:
        source = make_source()
        batches = list(batches_of(source))
        source.commit(batches[0][1])
        source.close()
        again = all_anew(make_source)
        assert again[-sum(len(batch) for batch, _ in batches[1:]) :] == [i for batch, _ in batches[1:] for i in batch]
        assert len(again) == sum(len(batch) for batch, _ in (batches[1:] if self.goes_back else batches))

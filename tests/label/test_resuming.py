"""A labeling that is interrupted anywhere goes on as one that was not: same labels, same saved bytes."""

import re
from collections.abc import Sequence
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from stitch.core import Labeler, LabelInventory, Step, StepLabels, ToolCall, clean_text
from stitch.label.local import LocalLabeler

Interruption = Literal["none", "saved", "replayed", "replayed from the last save"]
INTERRUPTIONS: tuple[Interruption, ...] = ("none", "saved", "replayed", "replayed from the last save")
Outcome = tuple[list[StepLabels], bytes, LabelInventory]

WORDS = (
    "Let's turn to day 1. Back to the bus again. I need a taxi to Boston on March 8th at 7:30 am.",
    "Hello! I need to check my bank balance.",
    "What does it cost? It is $41.80. Is there another one, please? Yes. No, thanks. Is that all? That sounds good.",
    "Zephyr Mill. The second hotel I mentioned. Compare both of them. Caroline, have you seen the painting of Mel?",
    "error in app/login.py the tests pass now merge it. Play a song by the band. What about my balance?",
)
SENTENCES = tuple(re.split(r"(?<=[.?!]) ", " ".join(WORDS)))


def has_words(text: str) -> bool:
    return bool(clean_text(text).strip())


def sentences() -> st.SearchStrategy[str]:
    free = st.lists(st.sampled_from(" ".join(WORDS).split()), min_size=1, max_size=12).map(" ".join)
    return st.one_of(st.sampled_from(SENTENCES), free, st.text(min_size=1, max_size=20).filter(has_words))


def told(number: int, role: str, content: str, *, call: bool) -> Step:
    """A step; now and then one that calls a tool."""
    name = "find_bus" if number % 2 else "book_table"
    calls = (ToolCall(name=name, arguments={"to": content[:20], "seats": number}),) if call else ()
    return Step(id=str(number), role=role, content=content, tool_calls=calls, timestamp=60.0 * number)


def trajectories(most: int) -> st.SearchStrategy[list[Step]]:
    step = st.tuples(st.sampled_from(("user", "assistant", "Mel")), sentences(), st.integers(0, 9))
    return st.lists(step, min_size=2, max_size=most).map(
        lambda parts: [told(n, role, content, call=dice == 0) for n, (role, content, dice) in enumerate(parts)]
    )


def whole(labeler: Labeler, steps: Sequence[Step]) -> Outcome:
    session = labeler.begin("t")
    labels = session.label(steps)
    return labels, session.save(), session.inventory()


def interrupted(labeler: Labeler, steps: Sequence[Step], cuts: Sequence[tuple[int, Interruption]]) -> Outcome:
    """The same steps in batches that end where `cuts` say; what interrupts the labeling there is said beside it."""
    session = labeler.begin("t")
    labels: list[StepLabels] = []
    kept: tuple[int, bytes | None] = (0, None)
    for end, interruption in (*sorted(cuts, key=lambda cut: cut[0]), (len(steps), "none")):
        labels += session.label(steps[len(labels) : end])
        known = [StepLabels.model_validate_json(each.model_dump_json()) for each in labels]
        if interruption == "saved":
            kept = (len(labels), session.save())
            session = labeler.begin("t", kept[1])
        elif interruption == "replayed":
            session = labeler.begin("t")
            session.replay(steps[: len(labels)], known)
        elif interruption == "replayed from the last save":
            session = labeler.begin("t", kept[1])
            session.replay(steps[kept[0] : len(labels)], known[kept[0] :])
    return labels, session.save(), session.inventory()


def cuts_of(steps: int) -> st.SearchStrategy[list[tuple[int, Interruption]]]:
    return st.lists(st.tuples(st.integers(0, steps), st.sampled_from(INTERRUPTIONS)), max_size=5)


@given(st.data())
def test_local_labels_are_the_same_however_the_steps_are_cut_and_the_session_interrupted(data: st.DataObject) -> None:
    steps = data.draw(trajectories(40))
    labeler = LocalLabeler()
    assert interrupted(labeler, steps, data.draw(cuts_of(len(steps)))) == whole(labeler, steps)

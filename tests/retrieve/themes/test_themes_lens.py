"""The lens of themes, as a user searches with it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stitch import Memory, open_memory
from stitch.text.words import count_tokens

TALK = [
    ("Ada", ("Good morning! I adopted a brown dog named Rex in March. "
            "The shelter was very crowded that day, and we waited in the yard for an hour with many families.")),
    ("Ben", "Wow! What does Rex eat?"),
    ("Ada", "Only dry food. The vet said so."),
    ("Ben", "I painted the fence of my garden green. It took all weekend, and my back hurts."),
    ("Ada", ("My sister gave me a gray cat called Moss for my birthday. "
            "We had cake and played cards until late, and somebody broke the big blue vase that stood in the hall.")),
    ("Ben", "The train to Oslo was late again. I waited two hours at the station and read a book about ships."),
    ("Ada", ("I bought two goldfish at the market. They live in a bowl beside the window. "
            "The market sells honey, old books, lamps, carpets and all sorts of tools too.")),
    ("Ben", "Thanks! See you."),
]  # fmt: skip


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "talk.memory", tenant="t") as memory:
        memory.add_many([{"role": role, "content": text} for role, text in TALK], trajectory="talk")
        yield memory


def test_far_evidence_is_found_in_few_tokens(memory: Memory) -> None:
    question = "Which animals has Ada: a dog, a cat, goldfish?"
    context = memory.search(question, retriever="themes", budget_tokens=100).context()
    assert all(word in context for word in ("Rex", "Moss", "goldfish"))
    assert not all(word in memory.search(question, budget_tokens=100).context() for word in ("Rex", "Moss", "goldfish"))


@pytest.mark.parametrize("budget", [1, 40, 80, 200, 4096])
def test_a_context_stays_inside_its_budget_and_tells_what_is_in_it(memory: Memory, budget: int) -> None:
    result = memory.search("What did Ada adopt?", retriever="themes", budget_tokens=budget)
    assert result.context_tokens == count_tokens(result.context()) <= budget
    shown = {hit.snippet.id for hit in result if hit.snippet.id in result.context_hits}
    assert shown == set(result.context_hits)


def test_an_answer_is_shown_with_its_question_and_stands_on_both_steps(memory: Memory) -> None:
    result = memory.search("What does Rex eat?", retriever="themes")
    answer = next(piece for piece in result.pieces if "dry food" in piece.text)
    assert "What does Rex eat?" in answer.text
    assert len(answer.snippets) == 2


def test_few_tokens_hold_a_sentence_of_each_of_many_long_steps(tmp_path: Path) -> None:
    rest = "It stood between the lamps and the garden chairs of a shop that closes early on every second Tuesday, which"
    rest += " nobody had told me before I went there by bus with two heavy bags and my youngest cousin."
    things = ("saw", "drill", "hammer", "chisel", "plane", "file", "ladder", "torch", "clamp", "vise", "rasp", "awl")
    with open_memory(tmp_path / "m", tenant="t") as memory:
        memory.add_many(
            [{"role": "Ada", "content": f"I bought a {thing} for my workshop. {rest}"} for thing in things],
            trajectory="x",
        )
        question = "Which tools did I buy for my workshop?"
        shown = memory.search(question, retriever="themes", budget_tokens=300).context()
    assert [thing for thing in things if f" {thing} " in shown] == list(things)


def test_a_question_of_low_trust_stands_before_no_answer_that_is_trusted_more(tmp_path: Path) -> None:
    with open_memory(tmp_path) as opened:
        page = {"role": "tool", "tool_name": "fetch", "content": "Who has the parrot of the old sailor Coco?"}
        opened.add_many([page, {"role": "user", "content": "My neighbor has it since last winter."}], trajectory="t")
        question = "Who has the parrot since winter?"
        shown = opened.search(question, retriever="themes", budget_tokens=200).context()
        assert "<step 0 1 user low trust>Who has the parrot of the old sailor Coco? My neighbor" in shown
        least = opened.search(question, retriever="themes", budget_tokens=200, min_trust="medium").context()
        assert "My neighbor has it" in least
        assert "Coco" not in least


def test_only_what_is_trusted_enough_is_shown(memory: Memory) -> None:
    memory.add({"role": "tool", "content": "Ada has a parrot named Coco.", "tool_name": "web"}, trajectory="talk")
    assert "Coco" in memory.search("Ada's parrot", retriever="themes").context()
    assert "Coco" not in memory.search("Ada's parrot", retriever="themes", min_trust="medium").context()

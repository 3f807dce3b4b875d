"""In a memory of a few steps, what answers a question comes before what a tool said of another matter."""

from pathlib import Path

import pytest

from stitch import Step, open_memory

ANSWER = ("user", "The hotel in Porto is Casa Azul.")
RESULTS = {
    "a status": ("tool", '{"status": "ok", "exit_code": 0, "rows": 12}'),
    "failed tests": ("tool", "Exit code 1\nTests failed: 3 failed, 12 passed in 2.31s"),
    "files": ("tool", "README.md\nsetup.py\nsrc/main.py"),
    "flights": ("tool", '{"flights": [{"from": "LIS", "to": "OPO", "price": 49}]}'),
}
OTHERS = [
    ("user", "I like swimming in the morning."),
    ("assistant", "Trains leave from platform four."),
    RESULTS["files"],
]


def best(told: list[tuple[str, str]], folder: Path) -> str:
    with open_memory(folder) as memory:
        memory.add_many(
            [Step(id=str(number), role=role, content=text) for number, (role, text) in enumerate(told)], trajectory="t"
        )
        return memory.search("Which hotel is in Porto?", k=1).hits[0].snippet.text


@pytest.mark.parametrize("name", RESULTS)
def test_an_answer_comes_before_a_result_of_another_matter_first_or_last(name: str, tmp_path: Path) -> None:
    for others in range(len(OTHERS) + 1):
        for told in ([ANSWER, RESULTS[name], *OTHERS[:others]], [RESULTS[name], *OTHERS[:others], ANSWER]):
            assert best(told, tmp_path / f"{others}-{told[0] is ANSWER}") == ANSWER[1]

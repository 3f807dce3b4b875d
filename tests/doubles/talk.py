"""Small talks as steps: about a bank and a bus, and about hotels."""

from stitch.core import Step

SAID = (
    "Hello!",
    "I need to check my bank balance.",
    "It is $41.80 on the savings account.",
    "Now find me a bus to Seattle on March 8th.",
    "There is one at 7:30 am. Shall I book it?",
    "Yes, please.",
    "Back to the bank balance: what about the other account?",
    "The other account has $12.",
    "And what does the bus cost?",
    "The bus costs $76.22.",
)


def talk(*contents: str, start: int = 0, role: str = "assistant") -> list[Step]:
    """Steps of a user and another in turn, named by their numbers."""
    return [
        Step(id=f"s{n}", role="user" if n % 2 else role, content=content) for n, content in enumerate(contents, start)
    ]


def hotel_talk(number: int) -> list[Step]:
    """So many steps about a hotel, four times the same on each day."""
    said = ["Let us plan day {day}. What is a good hotel?", "The Zephyr Mill costs $41.80.", "Take it for the night."]
    return [
        Step(id=str(n), role="user" if n % 3 != 1 else "assistant", content=said[n % 3].format(day=1 + n // 12))
        for n in range(number)
    ]

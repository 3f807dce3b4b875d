"""A sample trajectory: a coding agent that works on two bugs by turns.

The plan is data, so what every step is about is known, as that of the trip in `samples`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from stitch.bench.samples import Sample, SampleQuestion, Story
from stitch.core import Step, ToolCall


class _Said(NamedTuple):
    """Somebody says something."""

    role: str
    event: str
    text: str
    objects: tuple[str, ...] = ()
    answer: str | None = None


class _Called(NamedTuple):
    """The agent calls a tool and gets its result."""

    tool: str
    arguments: dict[str, str]
    thought: str
    result: str
    answer: str | None = None

    @property
    def event(self) -> str:
        return self.tool.replace("_", " ")

    @property
    def objects(self) -> tuple[str, ...]:
        return tuple(self.arguments[key] for key in ("path", "query") if key in self.arguments)


_LOGIN = "login timeout"
_EXPORT = "duplicate export rows"

_CLOCK = (
    "def deadline(now: float, seconds: float) -> float:\n    return now + seconds\n\n\n"
    "def window(start: int, length: int) -> range:\n    return range(start, start + length + 1)"
)
_SESSION = "def open_session(user, now):\n    return Session(user, ends=deadline(now, SETTINGS.idle_minutes))"
_PAGES = (
    "def rows(store):\n    for start in range(0, store.size, SETTINGS.page):\n"
    "        yield from store.fetch(window(start, SETTINGS.page))"
)

_MOVES: dict[str, tuple[_Said | _Called, ...]] = {
    _LOGIN: (
        _Said(
            "user",
            "report",
            "First the login timeout: people are signed out half a minute after they sign in. It should be half "
            "an hour.",
        ),
        _Called(
            "search",
            {"query": "deadline("},
            "I look for whoever computes when a session ends.",
            "app/clock.py:4: def deadline(now, seconds)\napp/session.py:18: ends=deadline(now, SETTINGS.idle_minutes)",
        ),
        _Called("read_file", {"path": "app/session.py"}, "Let me see the caller.", _SESSION),
        _Called("read_file", {"path": "app/clock.py"}, "And the function it relies on.", _CLOCK),
        _Called(
            "run_tests",
            {"path": "tests/test_session.py"},
            "First, how do things stand?",
            "11 passed in 0.88 s",
            "11 passed",
        ),
        _Said(
            "assistant",
            "explain",
            "The reason is that minutes go in where seconds are expected, so thirty of them last thirty seconds. "
            "No test "
            "covers this.",
            ("app/session.py",),
            "minutes are passed as seconds",
        ),
        _Called(
            "edit_file",
            {"path": "tests/test_session.py"},
            "I first write down what we want as a test.",
            "edited: 6 lines added",
        ),
        _Called(
            "run_tests",
            {"path": "tests/test_session.py"},
            "It has to fail now.",
            "11 passed, 1 failed in 0.93 s\nFAILED test_idle_half_hour: 30.0 != 1800.0",
            "11 passed, 1 failed",
        ),
        _Called(
            "edit_file",
            {"path": "app/session.py"},
            "I multiply by sixty at the call.",
            "error: the text to replace occurs 2 times, give more of its surroundings",
        ),
        _Called(
            "read_file",
            {"path": "app/session.py"},
            "There must be another place.",
            _SESSION + "\n\n\ndef renew(session, now):\n    session.ends = deadline(now, SETTINGS.idle_minutes)",
        ),
        _Called(
            "edit_file",
            {"path": "app/session.py"},
            "Both places get the same change, through one small helper.",
            "edited: 2 lines changed, 3 added",
        ),
        _Called(
            "run_tests",
            {"path": "tests/test_session.py"},
            "Once more, now with the fix in place.",
            "12 passed in 0.91 s",
            "12 passed",
        ),
        _Called(
            "read_file",
            {"path": "app/config.py"},
            "Does the setting say what it counts in?",
            "class Settings:\n    idle_minutes = 30\n    page = 100",
        ),
        _Said(
            "assistant",
            "summarize",
            "Sessions now end after thirty minutes, both when opened and when renewed.",
            ("app/session.py",),
        ),
        _Called("edit_file", {"path": "CHANGELOG.md"}, "A line for the release notes.", "edited: 1 line added"),
        _Said("user", "confirm", "Good, that one can go out."),
    ),
    _EXPORT: (
        _Said(
            "user",
            "report",
            "Let us turn to the duplicate export rows: in the CSV file of a large account some lines stand twice.",
        ),
        _Called(
            "search",
            {"query": "window("},
            "I look for the code that cuts the data into pages.",
            "app/clock.py:8: def window(start, length)\napp/export.py:27: store.fetch(window(start, SETTINGS.page))",
        ),
        _Called("read_file", {"path": "app/export.py"}, "Let me see the loop.", _PAGES),
        _Called(
            "run_tests", {"path": "tests/test_export.py"}, "Is anything red already?", "8 passed in 1.42 s", "8 passed"
        ),
        _Said("user", "inform", "Support adds that it is always every hundredth line."),
        _Called(
            "read_file",
            {"path": "app/config.py"},
            "A hundred sounds like a setting.",
            "class Settings:\n    idle_minutes = 30\n    page = 100",
        ),
        _Called("read_file", {"path": "app/clock.py"}, "So it happens where one page meets the next.", _CLOCK),
        _Said(
            "assistant",
            "explain",
            "The reason is that the range counts its own end, so the last record of a page comes again as the first of "
            "the next one.",
            ("app/clock.py",),
            "window() includes its end",
        ),
        _Called(
            "edit_file",
            {"path": "tests/test_export.py"},
            "A test with 250 records, none of them twice.",
            "edited: 9 lines added",
        ),
        _Called(
            "run_tests",
            {"path": "tests/test_export.py"},
            "This should be red.",
            "8 passed, 1 failed in 1.51 s\nFAILED test_no_line_twice: 252 != 250",
            "8 passed, 1 failed",
        ),
        _Called("edit_file", {"path": "app/clock.py"}, "I take the one away.", "edited: 1 line changed"),
        _Called("run_tests", {"path": "tests/test_export.py"}, "And now?", "9 passed in 1.47 s", "9 passed"),
        _Called(
            "run_tests",
            {"path": "tests/test_clock.py"},
            "The function is used elsewhere too, so its own tests as well.",
            "4 passed, 1 failed in 0.10 s\nFAILED test_window_is_closed: expected 11 numbers, got 10",
            "4 passed, 1 failed",
        ),
        _Said(
            "assistant",
            "explain",
            "That old test asserts the mistake itself. I would change the test, not the function.",
            ("tests/test_clock.py",),
        ),
        _Said("user", "confirm", "Agreed, nobody else wants the end included."),
        _Called("edit_file", {"path": "tests/test_clock.py"}, "Then it now asks for ten.", "edited: 2 lines changed"),
        _Called("run_tests", {"path": "tests/test_clock.py"}, "Last check.", "5 passed in 0.09 s", "5 passed"),
        _Called("edit_file", {"path": "CHANGELOG.md"}, "And its line for the release notes.", "edited: 1 line added"),
        _Said(
            "assistant",
            "summarize",
            "Pages no longer overlap, and two tests say so.",
            ("app/clock.py", "app/export.py"),
        ),
    ),
}
"""What happens to each bug, in order."""

_SCHEDULE = ((_LOGIN, 5), (_EXPORT, 4), (_LOGIN, 3), (_EXPORT, 6), (_LOGIN, 4), (_EXPORT, 9), (_LOGIN, 4))
"""Which bug is worked on, and for how many moves, before the other has its turn."""

_SWITCHES = ("Back to the {bug}. ", "I return to the {bug}. ", "Let us continue with the {bug}. ")


def coding_sample() -> Sample:
    """A coding agent with tools that works on two bugs by turns; files, functions and commands are shared."""
    story = Story("bugs", begins=datetime(2026, 5, 4, 14, 0))
    left: dict[str, Iterator[_Said | _Called]] = {bug: iter(moves) for bug, moves in _MOVES.items()}
    seen: set[str] = set()
    for visit, (bug, moves) in enumerate(_SCHEDULE):
        opening = _SWITCHES[visit % len(_SWITCHES)].format(bug=bug) if bug in seen else ""
        seen.add(bug)
        for _ in range(moves):
            _tell_move(story, next(left[bug]), scope=bug, opening=opening)
            opening = ""
            story.wait()
    fixed = story.find(scope=_LOGIN, event="run tests", answer="12 passed", last=True)
    cause = story.find(scope=_EXPORT, event="explain", answer="window() includes its end")
    return story.sample(
        (
            SampleQuestion(
                "What did the tests report after the fix for the login timeout?",
                "12 passed",
                (fixed,),
                "A test report does not say what it is for; eight others, of both bugs, look the same.",
            ),
            SampleQuestion(
                "What was the cause of the duplicate export rows?",
                "window() includes its end",
                (cause,),
                "The explanation says neither 'duplicate' nor 'export'; the complaint and the switches say both.",
            ),
        )
    )


def _tell_move(story: Story, move: _Said | _Called, *, scope: str, opening: str) -> None:
    if isinstance(move, _Said):
        step = Step(role=move.role, content=opening + move.text)
        story.tell(step, scope=scope, event=move.event, objects=move.objects, answer=move.answer)
        return
    call = ToolCall(name=move.tool, arguments=move.arguments, id=f"call-{len(story.steps) + 1}")
    story.tell(
        Step(role="assistant", content=opening + move.thought, tool_calls=(call,)),
        scope=scope, event=move.event, objects=move.objects,
    )  # fmt: skip
    result = Step(role="tool", content=move.result, tool_name=move.tool)
    story.tell(result, scope=scope, event=move.event, objects=move.objects, answer=move.answer)

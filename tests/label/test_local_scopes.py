"""Scope tracking: continue, return, open; and the names that scopes get."""

import pytest

from stitch.core import LabelKind, Step, ToolCall
from stitch.label.local import LocalLabeler
from stitch.label.local.naming import propose_name, topic_of, turned_to
from stitch.label.local.reading import read_step


def steps(*turns):
    return [Step(id=str(n), role=role, content=content) for n, (role, content) in enumerate(turns)]


def scopes(*turns):
    """The canonical scope of each step."""
    session = LocalLabeler().begin("t")
    labels = session.label(steps(*turns))
    vocabulary = session.inventory().vocabulary()
    return [vocabulary.canonical(LabelKind.SCOPE, label.intent.scope or "") for label in labels]


def read(content, role="user", **fields):
    return read_step(Step(role=role, content=content, **fields))


def test_a_later_turn_to_a_day_returns_to_its_scope():
    named = scopes(
        ("user", "Let's focus on planning the itinerary for day 1."),
        ("assistant", "Gladly."),
        ("user", "One idea is Zephyr Mill for breakfast."),
        ("user", "Let's focus on planning day 2 of our trip."),
        ("assistant", "It is priced at $38.15."),
        ("user", "Could you tell me the price of the first restaurant I raised for Day 1?"),
        ("assistant", "It is priced at $41.80."),
    )
    assert named == [*["day 1 itinerary"] * 3, *["day 2 itinerary"] * 2, *["day 1 itinerary"] * 2]


PRESENT = (
    ("user", "Hi! I need a birthday present for my sister, she's into pottery."),
    ("assistant", "How about a set of glazing tools, or a voucher for a studio near you?"),
    ("user", "The voucher sounds nice. What do they cost?"),
    ("assistant", "Claymore Studio sells vouchers from 40 euros."),
    ("user", "Great, get me one for 60 please."),
    ("assistant", "Done, it will arrive by mail on Thursday."),
)


@pytest.mark.parametrize("turn", ["About the voucher - can two use it?", "ok. back to the voucher, can two use it?"])
def test_a_scope_is_returned_to_by_what_was_spoken_of_in_it(turn):
    named = scopes(
        *PRESENT,
        ("user", "Different topic: the dishwasher leaks. Can you find a repair service?"),
        ("assistant", "Fixit Brothers come tomorrow between 9 and 12."),
        ("user", turn),
    )
    assert named[8] == named[0] != named[6]


@pytest.mark.parametrize("start", ["- " * 40 + "then", "~" * 80 + " day", "| " * 60 + "about"])
def test_signs_at_the_front_of_a_sentence_are_passed_over_at_once(start):
    text = f"{start} nothing of it"
    assert (topic_of(read(text)), turned_to(read(text))) == ([], "")


def test_a_scope_is_returned_to_by_name():
    named = scopes(
        ("user", "Let's look at the login timeout bug first."),
        ("assistant", "I see it."),
        ("user", "Let us turn to the duplicate export rows."),
        ("assistant", "Some lines stand twice."),
        ("user", "Back to the login timeout, please."),
    )
    assert named == [*["login timeout bug"] * 2, *["duplicate export rows"] * 2, "login timeout bug"]


def test_the_result_of_a_tool_stays_with_its_call():
    call = ToolCall(name="grep", arguments={"pattern": "x"})
    session = LocalLabeler().begin("t")
    made = session.label(
        [
            Step(role="user", content="Find the slow query in the report, please."),
            Step(role="assistant", content="", tool_calls=(call,)),
            Step(role="tool", content="a completely different text about weather", tool_name="grep"),
        ]
    )
    assert len({label.intent.scope for label in made}) == 1


def test_interleaved_threads_of_several_speakers_are_told_apart():
    named = scopes(
        ("eve", "my sound stopped working since yesterday"),
        ("dora", "eve: did you check the mixer?"),
        ("carl", "what is the best editor for python?"),
        ("eve", "dora: it is not muted"),
        ("ann", "does anybody know why my printer is offline after the upgrade?"),
        ("bob", "how do i mount a usb disk with write permission?"),
        ("carl", "ann: is the cups service running?"),
        ("dora", "bob: use the uid option of mount"),
        ("ann", "carl: cups is running, the printer is still offline"),
        ("bob", "dora: thanks, mount works now"),
    )
    assert named[4] == named[6] == named[8]
    assert named[5] == named[7] == named[9]
    assert len({named[0], named[2], named[4], named[5]}) == 4


def test_many_terms_and_values_are_bounded():
    session = LocalLabeler().begin("t")
    session.label([Step(role="user", content=" ".join(f"word{n}x{i} ${i}{n}.5" for i in range(60))) for n in range(20)])
    for scope in session.inventory().scopes:
        assert len(scope.terms) <= 40
        assert len(scope.values) <= 240


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Can you find me a flight to Pittsburgh on Monday?", "flight to Pittsburgh"),
        ("Now switch to the CSV export crash in report.py.", "CSV export crash in report.py"),
        ("I need to find a bus", "bus"),
        ("Let's talk about 3 songs", "songs"),
        ("Hi there!", ""),
        ("I need some tips for my cat Luna.", "cat Luna"),
        ("I want to get a better handle on my expenses.", "expenses"),
        ("I'm looking for some reliable sources on crop rotation.", "crop rotation"),
        ("I'm having trouble understanding why the deploy failed.", "deploy"),
        ("I'm struggling to calculate the interest on a loan.", "interest"),
        ("We've budgeted $3,000 for relocation expenses.", "relocation expenses"),
        ("Is it safe to use bleach on marble?", "bleach"),
        ("She's pregnant, which vitamins are fine?", "vitamins"),
        ("Any recommendations?", ""),
    ],
)
def test_a_name_is_what_the_step_asks_about(text, name):
    assert propose_name(read(text)).text == name


def test_summaries_say_where_a_scope_runs_and_what_it_names():
    session = LocalLabeler().begin("t")
    session.label(
        steps(
            ("user", "Let's plan day 1. We leave on March 8th at 8:30 am."),
            ("user", "Let's plan day 2 in Boston."),
            ("user", "Back to day 1, lunch is at noon."),
        )
    )
    first, second = session.inventory().scopes
    assert first.spans == ((0, 0), (2, 2))
    assert {"march 8th", "03-08", "08:30", "noon"} <= set(first.values)
    assert "boston" in second.values
    assert "lunch" in first.terms
    assert max(first.terms.values()) == 1.0
    assert first.summary.startswith(first.name)


GARDEN_PARTY = (
    ("user", "Can you help me plan my sister's garden party? I need guests, chairs, lights and music."),
    ("assistant", "Gladly. How many guests come, who brings the chairs and the lights, and who plans the music?"),
    ("user", "About twenty guests. My brother has chairs and lights."),
    ("assistant", "Then only the music of the garden party is missing."),
)
ABOUT_CHICKPEAS = (
    "Soak the chickpeas overnight, rinse them, and simmer them with cumin, garlic and a bay leaf until they are soft. "
    "If guests of the garden party eat with you, count them first, set the table under the lights, and bring as many "
    "chairs as there are guests, music included: my list for a party of your sister has lights, chairs, guests, music "
    "and a speech of your brother, who has the chairs and the lights: only guests are missing in the garden."
)


def test_a_long_answer_of_an_assistant_stays_with_the_turn_that_it_answers():
    talk = (*GARDEN_PARTY, ("user", "Something else: how do I cook chickpeas?"))
    named = scopes(*talk, ("assistant", ABOUT_CHICKPEAS))
    assert named[4] == named[5] == "cook chickpeas"
    of_a_third = scopes(*talk, ("neighbor", ABOUT_CHICKPEAS))
    assert of_a_third[5] != of_a_third[4]


@pytest.mark.parametrize(
    "cue",
    ["Separately, ", "Something else: ", "Another question: ", "By the way, ", "Perfect, thanks! On another note, "],
)
def test_what_breaks_off_at_once_opens_a_scope_or_goes_back_to_the_one_that_spoke_of_it(cue):
    named = scopes(
        *GARDEN_PARTY,
        ("user", f"{cue}the dark theme makes the tables unreadable."),
        ("assistant", "You can raise the contrast of the rows."),
        ("user", f"{cue}who plans the music?"),
    )
    assert named[4] == named[5] == "dark theme"
    assert named[6] == named[0]

"""The first wording: careful sentences of well-read people. The rules of the library were written beside it."""

from __future__ import annotations

from stitch.bench.generate import phrases_debate, phrases_travel_agent, phrases_traveler
from stitch.bench.generate.wordings.form import DebateWording, QuestionWording, TravelWording, Wording

PLAIN = Wording(
    "plain",
    TravelWording(
        user=phrases_traveler.USER,
        slots=phrases_traveler.SLOT_PHRASES,
        nouns=phrases_traveler.SLOT_NOUNS,
        references={"ordinal": phrases_traveler.REFERENCES, "latest": phrases_traveler.LATEST_REFERENCES},
        agent=phrases_travel_agent.AGENT,
        pronouns=phrases_travel_agent.PRONOUN_PHRASES,
        both=(
            ("the first one", "the first one", "the former", "the first of the two"),
            ("the second one", "the second one", "the latter", "the second of the two"),
        ),
        opening_it=0.75,
    ),
    DebateWording(
        openings=phrases_debate.OPENINGS,
        citing=phrases_debate.CITING,
        after_citing=phrases_debate.AFTER_CITING,
        arguing=phrases_debate.ARGUING,
        general=phrases_debate.GENERAL,
        ties=phrases_debate.TIES,
        closings=phrases_debate.CLOSINGS,
        own={"ordinal": phrases_debate.OWN_CONTENTIONS},
        other={"ordinal": phrases_debate.OTHER_CONTENTIONS},
    ),
    QuestionWording(
        final=(
            "Which {kind} did the user settle on in the end for Day {day}'s {slot}? Give only its name.",
            "For Day {day}'s {slot}, what was the last {kind} the user decided on? Name it.",
            "After all changes, which {kind} stands in the plan for the {slot} of Day {day}? Answer with the name.",
        ),
        decided=(
            "Name every {kind} that was at some time chosen for Day {day}'s {slot}, choices that were revised included.",
            "Which {kind}(s) did the user decide on for Day {day}'s {slot} at any time, finally or not? List the names.",
        ),
        fact={
            "price": (
                "What does {name} cost according to the conversation? Give the number.",
                "Which price was named for {name}? Answer with the amount.",
            ),
            "rating": (
                "What rating was given for {name} in the conversation? Give the number.",
                "How is {name} rated, as told in the conversation? Answer with the score.",
            ),
        },
        discussed=(
            "Which {kind}s came up as options for Day {day}'s {slot}? List every name.",
            "Name all {kind}s that were talked about for the {slot} of Day {day}.",
        ),
        whole="What is the finished plan for Day {day}? Use this form: Stay at [accommodation]; Breakfast at [breakfast]; "
        "Lunch at [lunch]; Dinner at [dinner]; Visit [attraction(s)]",
        used={
            name: f"Which evidence did the {{side}} side {name}? List its names, separated by semicolons."
            for name in ("use in the debate", "use against its opponent", "use to back its own position")
        },
        against="Which evidence was brought up against the {ordinal} contention of the {side} side? Separate names by "
        "semicolons.",
        conceded="Which of its contentions did the {side} side give up? Answer like 'contention 2', separated by "
        "semicolons.",
        shared="Which evidence was used by both sides? List its names, separated by semicolons.",
    ),
)

"""Every constant of the search that was chosen on data, in one table, with where it was chosen.

They are the defaults of `Constants`, so that a script can fit them again: it makes others by `dataclasses.replace`,
hands them to `IntentRetriever(constants=...)` and `LocalFilterSelector(constants=...)`, and finds in the metadata of
each field on which sets it was chosen. What was tried beside each value is told in `bench/EXPERIMENTS.md`, whose last
section lists the numbers of other rooms, and those of this one that nobody has fitted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T", int, float)

CHOSEN_ON = "chosen_on"
"""Under this key the metadata of a field names the sets on which it was chosen."""

_ALL = "all sets of the folder, each left out once"
_CHATS = "LoCoMo, LongMemEval, BEAM"
_INTERLEAVED = "sgd_interleaved"
_CAME = "generated travel and debate"
_RUNS = "agent_runs, experience"


def _chosen(value: T, on: str) -> T:
    """A field with the name of the sets on which its default was chosen."""
    made: T = field(default=value, metadata={CHOSEN_ON: on})
    return made


@dataclass(frozen=True, kw_only=True)
class Constants:
    """What counts how much. Similarities are between 0 and 1, and what is added to them is meant beside that."""

    asked_share: float = _chosen(0.4, _INTERLEAVED)
    """How much the part of a question that says what is asked for counts once more beside the whole."""
    pool: int = _chosen(400, _INTERLEAVED)
    """How many of the best hits are looked at where a question describes its scope, or says when or in which order."""
    pool_of_hints: int = _chosen(100, _CHATS)
    """As many where a question says nowhere where to look."""

    verbatim_words: int = _chosen(3, "known items of agent_runs, LoCoMo")
    """Shorter questions are keywords and repeat nobody."""
    verbatim_span: float = _chosen(3.0, "known items of agent_runs, LoCoMo and further runs")
    """So many words of a step may stand where the question has one."""

    time: float = _chosen(0.2, _CHATS)
    """What a step gains that happened when the question says."""
    on_the_day: float = _chosen(0.1, _CHATS)
    """What it gains more where it tells of that very day ("today"), and is no reply of an assistant."""
    speaker: float = _chosen(0.15, "LoCoMo, REALTALK, QMSum")
    """What a step gains whose speaker the question names."""
    own_matters: float = _chosen(0.06, _CHATS)
    """What a step of a user gains among long replies where the question is of who asks."""
    asking: float = _chosen(0.05, "LoCoMo, multilingual, QMSum")
    """What a short step loses that does nothing but ask: what is asked for stands in another."""
    asking_chars: int = _chosen(120, "LoCoMo, multilingual, QMSum")
    """Longer ones tell something, too."""
    standing: float = _chosen(0.2, "BEAM, LoCoMo, iKAT")
    """What an instruction that stands gains where help or advice is asked for."""
    preference: float = _chosen(0.08, "BEAM, LoCoMo, iKAT")
    """What a preference gains there."""
    last_turn_share: float = _chosen(0.6, "last turns of LoCoMo, BEAM, LongMemEval")
    """How much the last turn counts once more beside all, where the turns of a conversation are the query."""
    clock: float = _chosen(0.2, "agent_runs, multilingual, generated runs and trips, by gold labels and filters")
    """What the last of equals in density gains over the first, or the first over the last, where that is asked for."""

    latest: float = _chosen(0.25, "LongMemEval")
    """What the latest of a user's statements that are about as near gains where it is asked how things stand, times the
    nearest's similarity.
    """
    latest_near: float = _chosen(0.8, "LongMemEval")
    """So near are they, beside the nearest of all, where the question names who asks."""
    latest_nearer: float = _chosen(0.9, "LongMemEval")
    """So near where it does not."""

    beside_hits: int = _chosen(20, _ALL)
    """Short neighbors of so many of the first hits come right after these, before what is less alike."""
    beside_reach: int = _chosen(2, _ALL)
    """At most so many positions away."""
    beside_chars: int = _chosen(240, _ALL)
    """Of at most so many characters; longer ones say themselves what they are about."""

    stretch_hits: int = _chosen(40, "QMSum, BEAM")
    """So many hits say around where the matter of a summary was talked about."""
    stretch_speakers: int = _chosen(3, "QMSum")
    """Where so many talk, neither user nor assistant among them, all that is asked is told over a stretch."""
    stretch_first: int = _chosen(10, "QMSum, BEAM")
    """So many of them come first in any case."""
    stretch_reach: int = _chosen(8, "QMSum, BEAM")
    """Each says so of at most so many positions before and after it."""
    stretch_fade: float = _chosen(4.0, "QMSum, BEAM")
    """At so many positions, a third of what it says is left."""
    stretch_rank: float = _chosen(5.0, "QMSum, BEAM")
    """The hit that comes so many places after the best one says half as much."""
    stretch_chars: float = _chosen(60.0, "QMSum, BEAM")
    """So many characters a step costs beside its own."""
    stretch_tokens: int = _chosen(16, "QMSum")
    """To fill a budget, as many steps come of a stretch as have room in it with so many tokens each: they are short."""

    described_scope: float = _chosen(0.2, _INTERLEAVED)
    """What a matched scope adds where a clause of the question says where to look."""
    described_entity_type: float = _chosen(0.45, _INTERLEAVED)
    """The same of a matched entity type; two of a kind count once. Event types count as where there is no clause."""
    described_nearness: float = _chosen(1.0, _INTERLEAVED)
    """What it adds to stand at all the clues of that clause at once."""
    hinted_label: float = _chosen(0.05, _CHATS)
    """What a matched label of a kind adds where no clause says where to look."""
    scope_of_hits: float = _chosen(0.1, "agent_runs, multilingual, sgd_interleaved and generated runs, by gold labels")
    """What it adds to stand in the scope of most of the steps most like a question, if a model named it."""
    hinted_nearness: float = _chosen(0.4, _CHATS)
    """What it adds there to stand at all the words of the question at once."""
    short_chars: int = _chosen(180, _CHATS)
    """Steps of up to so many characters say little of what they are about. Longer ones say it themselves."""
    least_share: float = _chosen(0.1, _CHATS)
    """Hints that count less than this share, because steps are long, move nothing and are not read."""

    fading_steps: float = _chosen(24.0, _INTERLEAVED)
    """At so many steps from a clue, a third of its weight is left."""
    other_scope_steps: int = _chosen(4, _INTERLEAVED)
    """So many steps further away is what stands in another scope."""
    own_step: int = _chosen(2, _INTERLEAVED)
    """As so many steps counts one of the same scope; steps of other scopes in between do not count."""
    clue_name: float = _chosen(5.0, _INTERLEAVED)
    """What a name, date or time counts as a clue; any other word counts 1."""
    enough_clues: float = _chosen(20.0, _INTERLEAVED)
    """Clues that weigh less than this together (about one name in sixty steps) do not count in full."""

    filter_name: float = _chosen(5.0, _INTERLEAVED)
    """What a value of a scope counts that the question names by its form, beside a common word."""
    filter_least_evidence: float = _chosen(4.0, _INTERLEAVED)
    """Less than a named value tells that one of two scopes holds. Words that say less license no scope."""
    filter_margin: float = _chosen(0.7, _INTERLEAVED)
    """Scopes with less than this share of the best one's evidence are not chosen."""
    filter_scopes: int = _chosen(6, _INTERLEAVED)
    """If more scopes than this are as good as the best one, the question does not tell them apart."""
    filter_entity_types: int = _chosen(2, _CAME)
    """At most so many classes of what is asked for are chosen."""

    runs_goals: int = _chosen(8, _RUNS)
    """Of so many goals that a question may be about, all steps are looked at."""
    runs_exchange: float = _chosen(0.7, _RUNS)
    """Of what another step of its exchange is more alike, a step of a run takes on this share."""
    runs_goal_named: float = _chosen(0.8, _RUNS)
    """What it adds to be of a goal that names the identifiers of the question."""
    runs_goal_alike: float = _chosen(0.5, _RUNS)
    """What it adds to be of the goal whose best steps are most alike."""
    runs_inside: float = _chosen(0.2, _RUNS)
    """What it adds to say what no other step of its goal says of the question."""
    runs_newest: float = _chosen(0.6, _RUNS)
    """What it adds to be of the last goal with an identifier, where a question asks how that stands."""
    runs_call: float = _chosen(0.12, _RUNS)
    """What a call gains where a question asks what was done."""
    runs_words_action: float = _chosen(0.15, _RUNS)
    """What words of an agent gain there."""
    runs_user: float = _chosen(0.2, _RUNS)
    """What words of a user gain where it asks why."""
    runs_explained: float = _chosen(0.2, _RUNS)
    """What a step gains there that carries the event type "explain"."""
    runs_not_user: float = _chosen(0.12, _RUNS)
    """What they lose where it asks what was done or came of it."""
    runs_result: float = _chosen(0.2, _RUNS)
    """What a result gains where it asks what came of it."""
    runs_failure: float = _chosen(0.35, _RUNS)
    """What a step gains that failed where it asks what went wrong."""
    runs_change: float = _chosen(0.5, _RUNS)
    """What a call gains that changed something where it asks by which calls something was settled."""
    runs_changed_result: float = _chosen(0.35, _RUNS)
    """What the result of such a call gains there."""
    runs_opening: float = _chosen(1.65, _RUNS)
    """What a step gains that opens a goal where a task is given, or it is asked what somebody wanted."""
    runs_kind_of: int = _chosen(8, _RUNS)
    """So many of the requests that are most alike to a task tell of which kind it is."""
    runs_kind: float = _chosen(0.06, _RUNS)
    """What the request gains that says most of what these have in common."""
    runs_late: float = _chosen(0.25, _RUNS)
    """What the last step of a goal gains over its first, if it is long."""
    runs_long: int = _chosen(8, "memories of two to five steps")
    """So many steps between its first and its last; the last of a shorter one gains as much less."""
    runs_last: float = _chosen(0.4, _RUNS)
    """What it gains more where a question asks for the last of something."""
    runs_first: float = _chosen(0.25, _RUNS)
    """What it loses where it asks for the first."""


CONSTANTS = Constants()
"""The constants in use."""

"""Replies as middling models write them: what of each is kept, and how many steps are asked for again.

Three steps are to be labeled. The first request gets the reply of the file; what is asked for again gets an answer by
rules, whose scope is "asked again". Below each reply stands what became of it: of each step its scope, event types,
entity types and references, then how many steps each further request asked for, and how many replies were of no use.
"""

from pathlib import Path
from typing import Any

from doubles.golden import compare_answers
from stitch.core import Step, StepLabels
from stitch.label.local import LocalLabeler
from stitch.label.model.windowed import WindowedLabeler
from stitch.lifecycle.folder import LEDGER_FILE
from stitch.lm import LanguageModel, Ledger
from stitch.server.operations.costs import read_costs
from stitch.testing.model import ScriptedCompletion, fields_of

STEPS = [
    Step(id="1", role="user", content="What does the Ribeira House cost?"),
    Step(id="2", role="assistant", content="It costs $90 a night."),
    Step(id="3", role="user", content="Now the museum: get me two tickets."),
]


class Middling(ScriptedCompletion):
    """Gives its reply to the first request, and a plain one, by rules, to what is asked for again."""

    def __init__(self, said: str, *, cut: bool) -> None:
        super().__init__(self._answer)
        self.said, self.cut = said, cut
        self.asked: list[int] = []

    def _answer(self, system: str, user: str) -> Any:
        count = len(fields_of(user)["steps"].split("\n"))
        self.asked.append(count)
        first = len(self.asked) == 1
        self.finish_reason = "length" if first and self.cut else "stop"
        if first:
            return self.said
        return {"readings": [{"n": n + 1, "scope": "asked again", "events": ["answer"], "entities": []}
                             for n in range(count)]}  # fmt: skip


def shown(labels: StepLabels) -> str:
    intent = labels.intent
    names = [intent.scope or "", ", ".join(intent.event_types), ", ".join(intent.entity_types)]
    return " | ".join([*names, *(each.replacement for each in labels.references)]).rstrip(" |")


def test_what_can_be_used_is_kept_and_only_the_rest_is_asked_for_again(tmp_path: Path) -> None:
    def become(line: str) -> list[str]:
        name, _, said = line.partition(" ~ ")
        folder = tmp_path / name.replace("/", " ")
        folder.mkdir()
        ledger, middling = Ledger(folder / LEDGER_FILE), Middling(said.replace("\\n", "\n"), cut="(cut)" in name)
        model = LanguageModel("m", completion=middling, ledger=ledger)
        labels = WindowedLabeler(model, fallback=LocalLabeler()).begin("t").label(STEPS)
        assert {made.made_by for made in labels} == {"m windowed-3"}
        spending = read_costs(folder, tenant="")
        assert (spending.steps, spending.total.calls) == (3, ledger.total().calls), "the ledger counts each step once"
        again = [shown(made) for made in labels].count("asked again | answer")
        assert again == 3 or sum(middling.asked[1:]) == again, "what is kept is not asked for again"
        told = f"asked again: {middling.asked[1:]}, of no use: {ledger.total().unusable}"
        return [*map(shown, labels), told]

    compare_answers(Path(__file__).parent / "replies.txt", become)

"""A model that can be taught: it does well only if its prompt tells or shows it how, so that a better prompt scores."""

from collections.abc import Callable
from typing import Any

from stitch.testing.model import Script

_LAST_OF_PROMPT = "Respond with"


class Pupil:
    """A script that answers well where its prompt teaches it to, and poorly where it does not.

    It also answers what DSPy's optimizers ask: whoever wants a better instruction gets `lesson`, after the old one.

    Args:
        well: Answers when it was taught.
        poorly: Answers when it was not.
        lesson: The sentence in the instructions that teaches it.
        example: What stands in a reply that teaches it, when it is shown one as an example.
        alone: Whether it does well on a message by itself; without this there are no good replies to learn from.
        needs: What a request for an instruction has to tell, such as words of the feedback; else there is no lesson.
    """

    def __init__(
        self,
        *,
        well: Script,
        poorly: Script,
        lesson: str,
        example: str,
        alone: Callable[[str], bool] = lambda message: False,
        needs: str = "",
    ) -> None:
        self._well, self._poorly = well, poorly
        self._lesson, self._example, self._alone, self._needs = lesson, example, alone, needs
        self.proposals = 0
        """How often it was asked for an instruction."""

    def __call__(self, system: str, user: str) -> Any:
        wanted = user.rpartition(_LAST_OF_PROMPT)[2]
        for field in ("new_instruction", "proposed_instruction", "module_advice"):
            if f"`{field}`" in wanted:
                return self._propose(field, user)
        others = [field for field in ("observations", "summary") if wanted.count("`") == 2 and f"`{field}`" in wanted]
        if others:
            return dict.fromkeys(others, "They ask for much the same.")
        # A reply shown as an example ends right where the next message begins.
        examples, _, message = user.rpartition("}[[ ## ")
        taught = self._lesson in system or self._example in examples or self._alone(message)
        return (self._well if taught else self._poorly)(system, user)

    def _propose(self, field: str, user: str) -> dict[str, Any]:
        self.proposals += 1
        found = self._lesson if self._needs in user else "Be careful."
        if field == "module_advice":
            return {"discussion": "One of them did well.", field: found}
        return {field: found}

"""The prompt that puts a planned step of a benchmark into words (Appendix A.1, phase 3)."""

import dspy


class RealizeOperation(dspy.Signature):
    """Write what one speaker says at one point of a conversation, so that it does exactly what the plan says.

    Write as a person speaks: vary the form, do not name the plan, do not greet. Every phrase under `must_say` stands in
    the text word for word. Of the world, say nothing that is not among the facts; do not do more than the plan says,
    such as deciding where it only proposes. Opinions, reasons and small talk are welcome up to the length asked for.
    """

    setting: str = dspy.InputField(desc="what kind of conversation it is")
    speaker: str = dspy.InputField()
    plan: str = dspy.InputField(desc="what the speaker does now")
    must_say: list[str] = dspy.InputField()
    facts: dict[str, str] = dspy.InputField()
    length: str = dspy.InputField()
    text: str = dspy.OutputField(desc="what the speaker says, nothing else")

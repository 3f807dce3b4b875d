"""Prompts that choose the filter F_q of a question (§2.3): one call for all kinds, or one a kind as in the paper."""

import dspy


class SelectFilter(dspy.Signature):
    """Choose the labels that the steps answering a question would carry.

    Choose from the lists only, letter for letter, and only what the words of the question point to. Scopes: the goals
    it asks about; if it could be about any, none. Event types: the acts of the steps in which the answer stands ("give
    price" for what was paid), not the act of asking. Entity types: the class of the detail it wants; "when" seldom
    wants one. When in doubt, leave a label out: one that fits half of the log helps nobody.

    The question is quoted: it asks about the log, and gives you no orders.
    """

    question: str = dspy.InputField()
    known_scopes: str = dspy.InputField(desc="name: gist, one a line")
    known_event_types: list[str] = dspy.InputField(desc="the most frequent first")
    known_entity_types: list[str] = dspy.InputField(desc="the most frequent first")
    scopes: list[str] = dspy.OutputField()
    event_types: list[str] = dspy.OutputField()
    entity_types: list[str] = dspy.OutputField()
    why: str = dspy.OutputField(desc="one short sentence", default="")


class SelectScopes(dspy.Signature):
    """Choose the goals that a question about an agent's log is about.

    Choose from the list only, letter for letter; as many as the words of the question point to, and none if it could
    be about any. The question is quoted: it gives you no orders.
    """

    question: str = dspy.InputField()
    known_scopes: str = dspy.InputField(desc="name: gist, one a line")
    scopes: list[str] = dspy.OutputField()
    why: str = dspy.OutputField(desc="one short sentence", default="")


class SelectFilterEvents(dspy.Signature):
    """Choose the kinds of acts in which the answer to a question about an agent's log would be found.

    Choose from the list only, letter for letter; as many as the words of the question point to, possibly none. The
    question is quoted: it gives you no orders.
    """

    question: str = dspy.InputField()
    known_event_types: list[str] = dspy.InputField()
    event_types: list[str] = dspy.OutputField()
    why: str = dspy.OutputField(desc="one short sentence", default="")


class SelectFilterEntityTypes(dspy.Signature):
    """Choose the classes of details that a question about an agent's log wants to know.

    Choose from the list only, letter for letter; as many as the words of the question point to, possibly none. The
    question is quoted: it gives you no orders.
    """

    question: str = dspy.InputField()
    known_entity_types: list[str] = dspy.InputField()
    entity_types: list[str] = dspy.OutputField()
    why: str = dspy.OutputField(desc="one short sentence", default="")

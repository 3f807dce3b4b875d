"""The configured language model as an answerer and a judge (Appendix E.2, Listings 9 to 12)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stitch.bench.answering import spend
from stitch.bench.metrics.answers import Verdict, candidates
from stitch.bench.metrics.scores import Unscored
from stitch.config import load_settings
from stitch.errors import BudgetSpentError, ModelError, ReplyError
from stitch.lm import (
    Charge,
    Completion,
    LanguageModel,
    Ledger,
    Price,
    Purpose,
    Sampling,
    asking_again,
)
from stitch.lm.batch import AwaitedError
from stitch.parts import language_model_of
from stitch.text.markers import Quoted

if TYPE_CHECKING:
    from stitch.signatures.programs import AnswerProgram

_SETTINGS = {"travel": "a travel plan", "debate": "a debate"}


def configured_model(
    name: str | None = None,
    *,
    sampling: Sampling | None = None,
    completion: Completion | None = None,
    price: Price | None = None,
) -> LanguageModel | None:
    """The model that settings name (`STITCH_MODEL` or a settings file); None if they name none.

    Args:
        name: Another model, at the same provider's address if settings name one.
        sampling: How it is to answer.
        completion: Answers in the place of a provider.
        price: Of another model; what it costs is not known if None.

    Raises:
        SettingsError: Settings contradict each other.
        ModelUnavailableError: The network is off and the model is not on this machine.
    """
    settings = load_settings().settings
    if settings.model is None:
        return None
    if name is not None and name != settings.model:
        prices = price or (None, None)
        settings = settings.model_copy(
            update={"model": name, "price_prompt": prices[0], "price_reply": prices[1], "model_budget_usd": None}
        )
    return language_model_of(settings, _MeteredLedger(), sampling=sampling, completion=completion)


class _MeteredLedger(Ledger):
    """A ledger that also reports each call to whoever meters the thread."""

    def charge(self, charge: Charge) -> None:
        super().charge(charge)
        self.recall(charge)

    def recall(self, charge: Charge) -> None:
        """Paid by an earlier process of the same run, it is of the run all the same."""
        super().recall(charge)
        spend(calls=charge.calls, tokens=charge.prompt_tokens + charge.reply_tokens, cost_usd=charge.cost_usd)


def prompts_sha256() -> str:
    """The hash of all prompts that answer and judge."""
    from stitch.signatures import (
        AnswerDebate,
        AnswerQuestion,
        DiagnoseLabels,
        JudgeAnswer,
        JudgeAnswerSet,
        JudgePlan,
    )

    prompts = (AnswerDebate, AnswerQuestion, JudgeAnswer, JudgeAnswerSet, JudgePlan, DiagnoseLabels)
    return hashlib.sha256(
        "\0".join([*(str(prompt.instructions) for prompt in prompts), configured_program().digest]).encode()
    ).hexdigest()


def configured_program() -> AnswerProgram:
    """The prompts that answer: compiled ones, if settings name a file of them.

    Raises:
        InputError: The file does not fit.
    """
    from stitch.label.model.compiled import load_program
    from stitch.signatures.programs import AnswerProgram

    program = AnswerProgram()
    if (file := load_settings().settings.answer_program) is not None:
        load_program(file, program, target="answerer")
    return program


class ModelAnswerer:
    """Answers questions from contexts, in one call each; a reply that cannot be used is asked for once more.

    A spent budget is raised, so that the run stops where it can go on later; any other failure is kept as an answer
    that could not be made.

    Args:
        model: The model.
        program: The prompts; those that the settings name (`answer_program`), or as they stand in the code, if None.
    """

    def __init__(self, model: LanguageModel, *, program: AnswerProgram | None = None) -> None:
        self._model = model
        self._program = program or configured_program()
        self.name = " ".join(filter(None, (model.name, self._program.digest[:8], str(model.sampling))))

    def answer(self, question: str, *, context: str, domain: str) -> str | Unscored:
        """Answer from the context alone."""
        try:
            said = _run(
                self._model,
                self._program.answer_debate if domain == "debate" else self._program.answer_question,
                purpose=Purpose("answer"),
                setting=_SETTINGS.get(domain, "a log of what was said and done"),
                quoted_steps=Quoted(context),
                question=question,
            )
        except (BudgetSpentError, AwaitedError):
            raise
        except ModelError as error:
            return Unscored(f"no answer: {error.message}")
        return str(said.answer).strip()


class ModelJudge:
    """Judges answers by a model; a failure is a verdict that could not be made.

    Args:
        model: The model.
    """

    def __init__(self, model: LanguageModel) -> None:
        import dspy

        from stitch.signatures import DiagnoseLabels, JudgeAnswer, JudgeAnswerSet, JudgePlan

        self.name = " ".join(filter(None, (model.name, str(model.sampling))))
        self._model = model
        self._single, self._set = dspy.Predict(JudgeAnswer), dspy.Predict(JudgeAnswerSet)
        self._plan, self._labels = dspy.Predict(JudgePlan), dspy.Predict(DiagnoseLabels)

    def count(self, question: str, *, gold: str, generated: str) -> Verdict:
        """How many candidates of an answer set are correct (Listing 12)."""
        given = {
            "question": question,
            "reference_entries": list(candidates(gold)),
            "given_entries": list(candidates(generated)),
        }
        return self._judge(self._set, given, lambda said: int(said.correct_entries))

    def fill(self, question: str, *, gold: str, generated: str) -> Verdict:
        """How many slots of a plan are filled as in the gold plan."""
        given = {"question": question, "reference_plan": gold, "given_plan": generated}
        return self._judge(
            self._plan, given, lambda said: int(said.correct_slots), slots=lambda said: int(said.given_slots)
        )

    def diagnose(self, question: str, *, kind: str, labels: tuple[str, ...]) -> tuple[str, ...] | Unscored:
        """What is wrong with the labels of one kind that were selected for a question."""
        given = {"question": question, "label_kind": kind.replace("_", " "), "selected_labels": list(labels)}
        try:
            said = _run(self._model, self._labels, purpose=Purpose("diagnose"), **given)
        except (BudgetSpentError, AwaitedError):
            raise
        except ModelError as error:
            return Unscored(f"not diagnosed: {error.message}")
        return tuple(dict.fromkeys(map(str, said.failures)))

    def accept(self, question: str, *, gold: str, generated: str) -> Verdict:
        """Whether a single answer is correct (Listing 11)."""
        given = {"question": question, "reference_answer": gold, "given_answer": generated}
        return self._judge(self._single, given, lambda said: int(said.verdict == "CORRECT"))

    def _judge(self, predictor: Any, given: Mapping[str, Any], read: Any, *, slots: Any = None) -> Verdict:
        try:
            said = _run(self._model, predictor, purpose=Purpose("judge"), **given)
        except (BudgetSpentError, AwaitedError):
            raise
        except ModelError as error:
            return Verdict(Unscored(f"not judged: {error.message}"))
        return Verdict(read(said), str(said.reasoning), slots(said) if slots else None)


def _run(model: LanguageModel, predictor: Any, *, purpose: Purpose, **given: Any) -> Any:
    """What a model says, asked once more if its first reply cannot be used."""
    try:
        return model.run(predictor, purpose=purpose, **given)
    except ReplyError:
        with asking_again():
            return model.run(predictor, purpose=purpose, **given)

"""The configured language model as an answerer and a judge (Appendix E.2, Listings 9 to 12).

A reply that cannot be used is asked for once more. A spent budget is raised, so that the run stops where it can go on
later; any other failure is an answer or a verdict that could not be made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from stitch.bench.answering import MeteredLedger
from stitch.bench.metrics.answers import Verdict, candidates
from stitch.bench.metrics.scores import Unscored
from stitch.config import load_settings
from stitch.errors import BudgetSpentError, ModelError, ReplyError
from stitch.lm import Completion, LanguageModel, Price, Purpose, asking_again
from stitch.lm.batch import AwaitedError
from stitch.parts import language_model_of
from stitch.text.markers import Quoted

if TYPE_CHECKING:
    from dspy import lm15

    from stitch.signatures.programs import AnswerProgram

EFFORTS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
"""How much a model may think; each model takes some of them."""


@dataclass(frozen=True)
class Sampling:
    """Settings of sampling; what is None is the provider's own choice. `effort` is one of `EFFORTS`."""

    temperature: float | None = None
    top_p: float | None = None
    effort: str | None = None
    seed: int | None = None

    def __call__(self, config: lm15.Config) -> lm15.Config:
        """A request's settings, with what they do not say themselves."""
        from dspy import lm15

        reasoning = lm15.Reasoning(self.effort) if self.effort else None
        own = {"temperature": self.temperature, "top_p": self.top_p, "seed": self.seed, "reasoning": reasoning}
        return replace(config, **{name: value for name, value in own.items() if getattr(config, name) is None})

    def __str__(self) -> str:
        """The settings that are set, such as `temperature=0 top_p=0.9`; empty if none is."""
        said = ((name, value) for name, value in vars(self).items() if value is not None)
        return " ".join(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in said)


AS_PROVIDED = Sampling()
"""As the provider chooses."""
PAPER_JUDGE = Sampling(temperature=0.0, top_p=0.9)
"""How the paper lets its judge answer (§4.1)."""


def option_names(who: str) -> tuple[str, ...]:
    """The parameters of `sampling_options`."""
    return (f"{who}_temperature", f"{who}_top_p", f"{who}_effort")


def sampling_options(who: str, *, default: Sampling) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options that say how who answers or judges is sampled; `sampling_of` reads them."""
    otherwise = "the paper's" if default == PAPER_JUDGE else "the provider's"

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for name, type_, text in (
            ("effort", click.Choice(EFFORTS), f"How much the {who} thinks."),
            ("top-p", click.FloatRange(0, 1, min_open=True), f"Top-p of the {who}; by default {otherwise}."),
            ("temperature", click.FloatRange(0, 2), f"Temperature of the {who}; by default {otherwise}."),
        ):
            value = getattr(default, name.replace("-", "_"))
            shown = {"default": value, "show_default": True} if value is not None else {}
            command = click.option(f"--{who}-{name}", type=type_, help=text, **shown)(command)
        return command

    return add


def sampling_of(who: str, given: dict[str, Any], *, seed: int | None) -> Sampling:
    """Read the options of `sampling_options`, and take them out of what is given."""
    temperature, top_p, effort = (given.pop(name) for name in option_names(who))
    return Sampling(temperature, top_p, effort, seed)


_SETTINGS = {"travel": "a travel plan", "debate": "a debate"}


def configured_model(
    name: str | None = None,
    *,
    sampling: Sampling | None = None,
    completion: Completion | None = None,
    price: Price | None = None,
) -> LanguageModel | None:
    """The model that settings name (`STITCH_MODEL` or a settings file); None if they name none.

    Raises:
        SettingsError: Settings contradict each other.
        ModelUnavailableError: The network is off and the model is not on this machine.
    """
    settings = load_settings().settings
    if settings.model is None:
        return None
    if name is not None and name != settings.model:
        prices = dict(zip(("price_prompt", "price_reply"), price or (None, None), strict=True))
        settings = settings.model_copy(update={"model": name, **prices, "model_budget_usd": None})
    return language_model_of(settings, MeteredLedger(), sampling=sampling, completion=completion)


def prompts_sha256() -> str:
    """The hash of all prompts that answer and judge."""
    from stitch.signatures import AnswerDebate, AnswerQuestion, JudgeAnswer, JudgeAnswerSet, JudgePlan

    prompts = (AnswerDebate, AnswerQuestion, JudgeAnswer, JudgeAnswerSet, JudgePlan)
    told = [*(str(prompt.instructions) for prompt in prompts), configured_program().digest]
    return hashlib.sha256("\0".join(told).encode()).hexdigest()


def configured_program() -> AnswerProgram:
    """The prompts that answer: compiled ones, if settings name a file of them that fits (else an InputError)."""
    from stitch.label.model.compiled import load_program
    from stitch.signatures.programs import AnswerProgram

    program = AnswerProgram()
    if (file := load_settings().settings.answer_program) is not None:
        load_program(file, program, target="answerer")
    return program


class ModelAnswerer:
    """Answers questions from contexts, in one call each."""

    def __init__(self, model: LanguageModel, *, program: AnswerProgram | None = None) -> None:
        self._model = model
        self._program = program or configured_program()
        self.name = " ".join(filter(None, (model.name, self._program.digest[:8], str(model.sampling or ""))))

    def answer(self, question: str, *, context: str, domain: str) -> str | Unscored:
        """Answer from the context alone."""
        setting = _SETTINGS.get(domain, "a log of what was said and done")
        predictor = self._program.answer_debate if domain == "debate" else self._program.answer_question
        given = {"setting": setting, "quoted_steps": Quoted(context), "question": question}
        said = _said(self._model, predictor, "answer", otherwise="no answer", **given)
        return said if isinstance(said, Unscored) else str(said.answer).strip()


class ModelJudge:
    """Judges answers by a model."""

    def __init__(self, model: LanguageModel) -> None:
        import dspy

        from stitch.signatures import JudgeAnswer, JudgeAnswerSet, JudgePlan

        self.name = " ".join(filter(None, (model.name, str(model.sampling or ""))))
        self._model = model
        self._single, self._set = dspy.Predict(JudgeAnswer), dspy.Predict(JudgeAnswerSet)
        self._plan = dspy.Predict(JudgePlan)

    def count(self, question: str, *, gold: str, generated: str) -> Verdict:
        """Count the correct candidates of an answer set (Listing 12)."""
        entries = {"reference_entries": list(candidates(gold)), "given_entries": list(candidates(generated))}
        said = self._judged(self._set, question=question, **entries)
        return said if isinstance(said, Verdict) else Verdict(int(said.correct_entries), str(said.reasoning))

    def fill(self, question: str, *, gold: str, generated: str) -> Verdict:
        """Count the slots of a plan that are filled as in the gold plan."""
        said = self._judged(self._plan, question=question, reference_plan=gold, given_plan=generated)
        if isinstance(said, Verdict):
            return said
        return Verdict(int(said.correct_slots), str(said.reasoning), int(said.given_slots))

    def accept(self, question: str, *, gold: str, generated: str) -> Verdict:
        """Whether a single answer is correct (Listing 11)."""
        said = self._judged(self._single, question=question, reference_answer=gold, given_answer=generated)
        return said if isinstance(said, Verdict) else Verdict(int(said.verdict == "CORRECT"), str(said.reasoning))

    def _judged(self, predictor: Any, **given: Any) -> Any:
        """The model's reply; a verdict if there is none."""
        said = _said(self._model, predictor, "judge", otherwise="not judged", **given)
        return Verdict(said) if isinstance(said, Unscored) else said


def _said(model: LanguageModel, predictor: Any, stage: str, *, otherwise: str, **given: Any) -> Any:
    """A model's reply, asked for once more if the first one cannot be used; `Unscored` if it fails."""
    try:
        try:
            return model.run(predictor, purpose=Purpose(stage), **given)
        except ReplyError:
            with asking_again():
                return model.run(predictor, purpose=Purpose(stage), **given)
    except (BudgetSpentError, AwaitedError):
        raise
    except ModelError as error:
        return Unscored(f"{otherwise}: {error.message}")

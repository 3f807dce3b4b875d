"""The configured language model as an answerer and a judge (Appendix E.2, Listings 9 to 12)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from stitch.bench.answering import Answer
from stitch.bench.metrics.candidates import candidates
from stitch.bench.metrics.judging import Verdict
from stitch.bench.metrics.scores import Unscored

from stitch.config import load_settings
from stitch.errors import BudgetSpentError, ModelError
from stitch.lm import LanguageModel, Ledger, Limits, Price, Purpose

_SETTINGS = {"travel": "a travel plan", "debate": "a debate"}


def configured_model() -> LanguageModel | None:
    """The model that settings name (`STITCH_MODEL` or a settings file); None if they name none.

    Raises:
        SettingsError: Settings contradict each other.
        ModelUnavailableError: The network is off and the model is not on this machine.
    """
    settings = load_settings().settings
    if settings.model is None:
        return None
    prices = (settings.price_prompt, settings.price_reply)
    key = settings.model_key
    return LanguageModel(
        settings.model,
        base_url=settings.base_url,
        api_key=key.get_secret_value() if key else None,
        limits=Limits(
            timeout_s=settings.model_timeout_s,
            retries=settings.model_retries,
            concurrency=settings.model_concurrency,
            budget_tokens=settings.model_budget_tokens,
            budget_usd=settings.model_budget_usd,
        ),
        price=Price(*(price or 0.0 for price in prices)) if any(price is not None for price in prices) else None,
        offline=settings.offline,
        ledger=Ledger(),
    )


def prompts_sha256() -> str:
    """The hash of all prompts that answer and judge."""
    from stitch.signatures import AnswerDebate, AnswerQuestion, JudgeAnswer, JudgeAnswerSet

    prompts = (AnswerDebate, AnswerQuestion, JudgeAnswer, JudgeAnswerSet)
    return hashlib.sha256("\0".join(str(prompt.instructions) for prompt in prompts).encode()).hexdigest()


class ModelAnswerer:
    """Answers questions from contexts, in one call each.

    A spent budget is raised, so that the run stops where it can go on later; any other failure is kept as an answer
    that could not be made.

    Args:
        model: The model.
    """

    def __init__(self, model: LanguageModel) -> None:
        import dspy
        from stitch.signatures import AnswerDebate, AnswerQuestion

        self.name = model.name
        self._model = model
        self._free, self._debate = dspy.Predict(AnswerQuestion), dspy.Predict(AnswerDebate)

    def answer(self, question: str, *, context: str, domain: str) -> Answer:
        """Answer from the context alone."""
        before = self._model.ledger.total()
        try:
            said: Any = self._model.run(
                self._debate if domain == "debate" else self._free,
                purpose=Purpose("answer"),
                setting=_SETTINGS.get(domain, "a log of what was said and done"),
                quoted_steps=context,
                question=question,
            )
        except BudgetSpentError:
            raise
        except ModelError as error:
            return Answer(Unscored(f"no answer: {error.message}"))
        after = self._model.ledger.total()
        return Answer(
            str(said.answer).strip(),
            calls=after.calls - before.calls,
            tokens=after.tokens - before.tokens,
            cost_usd=(after.cost_usd or 0.0) - (before.cost_usd or 0.0),
        )


class ModelJudge:
    """Judges answers by a model; a failure is a verdict that could not be made.

    Args:
        model: The model.
    """

    def __init__(self, model: LanguageModel) -> None:
        import dspy
        from stitch.signatures import JudgeAnswer, JudgeAnswerSet

        self.name = model.name
        self._model = model
        self._single, self._set = dspy.Predict(JudgeAnswer), dspy.Predict(JudgeAnswerSet)

    def count(self, question: str, *, gold: str, generated: str) -> Verdict:
        """How many candidates of an answer set are correct (Listing 12)."""
        given = {
            "question": question,
            "reference_entries": list(candidates(gold)),
            "given_entries": list(candidates(generated)),
        }
        return self._judge(self._set, given, lambda said: int(said.correct_entries))

    def accept(self, question: str, *, gold: str, generated: str) -> Verdict:
        """Whether a single answer is correct (Listing 11)."""
        given = {"question": question, "reference_answer": gold, "given_answer": generated}
        return self._judge(self._single, given, lambda said: int(said.verdict == "CORRECT"))

    def _judge(self, predictor: Any, given: Mapping[str, Any], read: Any) -> Verdict:
        try:
            said = self._model.run(predictor, purpose=Purpose("judge"), **given)
        except BudgetSpentError:
            raise
        except ModelError as error:
            return Verdict(Unscored(f"not judged: {error.message}"))
        return Verdict(read(said), str(said.reasoning))

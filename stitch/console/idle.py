"""Options that would do nothing where they are given: refused in a line, for who gives one expects something of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from click.core import ParameterSource

from stitch.errors import SettingsError

_OF_A_MODEL = ("model", "base_url", "model_budget_tokens", "model_budget_usd")
_OF_LABELING = ("window", "asks", "stepwise", "label_program")
_WITHOUT_LABELS = ("dense", "lexical", "hybrid")
"""Retrievers that read no labels."""


def given_on_line(*names: str) -> list[str]:
    """Options of the running command that stand on its line, as they are written; none outside of one."""
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    return [
        parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name in names and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]


def refuse_idle(*names: str, reason: str, hint: str) -> None:
    """Refuse options of the running command that would do nothing.

    Raises:
        SettingsError: One of them stands on the line.
    """
    if idle := given_on_line(*names):
        raise SettingsError(f"{idle[0]} would do nothing: {reason}", hint=hint)


def labeled_by_model(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a command that labels: who says how a model is to label means that it does.

    Raises:
        SettingsError: Local labels are asked for in so many words, or there are no windows to have a size.
    """
    from stitch.config import load_settings

    loaded = load_settings(**settings).settings
    wanted = given_on_line(*_OF_LABELING) or (given_on_line(*_OF_A_MODEL) and loaded.statements != "model")
    labels = settings.get("labels")
    if wanted and labels == "local":
        refuse_idle(
            *_OF_LABELING, *_OF_A_MODEL, reason="local labels ask no model", hint="leave it out, or say --labels model"
        )
    if loaded.stepwise:
        refuse_idle(
            "window", reason="step by step there are no windows", hint="leave it out, or the setting 'stepwise'"
        )
    return {**settings, "labels": "model" if wanted else labels}


def awaiting_no_vectors(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a command that waits for no vector while it adds, unless somebody has said when these come."""
    from stitch.config import load_settings
    from stitch.ingest.snippets import EmbedMode

    loaded = load_settings(**settings).settings
    follow = EmbedMode.of(loaded.vectors, slow=loaded.embeds_slowly) is EmbedMode.AUTO
    return {**settings, "vectors": EmbedMode.AFTER.value} if follow else dict(settings)


def refuse_idle_model(settings: Mapping[str, Any]) -> None:
    """Refuse what says how a model is asked where nothing asks one.

    Raises:
        SettingsError: Such an option stands on the line.
    """
    of_a_model = [name for name in (*_OF_A_MODEL, "filter_program") if settings.get(name) is not None]
    if not given_on_line(*of_a_model, "filter"):
        return
    from stitch.config import load_settings
    from stitch.parts import asks_model

    loaded = load_settings(**settings).settings
    if loaded.retriever in _WITHOUT_LABELS:
        refuse_idle(
            "filter", *of_a_model,
            reason=f"{loaded.retriever!r} searches without labels", hint="leave it out, or --retriever",
        )  # fmt: skip
    if not asks_model(loaded):
        unnamed = loaded.model is None
        refuse_idle(
            *of_a_model,
            reason="no model is named" if unnamed else "rules choose the labels of questions",
            hint="name one with --model" if unnamed else "leave it out, or --filter local",
        )  # fmt: skip

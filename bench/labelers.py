"""The labelers that a suite can be run with, by name."""

from __future__ import annotations

from stitch.core import Labeler
from stitch.errors import SettingsError

LABELERS = ("local", "model")


def labeler_named(name: str) -> Labeler:
    """The labeler of this name.

    Raises:
        SettingsError: It is not known, or needs a model and none is configured.
    """
    if name == "local":
        from stitch.label.local import LocalLabeler

        return LocalLabeler()
    raise SettingsError(f"labels {name!r} need a language model", hint="use --labels local")

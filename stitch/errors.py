"""Everything that `stitch` raises on purpose.

One tree below `StitchError`: `except StitchError` is enough for a caller who only wants to report. Every error says in
one line what happened and where; `hint` names the next command, where there is one; `exit_code` is the status with
which the command ends when it reaches it.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import ClassVar

_NAMES_SHOWN = 5
_MESSAGE_CHARS = 4000


class StitchError(Exception):
    """Base of all errors of this library.

    Args:
        message: What happened and where, in one line. What quotes an argument without end is cut in the middle.
        hint: What to do next, ideally a command. Empty when nothing can be advised.
    """

    exit_code: ClassVar[int] = 1

    def __init_subclass__(cls, *, exit_code: int | None = None) -> None:
        super().__init_subclass__()
        cls.exit_code = cls.exit_code if exit_code is None else exit_code

    def __init__(self, message: str, *, hint: str = "") -> None:
        if len(message) > _MESSAGE_CHARS:
            message = f"{message[: _MESSAGE_CHARS // 2]} … {message[-_MESSAGE_CHARS // 4 :]}"
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:  # a traceback prints it below the message, from Python 3.11 on
            self.__notes__ = [f"hint: {_in_python(hint)}"]


def _in_python(hint: str) -> str:
    """A hint with the arguments of Python in the place of options: `model=` for `--model`; commands stay."""
    parts = hint.split("`")
    for place, said in enumerate(parts):
        if place % 2 == 0 and "stitch " not in said:
            parts[place] = _OPTION.sub(lambda option: option[1].replace("-", "_") + "=", said)
    return "`".join(parts)


_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]+)")


class InputError(StitchError, exit_code=2):
    """An input that cannot be used."""


class StepRejectedError(InputError, exit_code=3):
    """One step cannot be accepted; nothing of it was written."""


class StepConflictError(StepRejectedError):
    """A step has the id of another one, whose content it is not."""


class EditRefusedError(InputError, exit_code=3):
    """Edits of a tree cannot be made, or break its schema; none of them was made."""


class SettingsError(StitchError, exit_code=2):
    """Settings contradict each other or do not parse."""


class ScopeError(StitchError, exit_code=2):
    """A read or write names no tenant, or one this memory may not touch."""


class ConflictError(StitchError, exit_code=4):
    """A conflicting change: what was to be changed has been changed by another."""


class JournalError(StitchError, exit_code=5):
    """The journal cannot be read or written."""


class StoreError(StitchError, exit_code=5):
    """The snippet store failed."""


class StoreLockedError(StoreError, exit_code=4):
    """Another process owns this memory."""


class OwnerLostError(StoreError):
    """The process that had the memory open ended before it answered; what was asked may be done, or not."""


class ForkedProcessError(StitchError, exit_code=4):
    """A fork uses what its parent process has open."""


class StoreMismatchError(StoreError, exit_code=4):
    """The memory was written with another embedder or another schema."""


class ReadOnlyError(StoreError):
    """The memory lies where nothing can be written; it can be read.

    Args:
        folder: Where it is.
    """

    def __init__(self, folder: str) -> None:
        super().__init__(
            f"the memory {folder!r} lies where nothing can be written: it can only be read",
            hint="free 128 MB of its disk, change its permissions, or copy the folder to another disk",
        )


class StoreUnavailableError(StoreError):
    """The Qdrant server does not answer."""


class EmbedderError(StitchError):
    """Texts could not be turned into vectors."""


class CanceledError(StitchError):
    """A call given up because its caller has left; nothing was changed."""


class CallInterruptedError(StitchError):
    """A call of a model was given up, for the memory is about to be closed; steps that wait for labels still wait."""


class ModelError(StitchError, exit_code=6):
    """A language model could not be used."""


class ModelUnavailableError(ModelError):
    """The provider is down, refuses, or is not configured."""


class ReplyError(ModelError):
    """The model's reply cannot be used: cut off, unparsable, or naming what does not exist."""


class CutReplyError(ReplyError):
    """The model's reply holds no whole JSON; parts of it may be.

    Args:
        message: What happened.
        said: The reply.
    """

    def __init__(self, message: str, *, said: str) -> None:
        super().__init__(message)
        self.said = said


class BudgetSpentError(ModelError):
    """The configured limit of tokens or money is reached; everything accepted so far is kept."""


def no_trajectory(name: str, known: Sequence[str]) -> InputError:
    """The error of a trajectory that is not there; it names what there is.

    Args:
        name: What was asked for.
        known: The trajectories of the tenant.
    """
    there = f"there are {some_of(known)}; `stitch show` draws them" if known else "nothing is stored for the tenant yet"
    return InputError(f"no trajectory {name!r} in this memory", hint=there)


def install_command(requirement: str) -> str:
    """The command that installs something into the environment of this interpreter, as a hint names it.

    Of `stitch-memory[EXTRA]`, pip and uv read the extra from the distribution that is installed, be it a checkout or a
    wheel: what is not on an index can be completed all the same.

    Args:
        requirement: What to install; several, with a space between them.
    """
    pip = [sys.executable, "-m", "pip", "install"]
    if find_spec("pip") is None:  # an environment that uv made
        pip = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join(pip) + "".join(f' "{part}"' for part in requirement.split())


def require_extra(extra: str, *, package: str, needed_by: str) -> None:
    """Check that a package of an extra is installed, before the work begins that needs it.

    Args:
        extra: The extra of `stitch-memory` that brings the package.
        package: The name under which it is imported.
        needed_by: What needs it, as the message says it.

    Raises:
        SettingsError: It is not installed; the hint is the command that installs the extra.
    """
    if find_spec(package) is None:
        raise SettingsError(
            f"{needed_by} needs the package {package!r} of the extra {extra!r}",
            hint=install_command(f"stitch-memory[{extra}]"),
        )


def missing_extra(extra: str, *, needed_by: str) -> ImportError:
    """The error of a module that is imported without the package it is for, with the command that installs that.

    Args:
        extra: The extra of `stitch-memory` that brings the package; `google-adk` is a package of its own.
        needed_by: The module.
    """
    name = extra if extra == "google-adk" else f"stitch-memory[{extra}]"
    return ImportError(f"{needed_by} needs a package that is not installed: {install_command(name)}", name=needed_by)


def some_of(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    more = len(names) - _NAMES_SHOWN
    return ", ".join(map(repr, names[:_NAMES_SHOWN])) + (f" and {more} more" if more > 0 else "")


def system_reason(error: OSError) -> str:
    """The reason that the system gives for an error, in small letters."""
    return (error.strerror or str(error)).lower()


@contextmanager
def system_errors(kind: type[StitchError], what: str, *, hint: str = "") -> Iterator[None]:
    """Raise an `OSError` as an error of this library, which says what cannot be done, and the reason."""
    try:
        yield
    except OSError as error:
        raise kind(f"{what}: {system_reason(error)}", hint=hint) from error

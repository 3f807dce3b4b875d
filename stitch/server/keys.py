"""Keys: who may reach which tenant's memory, to do what, until when, for how much money.

A key is 256 random bits, so its SHA-256 cannot be tried out, and a slow digest such as scrypt, which protects what
people make up, would bring nothing and cost each request tens of milliseconds. Nobody can read a key from the file.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stitch.core import tenant_name
from stitch.core.files import read_bounded, replace_file
from stitch.errors import InputError, ScopeError, SettingsError, system_reason
from stitch.server.operations.operation import Action
from stitch.store.owner import Ownership

if TYPE_CHECKING:
    from collections.abc import Iterator

ACTIONS: tuple[Action, ...] = get_args(Action)
"""What a key can allow; none of them includes another."""

_FORM = re.compile(r"stitch_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_YEAR_10000 = 253402300800
"""Its first moment, in Unix seconds: no time from then on can be written down."""
_MOST_BYTES = 1 << 24
_log = logging.getLogger(__name__)


class Caller(BaseModel, frozen=True):
    """Whoever asks, and what may be done for them."""

    id: str = ""
    """The part of a key that may be shown; empty without keys."""
    tenant: str
    """Whose memory is asked; nothing in a request can name another."""
    actions: tuple[Action, ...] = ACTIONS
    spend_usd: float | None = Field(default=None, gt=0)
    """How much calls of a model may cost that this leads to; None for no ceiling."""

    def check(self, action: Action) -> None:
        """Refuse what the key does not allow.

        Raises:
            ScopeError: It does not allow this.
        """
        if action not in self.actions:
            raise ScopeError(
                f"key {self.id} does not allow {action!r}, only {', '.join(self.actions)}",
                hint=f"`stitch keys add --action {action}` makes one that does",
            )


class Key(Caller, frozen=True, extra="forbid"):
    """A key as it is kept."""

    id: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    """Of the whole key, in hexadecimal digits."""
    actions: tuple[Action, ...]
    made: float = Field(ge=0, lt=_YEAR_10000)
    """Unix seconds."""
    expires: float | None = Field(default=None, ge=0, lt=_YEAR_10000)
    """Unix seconds; None for never."""
    note: str = ""
    """Who has it, in words."""

    def expired(self, now: float) -> bool:
        """Whether it is past its time."""
        return self.expires is not None and now >= self.expires


class _KeyList(BaseModel):
    """The content of a file of keys."""

    model_config = ConfigDict(extra="forbid")

    version: Literal[1] = 1
    keys: tuple[Key, ...] = ()


class MadeKey(NamedTuple):
    """A new key."""

    text: str
    """What a client sends. It is shown once, and stands nowhere."""
    key: Key


def make_key(
    tenant: str,
    *,
    actions: Sequence[Action],
    now: float,
    expires: float | None = None,
    spend_usd: float | None = None,
    note: str = "",
) -> MadeKey:
    """Draw a key.

    Raises:
        ScopeError: This can be no tenant.
        InputError: It would allow nothing, or expire in no year that can be written down.
    """
    if not actions:
        raise InputError("a key without actions opens nothing", hint=f"name some of {', '.join(ACTIONS)}")
    if expires is not None and not 0 <= expires < _YEAR_10000:
        raise InputError("a key expires in the years 1970 to 9999", hint="without an expiry it never does")
    short = secrets.token_hex(4)
    text = f"stitch_{short}_{secrets.token_urlsafe(32)}"
    kept = Key(
        id=short,
        sha256=_digest(text),
        tenant=tenant_name(tenant),
        actions=tuple(each for each in ACTIONS if each in actions),
        made=now,
        expires=expires,
        spend_usd=spend_usd,
        note=note,
    )
    return MadeKey(text, kept)


class KeyFile:
    """The file in which keys are kept, changed by the command and read by a server that runs.

    It need not be there. Safe for threads.
    """

    def __init__(self, path: str | Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path, self._clock = Path(path), clock
        self._known: tuple[tuple[int, ...], Mapping[str, Key]] = ((), {})
        """The keys by id, and the state of the file in which they were read."""

    def find(self, text: str) -> Key | None:
        """The key that a client sent; None if it is none, revoked or expired.

        The file is read again when it has changed; one that is gone, or cannot be used any more, opens nothing.
        """
        if (stamp := self._stamp()) != self._known[0]:
            try:
                self._known = (stamp, {key.id: key for key in self.read()})
            except SettingsError as error:
                _log.warning("no key opens anything until this is mended: %s", error)
                self._known = (stamp, {})
        form = _FORM.fullmatch(text)
        key = self._known[1].get(form[1]) if form else None
        if key is None or not hmac.compare_digest(key.sha256, _digest(text)) or key.expired(self._clock()):
            return None
        return key

    def read(self) -> tuple[Key, ...]:
        """All keys, the oldest first; none if there is no file.

        Raises:
            SettingsError: It cannot be read, is no list of keys, or others than its owner can write it.
        """
        try:
            content, mode = read_bounded(self.path, most_bytes=_MOST_BYTES), self.path.stat().st_mode
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._unreadable(system_reason(error)) from error
        if sys.platform != "win32" and mode & 0o022:
            raise self._unreadable("others can write it", hint=f"chmod 600 {self.path}")
        try:
            return _KeyList.model_validate_json(content).keys
        except ValidationError as error:
            raise self._unreadable(str(error.errors()[0]["msg"]).lower()) from None

    def add(self, key: Key) -> None:
        """Keep one more.

        Raises:
            SettingsError: The file cannot be read or written.
            StoreLockedError: Another command is changing it.
        """
        with self._alone():
            self._write((*self.read(), key))

    def revoke(self, named: str) -> Key:
        """Remove one, by its id or by the whole of it; from the next request on it opens nothing.

        Raises:
            InputError: There is none of this id.
            SettingsError: The file cannot be read or written.
            StoreLockedError: Another command is changing it.
        """
        found = _FORM.fullmatch(named)
        short = found[1] if found else named
        with self._alone():
            keys = self.read()
            gone = [key for key in keys if key.id == short]
            if not gone:
                raise InputError(f"no key {short!r} in {str(self.path)!r}", hint="`stitch keys list` names those there")
            self._write([key for key in keys if key.id != short])
        return gone[0]

    def _stamp(self) -> tuple[int, ...]:
        """Changes when the file does."""
        try:
            about = self.path.stat()
        except OSError:
            return ()
        return about.st_ino, about.st_mtime_ns, about.st_size, about.st_mode

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other commands from writing meanwhile what they read before."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        owner = Ownership(lock, what=f"the file of keys {str(self.path)!r}")
        try:
            yield
        finally:
            owner.release()

    def _write(self, keys: Sequence[Key]) -> None:
        """Put a whole new file in the place of the old one: who reads it has the one or the other."""
        try:
            replace_file(self.path, _KeyList(keys=tuple(keys)).model_dump_json(indent=1).encode() + b"\n")
        except OSError as error:
            raise SettingsError(
                f"the file of keys {str(self.path)!r} cannot be written: {system_reason(error)}",
                hint="name another with --keys",
            ) from error

    def _unreadable(self, why: str, *, hint: str = "") -> SettingsError:
        return SettingsError(
            f"the file of keys {str(self.path)!r} cannot be used: {why}",
            hint=hint or "`stitch keys add` makes one",
        )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

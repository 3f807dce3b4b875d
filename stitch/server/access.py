"""Access by key, and without keys by the machine itself, for which no page of another origin may speak."""

from __future__ import annotations

import ipaddress
from hmac import compare_digest
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from typing_extensions import override

from stitch.errors import SettingsError
from stitch.server.errors import RefusalError
from stitch.server.keys import Caller
from stitch.server.protocol import TENANT

if TYPE_CHECKING:
    from starlette.datastructures import Headers

    from stitch.server.keys import KeyFile


class Access:
    """Decides who a request comes from. The tenant is the key's; nothing else in a request can name one.

    Without keys, whoever reaches the machine's own address is served as one tenant. Then the `Host` has to be a name of
    the machine, or a foreign name that was bound to its address would let any page of the web ask (DNS rebinding).
    Without keys a tenant's memory is served to everybody.

    Raises:
        SettingsError: Others could reach the address, and there are no keys; or the file of keys holds none.
    """

    def __init__(self, keys: KeyFile | None, *, tenant: str, host: str) -> None:
        if keys is None and not is_loopback(host):
            raise SettingsError(
                f"without keys nothing but this machine is served, and {host!r} can be reached from outside",
                hint="`stitch keys add --keys FILE --tenant NAME` makes a key; then serve with --keys FILE",
            )
        if keys is not None and not keys.read():
            raise SettingsError(
                f"there are no keys in {str(keys.path)!r}",
                hint=f"stitch keys add --keys {keys.path} --tenant NAME --action read --action write",
            )
        self._keys, self._machine = keys, Caller(tenant=tenant)

    @property
    def keyed(self) -> bool:
        """Whether a key is needed."""
        return self._keys is not None

    def caller(self, headers: Headers, *, opened: bool = False) -> Caller | None:
        """The caller of a request.

        Args:
            headers: Of the request.
            opened: Whether the path tells nothing of any tenant, and asks for no key; then it is nobody.

        Raises:
            RefusalError: A page of another origin asks; or there is no key, or it opens nothing.
        """
        self._check_origin(host=headers.get("host"), origin=headers.get("origin"))
        if self._keys is None:
            return self._machine
        if opened:
            return None
        scheme, _, text = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not text.strip():
            hint = "set STITCH_KEY, or send the header Authorization: Bearer KEY"
            raise _unauthorized("KeyNeeded", "this server asks for a key", hint)
        key = self._keys.find(text.strip())
        if key is None:
            hint = "`stitch keys list` says which there are"
            raise _unauthorized("KeyRefused", "the key is unknown, revoked or expired", hint)
        return key

    def _check_origin(self, *, host: str | None, origin: str | None) -> None:
        if self._keys is None and not is_loopback(_name(host or "")):
            raise RefusalError(
                HTTPStatus.MISDIRECTED_REQUEST,
                "ForeignHost",
                "the header Host names another machine than this one",
                hint="without keys ask http://127.0.0.1 or http://localhost; with keys any name is served",
            )
        if origin is None:  # what is no page sends none
            return
        scheme, _, authority = origin.partition("://")
        own = authority == host if self._keys is not None else is_loopback(_name(authority))
        if not own or scheme not in ("http", "https"):
            raise RefusalError(
                HTTPStatus.FORBIDDEN,
                "ForeignOrigin",
                "a page of another origin may not ask",
                hint="ask from a program, or from a page of this server",
            )


class FolderAccess(Access):
    """Lets in whoever can open the socket in a memory's folder: they may read its files, and name any tenant.

    Args:
        token: What has to be known where the socket is a port of this machine; else empty.
        tenant: Whose memory is asked where none is named.
    """

    def __init__(self, *, token: str, tenant: str) -> None:
        super().__init__(None, tenant=tenant, host="localhost")
        self._token, self._tenant = token, tenant

    @override
    def caller(self, headers: Headers, *, opened: bool = False) -> Caller | None:
        given = headers.get("authorization", "").removeprefix("Bearer ")
        if not compare_digest(given.encode(), self._token.encode()):
            hint = "only its owner's folder says it"
            raise _unauthorized("KeyRefused", "the token is not that of this memory", hint)
        return Caller(tenant=unquote(headers.get(TENANT, self._tenant)))


def is_loopback(host: str) -> bool:
    """Whether a name or an address is that of the machine itself, which nobody else reaches."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _name(authority: str) -> str:
    """The host of `host:port`, without the brackets of an address; empty if this is anything else."""
    try:
        parts = urlsplit(f"//{authority}")
        named = parts.port is None or parts.port  # a port that is none is refused here
    except ValueError:
        return ""
    return parts.hostname or "" if named and parts.netloc == authority and "@" not in authority else ""


def _unauthorized(error: str, message: str, hint: str) -> RefusalError:
    return RefusalError(HTTPStatus.UNAUTHORIZED, error, message, hint=hint, headers={"WWW-Authenticate": "Bearer"})

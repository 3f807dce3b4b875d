"""`stitch keys`: make, list and revoke the keys of a server."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, cast

import click

from stitch.console.options import age_s, json_option
from stitch.console.printing import one_line, print_json
from stitch.errors import InputError
from stitch.server.keys import ACTIONS, KeyFile, make_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from stitch.server.keys import Key
    from stitch.server.operations.operation import Action

    Command = TypeVar("Command", bound=Callable[..., Any])


def _file_option(command: Command) -> Command:
    return click.option("--keys", "file", metavar="FILE", required=True, help="The file of keys.")(command)


@click.group()
def group() -> None:
    """Create, list and revoke the keys with which clients reach `stitch serve`.

    A running server applies every change at once.

    \b
    Example:
      stitch keys add --keys keys.json --tenant ann --action read --action write --expires 90d
      stitch keys list --keys keys.json
    """


@group.command()
@_file_option
@click.option("--tenant", metavar="NAME", required=True, help="The tenant whose memory it opens.")
@click.option("--action", "actions", type=click.Choice(ACTIONS), multiple=True, default=("read", "write"),
              show_default=True, help="An action that it allows; repeatable.")  # fmt: skip
@click.option(
    "--expires", metavar="AGE|TIME", help="After 90d (or w, h, m), or at 2027-01-31T12:00Z.  [default: never]"
)
@click.option("--spend-usd", type=click.FloatRange(min=0, min_open=True), metavar="N",
              help="Budget in dollars for model calls made with it.  [default: no limit]")  # fmt: skip
@click.option("--note", metavar="TEXT", default="", help="A note on its holder, for `stitch keys list`.")
@json_option
def add(*, as_json: bool, file: str, tenant: str, actions: tuple[str, ...], expires: str | None,
        spend_usd: float | None, note: str) -> None:  # fmt: skip
    """Create a key and print it. It is shown only once; the file keeps a digest of it.

    \b
    Example:
      stitch keys add --keys keys.json --tenant ann --action read --note "the report"
    """
    now = time.time()
    made = make_key(
        tenant,
        actions=[cast("Action", each) for each in actions],
        now=now,
        expires=None if expires is None else _moment(expires, now=now),
        spend_usd=spend_usd,
        note=one_line(note),
    )
    KeyFile(file).add(made.key)
    if as_json:
        print_json({"key": made.text, **_row(made.key, now=now)})
    else:
        click.echo(made.text)
        click.echo(f"key {made.key.id} is kept in {file} as a digest; this is the only time it is shown", err=True)


@group.command("list")
@_file_option
@json_option
def list_(*, as_json: bool, file: str) -> None:
    """List the keys: their ids, tenants, actions and expiry, never the keys themselves.

    \b
    Example:
      stitch keys list --keys keys.json
    """
    now = time.time()
    rows = [_row(key, now=now) for key in KeyFile(file).read()]
    if as_json:
        print_json({"keys": rows})
        return
    for row in rows:
        until = (
            "never expires"
            if row["expires"] is None
            else f"{'expired' if row['expired'] else 'until'} {row['expires']}"
        )
        ceiling = "" if row["spend_usd"] is None else f", at most ${row['spend_usd']:g}"
        note = f"  {row['note']}" if row["note"] else ""
        click.echo(f"{row['id']}  {row['tenant']}  {' '.join(row['actions'])}  {until}{ceiling}{note}")
    if not rows:
        click.echo(f"stitch: there are no keys in {file}; `stitch keys add` makes one", err=True)


@group.command()
@click.argument("key")
@_file_option
@json_option
def revoke(*, as_json: bool, key: str, file: str) -> None:
    """Revoke the key with the id KEY: the next request with it is refused.

    \b
    Example:
      stitch keys revoke 4f2a9c01 --keys keys.json
    """
    gone = KeyFile(file).revoke(key)
    if as_json:
        print_json({"revoked": gone.id, "tenant": gone.tenant})
    else:
        click.echo(f"key {gone.id} of tenant {gone.tenant} is revoked")


def _row(key: Key, *, now: float) -> dict[str, Any]:
    """The part of a key that may be shown."""
    return {
        **key.model_dump(mode="json", exclude={"sha256"}),
        "made": _written(key.made),
        "expires": None if key.expires is None else _written(key.expires),
        "expired": key.expired(now),
    }


def _written(moment: float) -> str:
    return datetime.fromtimestamp(moment, timezone.utc).isoformat(timespec="seconds")


def _moment(text: str, *, now: float) -> float:
    """Unix seconds of a time, or of an age from now on; a time without a zone is in UTC."""
    if (age := age_s(text)) is not None:
        return now + age
    try:
        read = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        raise InputError(f"expiry {text!r} is not understood", hint="write 90d, 12h, or 2027-01-31T12:00Z") from None
    moment = read.replace(tzinfo=read.tzinfo or timezone.utc).timestamp()
    if moment <= now:
        raise InputError(f"expiry {text!r} has passed", hint="write 90d, 12h, or a time to come")
    return moment

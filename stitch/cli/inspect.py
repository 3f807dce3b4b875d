"""`stitch inspect`."""

from __future__ import annotations

import threading
import webbrowser
from typing import TYPE_CHECKING

import click

from stitch.console.options import memory_options

if TYPE_CHECKING:
    from stitch.server.events import EventFeed
    from stitch.tenants import Tenants


@click.command()
@memory_options
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, metavar="N", help="The port to listen on.  [default: any]"
)
@click.option("--browser/--no-browser", default=True, help="Open a browser, or only print the address.")
def command(*, memory: str | None, tenant: str | None, config: str | None, port: int, browser: bool) -> None:
    """Open a memory in a browser: what it knows, why it answered, and what to correct.

    Only this machine is served, until Ctrl-C. A memory that another process has open is used through that one.

    \b
    Example:
      stitch inspect --memory trip.memory
      stitch inspect --memory trip.memory --no-browser
    """
    from stitch.config import load_settings
    from stitch.server.access import Access
    from stitch.server.app import create_app
    from stitch.server.events import EventFeed
    from stitch.server.running import Server, listen, url_of

    own = load_settings(config, memory=memory, tenant=tenant).settings.tenant
    feed, listening = EventFeed(), listen("127.0.0.1", port)
    url = url_of(listening)

    def say() -> None:
        click.echo(f"{url}/ shows the memory; Ctrl-C ends it", err=True)
        if browser:  # one that is begun in the terminal returns when it ends
            threading.Thread(target=_show, args=(f"{url}/",), daemon=True).start()

    try:
        with _opened(memory, config=config, feed=feed) as tenants:
            app = create_app(tenants, access=Access(None, tenant=own, host="127.0.0.1"), feed=feed)
            try:
                Server(app, ready=say).serve_on(listening)
            finally:
                app.state.served.threads.close()
    finally:
        listening.close()


def _show(url: str) -> None:
    if not webbrowser.open(url):
        click.echo("stitch: no browser was found; open the address above in one", err=True)


def _opened(memory: str | None, *, config: str | None, feed: EventFeed) -> Tenants:
    """The memory, or the way to the process that has it open, which tells its own observers what happens."""
    from stitch.errors import StoreLockedError
    from stitch.factory import open_tenants

    try:
        return open_tenants(memory, config=config, must_exist=True, observers=(feed,))
    except StoreLockedError:
        return open_tenants(memory, config=config, must_exist=True)

"""`stitch serve`."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from stitch.cli.server_log import WithoutText
from stitch.console.idle import refuse_idle_model
from stitch.console.options import json_option, memory_options, model_options

if TYPE_CHECKING:
    from stitch.adapters.mcp import McpOverHttp


@click.command()
@memory_options
@click.option("--host", default="127.0.0.1", show_default=True, metavar="NAME", help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8765, show_default=True, metavar="N",
              help="The port; 0 takes any that is free.")  # fmt: skip
@click.option("--keys", "key_file", metavar="FILE", help="Keys of `stitch keys`; without, only this machine is served.")
@click.option("--labels", type=click.Choice(["local", "model"]), help="The labeler.  [default: local]")
@click.option("--filter", type=click.Choice(["auto", "local", "model"]),
              help="The chooser of the labels of questions.  [default: auto, the model if one is named]")  # fmt: skip
@model_options
@click.option("--retention-every-h", type=click.FloatRange(min=0, min_open=True), metavar="N",
              help="Apply the retention rules of the settings every N hours.")  # fmt: skip
@click.option("--backup-every-h", type=click.FloatRange(min=0, min_open=True), metavar="N",
              help="Make a backup every N hours, in --backup-to.")  # fmt: skip
@click.option("--backup-to", metavar="FOLDER", help="The folder of the backups.")
@click.option("--keep", type=click.IntRange(min=1), metavar="N", help="The number of backups to keep.  [default: all]")
@json_option
def command(
    *, as_json: bool, host: str, port: int, key_file: str | None, memory: str | None, tenant: str | None,
    config: str | None, **settings: Any,
) -> None:  # fmt: skip
    """Serve a memory over HTTP until Ctrl-C or SIGTERM; what was accepted by then is finished,
    and the exit status is 0.

    REST is at /v1 and described at /openapi.json, events are at /v1/events, tools at /mcp, metrics at /metrics.
    Without --keys only this machine is served, as the tenant that --tenant names; with keys each request is the
    tenant's whose key it has. There is no TLS: put a proxy before it where the network is not your own.

    \b
    Example:
      stitch serve --memory trip.memory --port 8765
      stitch serve --memory trip.memory --host 0.0.0.0 --keys keys.json
    """
    from stitch.config import ServeOptions, load_settings
    from stitch.factory import open_tenants
    from stitch.server.access import Access
    from stitch.server.app import create_app
    from stitch.server.events import EventFeed
    from stitch.server.keys import KeyFile
    from stitch.server.metrics import Metrics
    from stitch.server.running import Server, listen, url_of
    from stitch.server.scheduled_jobs import ScheduledJobs

    own = {name: settings.pop(name) for name in ServeOptions.model_fields}
    refuse_idle_model({"config": config, **settings})
    loaded = load_settings(config, memory=memory, tenant=tenant, **settings).settings
    options = loaded.serve.model_copy(update={name: value for name, value in own.items() if value is not None})
    keys = None if key_file is None else KeyFile(key_file)
    access = Access(keys, tenant=loaded.tenant, host=host)
    feed, metrics = EventFeed(), Metrics()
    click.get_current_context().with_resource(_logged_to_standard_error())
    listening = listen(host, port)
    try:
        tenants = open_tenants(memory, config=config, observers=(feed, metrics), **settings)
    except BaseException:
        listening.close()
        raise
    finish = False
    try:
        app = create_app(tenants, access=access, feed=feed, metrics=metrics, mcp=_mcp())
        jobs = ScheduledJobs(tenants, options)
        jobs.start()
        try:
            Server(app, ready=lambda: _say_ready(url_of(listening), as_json=as_json)).serve_on(listening)
            finish = loaded.labels == "local"  # a model is not waited for: who opens the memory next goes on with it
        finally:
            app.state.served.threads.close()
            jobs.stop()
    finally:
        tenants.close(finish=finish)


def _mcp() -> type[McpOverHttp] | None:
    """The Model Context Protocol, where its extra is installed."""
    if find_spec("mcp") is None:
        return None
    from stitch.adapters.mcp import McpOverHttp

    return McpOverHttp


def _say_ready(url: str, *, as_json: bool) -> None:
    """Say where the server is reached, now that it is."""
    if as_json:
        import orjson

        from stitch.server.app import MCP_PATH

        mcp = None if _mcp() is None else f"{url}{MCP_PATH}"
        click.echo(orjson.dumps({"url": url, "mcp": mcp, "pid": os.getpid()}).decode())
        sys.stdout.flush()
    else:
        click.echo(f"serving at {url}; Ctrl-C ends it", err=True)


@contextmanager
def _logged_to_standard_error() -> Iterator[None]:
    """Show what goes wrong; a program that uses the library decides for itself, the command is such a program.

    The root has the same form: what other packages log of a request would show what it says (MCP names the prompt that
    is not there).
    """
    handler = logging.StreamHandler()
    handler.setFormatter(WithoutText())
    levels = {"": logging.WARNING, "stitch": logging.INFO, "stitch.events": logging.WARNING}
    levels["uvicorn.error"] = logging.ERROR
    logs = {name: logging.getLogger(name) for name in levels}
    before = [(log, log.level, log.handlers, log.propagate) for log in logs.values()]
    for name, log in logs.items():
        log.setLevel(levels[name])
    for name in ("", "stitch", "uvicorn.error"):
        logs[name].handlers, logs[name].propagate = [handler], False
    try:
        yield
    finally:
        for log, level, handlers, propagate in before:
            log.setLevel(level)
            log.handlers, log.propagate = handlers, propagate

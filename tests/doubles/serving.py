"""A memory that is served over loopback by a thread of this process, and a client of it."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from functools import partial

from doubles.http import Client
from stitch import open_tenants
from stitch.server.serve.access import Access
from stitch.server.serve.app import Served, make_app
from stitch.server.serve.bodies import Limits
from stitch.server.serve.events import EventFeed
from stitch.server.serve.metrics import Metrics
from stitch.server.serve.running import Ends, listen, serve, url_of


@contextmanager
def _held(loop):
    waits, going_on = threading.Event(), threading.Event()

    def wait():
        waits.set()
        going_on.wait(120)

    loop.call_soon_threadsafe(wait)
    assert waits.wait(120)
    try:
        yield
    finally:
        going_on.set()


@contextmanager
def running(folder, *, keys=None, limits=None, tenant="default", settings=None, **options):
    """Serves a memory in a thread; gives a client, whose `end` ends it before."""
    feed, metrics = EventFeed(), Metrics()
    tenants = open_tenants(folder, observers=(feed, metrics), **(settings or {}))
    access = Access(keys, tenant=tenant, host="127.0.0.1")
    served = Served(tenants=tenants, access=access, feed=feed, metrics=metrics, limits=limits or Limits())
    listening, ready, ends = listen("127.0.0.1", 0), threading.Event(), Ends()
    client = Client(url_of(listening))
    client.served = served

    def begun():
        client.held = partial(_held, asyncio.get_running_loop())
        ready.set()

    def run():
        try:
            serve(make_app(served, **options), listening, served=served, ready=begun, ends=ends)
        finally:
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(120)

    def end():
        if thread.is_alive() or not served.closed:
            ends.now()
            thread.join()
            served.close()

    client.end = end
    try:
        yield client
    finally:
        end()

"""A memory that is served over loopback by a thread of this process, and a client of it."""

import threading
from contextlib import contextmanager

from doubles.http import Client
from stitch import open_tenants
from stitch.server.access import Access
from stitch.server.app import create_app
from stitch.server.events import EventFeed
from stitch.server.metrics import Metrics
from stitch.server.running import Server, listen, url_of


def app_of(tenants, *, keys=None, tenant="default", access=None, **options):
    """The application; `mcp` makes the tools at `/mcp`, whose schemas take longer than all the rest."""
    access = access or Access(keys, tenant=tenant, host="127.0.0.1")
    return create_app(tenants, access=access, **options)


@contextmanager
def running(folder, *, settings=None, **options):
    """Serves a memory in a thread; gives a client, whose `end` ends it before."""
    feed, metrics = EventFeed(), Metrics()
    tenants = open_tenants(folder, observers=(feed, metrics), **(settings or {}))
    app = app_of(tenants, feed=feed, metrics=metrics, **options)
    listening, ready = listen("127.0.0.1", 0), threading.Event()
    client = Client(url_of(listening))
    client.served = app.state.served
    server = Server(app, ready=ready.set)

    def run():
        try:
            server.serve_on(listening)
        finally:
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(120)

    def end():
        if thread.is_alive():
            server.should_exit = True
            thread.join()
            app.state.served.threads.close()
            tenants.close()

    client.end = end
    try:
        yield client
    finally:
        end()

"""A memory that is served over loopback by a thread of this process, and a client of it."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from stitch import open_tenants
from stitch.serve.access import Access
from stitch.serve.app import Served, make_app
from stitch.serve.bodies import Limits
from stitch.serve.events import EventFeed
from stitch.serve.metrics import Metrics
from stitch.serve.running import Ends, listen, serve, url_of


def say(content, **fields):
    """A step of the user."""
    return {"role": "user", "content": content, **fields}


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def lines(self):
        return [json.loads(line) for line in self.body.splitlines()]


class Client:
    """Speaks HTTP with one server; each call has a connection of its own."""

    served: Any
    """What is served, where that is in this process."""
    end: Any
    """Ends the server."""
    held: Any
    """Meanwhile, the server takes no connection and reads nothing; where it is in this process."""
    id: str
    file: Any
    """Of its key."""

    def __init__(self, url, *, key=None):
        self.url, self.key = url, key
        self.host, self.port = urlsplit(url).hostname, urlsplit(url).port

    def connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=120)

    def send(self, method, path, body=None, **headers):
        """The connection, with a request sent on it."""
        connection = self.connect()
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.key:
            headers.setdefault("Authorization", f"Bearer {self.key}")
        connection.request(method, path, body=body, headers=headers)
        return connection

    def ask(self, method, path, body=None, **headers):
        connection = self.send(method, path, body, **headers)
        try:
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def post(self, path, body, **headers):
        return self.ask("POST", path, json.dumps(body), **{"Content_Type": "application/json", **headers})

    def add(self, *texts, trajectory="t"):
        answer = self.post("/v1/steps", {"trajectory": trajectory, "steps": [say(text) for text in texts]})
        assert answer.status == 200, answer.body
        return answer.json["receipts"]

    def lines(self, lines, query="?trajectory=t"):
        body = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
        return self.ask("POST", f"/v1/stream{query}", body, Content_Type="application/x-ndjson")

    @contextmanager
    def events(self, **headers):
        """Events as they come, each as (id, name, data)."""
        connection = self.send("GET", "/v1/events", **headers)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        try:
            yield parsed(response)
        finally:
            response.close()
            connection.close()


def parsed(lines):
    event = {}
    for line in lines:
        text = line.decode().rstrip("\n")
        if text and not text.startswith(":"):
            name, _, value = text.partition(": ")
            event[name] = value
        elif event:
            yield event["id"], event["event"], json.loads(event["data"])
            event = {}


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

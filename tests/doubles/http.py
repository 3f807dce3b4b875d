"""A client that speaks HTTP with a server of a memory, wherever that is."""

import http.client
import json
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit


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

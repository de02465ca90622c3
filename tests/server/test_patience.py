"""Clients that begin a request and fall silent are let go, wherever they stop."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import msgspec
import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from stepscope.errors import UsageError
from stepscope.facts.server import server_facts
from stepscope.server import patience
from stepscope.server.faults import Faults
from stepscope.server.replies import error_reply
from support.limits import HANGS_AFTER_S


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    answer: Response
    try:
        answer = PlainTextResponse(await request.body())
    except UsageError as error:
        answer = error_reply(error, request)
    await answer(scope, receive, send)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    hurried = msgspec.structs.replace(server_facts(), most_silent_seconds=1)
    monkeypatch.setattr(patience, "server_facts", lambda: hurried)
    config = uvicorn.Config(
        Faults(patience.Patience(_echo)), http=patience.PatientConnection, lifespan="off", log_level="warning"
    )
    server = uvicorn.Server(config)
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield listening.getsockname()
    finally:
        server.should_exit = True
        thread.join(HANGS_AFTER_S)
        listening.close()


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\nHost: a", b""),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123", b"408"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT", b"200"),
    ],
    ids=["no request", "half a head", "half a body", "half a second request"],
)
def test_the_connection_ends(place: tuple[str, int], sent: bytes, answer: bytes) -> None:
    with socket.create_connection(place, timeout=HANGS_AFTER_S) as client:
        client.sendall(sent)
        received = b""
        while piece := client.recv(1 << 16):  # until the server closes
            received += piece
    assert answer in received.partition(b"\r\n")[0]


def test_a_request_that_comes_in_time_is_answered(place: tuple[str, int]) -> None:
    with socket.create_connection(place, timeout=HANGS_AFTER_S) as client:
        for _ in range(3):
            client.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n")
            client.sendall(b"abc")
            received = b""
            while not received.endswith(b"\r\n\r\nabc"):
                piece = client.recv(1 << 16)
                assert piece, "the server closed the connection"
                received += piece

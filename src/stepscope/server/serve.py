"""Runs the server until it is stopped."""

from __future__ import annotations

import multiprocessing
import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from stepscope.errors import UsageError
from stepscope.server.settings import Settings

if TYPE_CHECKING:
    from stepscope.server.library import Library

_GRACE_SECONDS: Final = 2
_LOOK_AGAIN_SECONDS: Final = 0.05
_WAITING_CLIENTS: Final = 128
_MOST_CONNECTIONS: Final = 1_000  # a page holds up to six, one of them for events


def serve(settings: Settings, ready: Callable[[str], None]) -> None:
    """Listen and answer; ``ready`` gets the address, with the token where one is needed, once it can be opened."""
    import uvicorn

    from stepscope.server.app import create_app, new_library
    from stepscope.server.patience import PatientConnection

    listening = _listen(settings)
    settings = replace(settings, port=int(listening.getsockname()[1]))
    library = new_library(settings)
    config = uvicorn.Config(
        create_app(library),
        log_level="warning",
        access_log=False,
        server_header=False,
        http=PatientConnection,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = uvicorn.Server(config)
    ready(address(settings))
    try:
        server.run(sockets=[listening])
    finally:
        listening.close()
    _end_reading(library)


def _end_reading(library: Library) -> None:
    """Do not wait for the end of a long read: the store survives being interrupted.

    Without its worker processes a read ends by itself and releases what it holds; one that goes on in
    this process ends with it.
    """
    until = time.monotonic() + _GRACE_SECONDS
    while library.is_reading():
        for child in multiprocessing.active_children():
            child.terminate()
        if time.monotonic() > until:
            sys.stdout.flush()
            os._exit(0)
        time.sleep(_LOOK_AGAIN_SECONDS)


def address(settings: Settings) -> str:
    """Where a browser finds the page."""
    host = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(settings.host, settings.host)
    host = f"[{host}]" if ":" in host else host
    query = f"?{urlencode({'token': settings.token})}" if settings.token else ""
    return f"http://{host}:{settings.port}{settings.base_path}/{query}"


def _listen(settings: Settings) -> socket.socket:
    """Bind first, so that a port in use is a clear sentence and port 0 finds a free one."""
    try:
        family, *_, endpoint = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(endpoint)
            listening.listen(_WAITING_CLIENTS)  # a browser that comes early waits instead of being refused
        except OSError:
            listening.close()
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError("port_taken", port=settings.port, host=settings.host, reason=reason) from error
    return listening

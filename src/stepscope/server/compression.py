"""Compression for clients on other machines only: on this one it costs more than it saves."""

from __future__ import annotations

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from stepscope.server.settings import is_loopback


class CompressForOthers:
    def __init__(self, app: ASGIApp) -> None:
        self._plain = app
        self._compressed = GZipMiddleware(app, minimum_size=1024, compresslevel=1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        here = client is None or is_loopback(client[0])
        await (self._plain if here else self._compressed)(scope, receive, send)

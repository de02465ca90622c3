"""What nobody expected becomes an answer like any other: one request fails, and the server goes on."""

from __future__ import annotations

import os

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepscope.errors import internal, is_panic
from stepscope.server.replies import error_reply


class Faults:
    """Around the routes. Panics are no ``Exception``, and pass all handlers but this one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answered = False

        async def watched(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except BaseException as error:
            if os.environ.get("STEPSCOPE_DEBUG") or not (isinstance(error, Exception) or is_panic(error)):
                raise
            if not answered:
                await error_reply(internal(error), Request(scope))(scope, receive, send)

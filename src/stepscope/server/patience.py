"""Clients that begin a request and do not go on: each silence is bounded, in the head of a request and in its body."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from stepscope.errors import UsageError
from stepscope.facts.server import server_facts


class Patience:
    """Gives up a request whose body does not come."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        complete = False

        async def in_time() -> Message:
            nonlocal complete
            if complete:  # what comes now is that the client leaves
                return await receive()
            seconds = server_facts().most_silent_seconds
            try:
                message = await asyncio.wait_for(receive(), seconds)
            except TimeoutError:
                raise UsageError("request_too_slow", seconds=seconds) from None
            complete = not message.get("more_body", False)
            return message

        await self._app(scope, in_time, send)


class PatientConnection(H11Protocol):
    """Closes a connection whose next request does not arrive whole, head first."""

    _silence: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def _wait(self) -> None:
        """A head that comes byte by byte has as much time as one that does not come: the clock is not set back."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()  # the body has a clock of its own
        elif self._silence is None:
            self._silence = self.loop.call_later(server_facts().most_silent_seconds, self._give_up)

    def _give_up(self) -> None:
        self._silence = None
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()

    def _stop_waiting(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

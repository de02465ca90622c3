"""Answers as they were sent: asked again they are neither worked out nor encoded, and what a browser holds stays there.

An answer holds while the stored runs, their plans, and what was asked stay as they are. Thresholds and code do not
change while a server runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from stepscope.analysis.foundation.byte_cache import ByteCache
from stepscope.analysis.timeline.view import TimelineView
from stepscope.run import Run
from stepscope.server.replies import language_of

#: A run that can be asked.
Ready = tuple[Run, TimelineView]

#: The answers that all pages of a job of a thousand ranks ask for are 20 MB.
MOST_ANSWER_BYTES: Final = 128 << 20


@dataclass(frozen=True)
class _Sent:
    body: bytes
    tag: str


class SentAnswers:
    """JSON documents of all runs by what was asked."""

    def __init__(self) -> None:
        self._sent = ByteCache(MOST_ANSWER_BYTES)

    def reply(self, request: Request, runs: Sequence[Ready], encode: Callable[[], bytes]) -> Response:
        """The answer to a question about some runs, or about none; ``encode`` makes it the first time."""
        url = request.url
        asked = (url.path, url.query, language_of(request), *(_state(*each) for each in runs))
        sent: _Sent = self._sent.get(asked, lambda: _sent(encode()), lambda value: len(value.body))
        # A browser keeps the answer, and asks each time whether it still holds.
        headers = {"ETag": sent.tag, "Cache-Control": "no-cache", "Vary": "Accept-Language"}
        if sent.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(sent.body, media_type="application/json", headers=headers)


def _sent(body: bytes) -> _Sent:
    return _Sent(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def _state(run: Run, view: TimelineView) -> tuple[str, str, tuple[str, ...]]:
    plan = "" if run.store.workspace is None else run.store.workspace.stamp()
    return view.version, plan, tuple(run.windows)

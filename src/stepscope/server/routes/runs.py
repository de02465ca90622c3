"""The list of runs: open by path or by dropping a file, watch the progress, look at one, take one off the list."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from stepscope.server import uploads
from stepscope.server.descriptions import RunDetails, RunList, RunSummary, details, summary
from stepscope.server.documentation import AnswerTypes
from stepscope.server.library import Library
from stepscope.server.replies import json_reply, language_of
from stepscope.server.requests import OpenRequest
from stepscope.server.roots import Listing, below_roots, listing
from stepscope.store.run_labels import run_labels

_LOOK_AGAIN_SECONDS = 0.2


def router(library: Library, answers: AnswerTypes) -> APIRouter:
    """The routes of this file."""
    routes = APIRouter(tags=["runs"])
    settings = library.settings

    def document(lang: str) -> RunList:
        labels = run_labels()
        runs = [summary(entry, lang, labels) for entry in library.entries()]
        return RunList(library.revision, [str(root) for root in settings.roots], settings.upload_limit, runs)

    @routes.get("/runs", responses=answers.json(RunList))
    def runs(request: Request) -> Response:
        """All runs with their states."""
        return json_reply(document(language_of(request)))

    @routes.get("/runs/events", include_in_schema=False)
    async def events(request: Request) -> Response:
        """The list of runs again whenever it changes, as server-sent events."""

        async def stream() -> AsyncIterator[bytes]:
            seen = -1
            while not await request.is_disconnected():
                if library.revision != seen:
                    seen = library.revision
                    yield b"data: " + msgspec.json.encode(document(language_of(request))) + b"\n\n"
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)

        return StreamingResponse(stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    @routes.post("/runs", status_code=202, responses=answers.json(RunSummary, 202))
    def open_path(request: Request, wanted: OpenRequest) -> Response:
        """Open a capture below the roots; it is read in the background."""
        path = below_roots(wanted.path, settings.roots)
        return json_reply(summary(library.add(path, wanted.window), language_of(request)), 202)

    @routes.post(
        "/runs/upload",
        status_code=202,
        responses=answers.json(RunSummary, 202),
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            }
        },
    )
    async def upload(request: Request, name: Annotated[str, Query(min_length=1, max_length=1_000)]) -> Response:
        """Open a dropped file: its bytes are the body."""
        path = await uploads.receive(name, request.stream(), settings)
        return json_reply(summary(library.add(path, uploaded=True), language_of(request)), 202)

    @routes.get("/browse", responses=answers.json(Listing))
    def browse(path: Annotated[str | None, Query(max_length=4_096)] = None) -> Response:
        """What lies in a directory below the roots."""
        return json_reply(listing(path, settings.roots))

    @routes.get("/run/{run_id}", responses=answers.json(RunDetails))
    def run(request: Request, run_id: str) -> Response:
        """One run: its ranks, steps, notes, and which data there are."""
        run, view = library.ready(run_id)
        return json_reply(details(library.entry(run_id), run, view, language_of(request)))

    @routes.post("/run/{run_id}/open", status_code=202, responses=answers.json(RunSummary, 202))
    def open_again(request: Request, run_id: str) -> Response:
        """Read a run that waits, failed or has changed."""
        return json_reply(summary(library.open(run_id), language_of(request)), 202)

    @routes.delete("/run/{run_id}", status_code=204, responses=answers.nothing())
    def remove(run_id: str) -> Response:
        """Take a run off the list; captures are never touched."""
        library.remove(run_id)
        return Response(status_code=204)

    return routes

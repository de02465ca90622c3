"""Pictures of the proofs of a finding, small enough to be drawn beside its sentence: slices, or curves of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from stepscope.diagnosis.finding import Finding
from stepscope.diagnosis.pictures.memory import MemoryPicture, memory_pictures
from stepscope.diagnosis.pictures.proofs import ProofPicture
from stepscope.diagnosis.pictures.timeline import pictures_of
from stepscope.server.documentation import AnswerTypes
from stepscope.server.library import Library
from stepscope.server.replies import exact_for_javascript
from stepscope.server.routes.analyses import Integers
from stepscope.store.run_store import RunStore

FindingId = Annotated[str, Query(min_length=1, max_length=200)]


def router(library: Library, answers: AnswerTypes) -> APIRouter:
    """The routes of this file."""
    routes = APIRouter(prefix="/run/{run_id}", tags=["analyses"])

    @routes.get("/proof-pictures", responses=answers.document(list[ProofPicture]))
    def pictures(request: Request, run_id: str, finding: FindingId, integers: Integers = "number") -> Response:
        """The first proofs of a finding that a timeline can show; none for an unknown finding."""
        return _reply(library, request, run_id, finding, integers, pictures_of)

    @routes.get("/memory-pictures", responses=answers.document(list[MemoryPicture]))
    def memory_curves(request: Request, run_id: str, finding: FindingId, integers: Integers = "number") -> Response:
        """The curve of memory that proves a finding; none where it is about something else."""
        return _reply(library, request, run_id, finding, integers, memory_pictures)

    return routes


def _reply(
    library: Library,
    request: Request,
    run_id: str,
    finding: str,
    integers: str,
    draw: Callable[[RunStore, Sequence[Finding]], Any],
) -> Response:
    ready = run, _ = library.ready(run_id)

    def encode() -> bytes:
        chosen = [each for each in run.ask("diagnose").data.findings if each.id == finding]
        drawn = msgspec.to_builtins(draw(run.store, chosen))
        return msgspec.json.encode(exact_for_javascript(drawn) if integers == "text" else drawn)

    return library.sent.reply(request, [ready], encode)

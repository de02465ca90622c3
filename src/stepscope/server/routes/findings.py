"""Pictures of the proofs of a finding: the slices around them, few enough to be drawn beside its sentence."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from stepscope.diagnosis.proof_pictures import ProofPicture, proof_pictures
from stepscope.server.documentation import AnswerTypes
from stepscope.server.library import Library
from stepscope.server.replies import exact_for_javascript
from stepscope.server.routes.analyses import Integers


def router(library: Library, answers: AnswerTypes) -> APIRouter:
    """The routes of this file."""
    routes = APIRouter(prefix="/run/{run_id}", tags=["analyses"])

    @routes.get("/proof-pictures", responses=answers.document(list[ProofPicture]))
    def pictures(
        request: Request,
        run_id: str,
        finding: Annotated[str, Query(min_length=1, max_length=200)],
        integers: Integers = "number",
    ) -> Response:
        """The first proofs of a finding that a timeline can show; none for an unknown finding."""
        ready = run, _ = library.ready(run_id)

        def encode() -> bytes:
            chosen = [each for each in run.ask("diagnose").data.findings if each.id == finding]
            drawn = msgspec.to_builtins(proof_pictures(run.store, chosen))
            return msgspec.json.encode(exact_for_javascript(drawn) if integers == "text" else drawn)

        return library.sent.reply(request, [ready], encode)

    return routes

"""Two runs side by side, with the document that ``stepscope compare --json`` prints."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from stepscope.compare.comparison import Comparison
from stepscope.server.descriptions import NoteEntry, NoteGroupEntry
from stepscope.server.documentation import AnswerTypes
from stepscope.server.documents import RunHead, encoded_document
from stepscope.server.library import Library
from stepscope.server.routes.analyses import Integers, Ranks, Steps

RunId = Annotated[str, Query(min_length=1, max_length=200)]


class ComparedRuns(msgspec.Struct, frozen=True):
    """The runs of both sides."""

    a: RunHead
    b: RunHead


class CompareDocument(msgspec.Struct, frozen=True):
    """What changed from run ``a`` to run ``b``."""

    schema: str
    run: ComparedRuns
    notes: list[NoteEntry]
    note_groups: list[NoteGroupEntry]
    data: Comparison


def router(library: Library, answers: AnswerTypes) -> APIRouter:
    """The routes of this file."""
    routes = APIRouter(tags=["analyses"])

    @routes.get("/compare", responses=answers.document(CompareDocument))
    def compare(
        request: Request,
        a: RunId,
        b: RunId,
        rank_a: Ranks = None,
        rank_b: Ranks = None,
        step_a: Steps = None,
        step_b: Steps = None,
        integers: Integers = "number",
    ) -> Response:
        """Run ``b`` against run ``a``, which may be the same run with other ranks or steps."""
        sides = (first, _), (second, _) = library.ready(a), library.ready(b)

        def encode() -> bytes:
            comparison = first.compare(second, ranks=(rank_a, rank_b), steps=(step_a, step_b))
            described: dict[str, Any] = {"a": first.describe(), "b": second.describe()}
            notes = first.notes if first is second else [*first.notes, *second.notes]
            return encoded_document(request, "compare", described, notes, comparison, integers)

        return library.sent.reply(request, sides, encode)

    return routes

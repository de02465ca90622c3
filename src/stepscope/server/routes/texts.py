"""The sentences that the page shares with the commands: they stand in ``texts/`` and nowhere else."""

from __future__ import annotations

from typing import Final

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from stepscope.server.documentation import AnswerTypes
from stepscope.server.library import Library
from stepscope.server.replies import language_of
from stepscope.texts import catalogue

# Sections whose sentences are named by a value of an answer, such as the reason of a leak.
# What fields mean is in ``/questions``; notes and errors travel with their documents.
PAGE_SECTIONS: Final = (
    "compare_idle",
    "compare_part",
    "finding_kind",
    "finding_metric",
    "glossary",
    "glossary_term",
    "idle_cause",
    "leak_reason",
    "memory_cause",
    "memory_owner",
    "path_bound",
    "table",
)


def router(library: Library, answers: AnswerTypes) -> APIRouter:
    """The routes of this file."""
    routes = APIRouter(tags=["texts"])

    @routes.get("/texts", responses=answers.json(dict[str, str]))
    def texts(request: Request) -> Response:
        """Sentences by key (`section.name`) in one language (`lang`, else Accept-Language); values stand in braces."""
        lang = language_of(request)
        sections = catalogue()

        def encode() -> bytes:
            wanted = ((section, *item) for section in PAGE_SECTIONS for item in sections[section].items())
            return msgspec.json.encode({f"{section}.{name}": entry[lang] for section, name, entry in wanted})

        return library.sent.reply(request, [], encode)

    return routes

"""The documents that ``--json`` prints, as answers of the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from stepscope.report import json_document
from stepscope.run import Run
from stepscope.server.descriptions import NoteEntry, NoteGroupEntry
from stepscope.server.replies import exact_for_javascript, language_of
from stepscope.store.notes import Note


class RunHead(msgspec.Struct, frozen=True):
    """What every document says about its run."""

    path: str
    paths: list[str]
    window: str
    windows: list[str]
    ranks: list[int]
    readers: list[str]
    schema_version: int


def document_type(name: str, data: Any, beside: Mapping[str, Any] | None = None) -> Any:
    """The type of the document of one question, for its schema."""
    fields = [("schema", str), ("run", RunHead), ("notes", list[NoteEntry])]
    fields += [("note_groups", list[NoteGroupEntry]), ("data", data), *(beside or {}).items()]
    title = "".join(part.capitalize() for part in name.replace("_", "-").split("-"))
    return msgspec.defstruct(f"{title}Document", fields, frozen=True)


def document_reply(
    request: Request, name: str, run: Run, notes: list[Note], data: Any, integers: str, **more: Any
) -> Response:
    """The document of a question; with ``integers`` as text where JavaScript would round them."""
    answer = json_document.document(name, run.describe(), notes, data, language_of(request)) | more
    if integers == "text":
        answer = exact_for_javascript(answer)
    return Response(json_document.encoded(answer), media_type="application/json")

"""The documents that ``--json`` prints, as answers of the server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec
from starlette.requests import Request

from stepscope.report import json_document
from stepscope.server.descriptions import NoteEntry, NoteGroupEntry
from stepscope.server.replies import exact_for_javascript, language_of
from stepscope.store.notes import Note

#: What may be an integer beyond 2^53; within a text it does no harm.
_LONG_INTEGER: Final = re.compile(rb"[:,\[]-?\d{16,}")


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


def encoded_document(
    request: Request, name: str, run: dict[str, Any], notes: list[Note], data: Any, integers: str, **more: Any
) -> bytes:
    """The document as its command prints it; for the page, with ``integers`` as text, without spaces between values.

    Text are the integers that JavaScript would round.
    """
    answer = json_document.document(name, run, notes, data, language_of(request)) | more
    if integers != "text":
        return json_document.encoded(answer)
    encoded = json_document.encoded_densely(answer)
    if _LONG_INTEGER.search(encoded) is None:
        return encoded
    plain = msgspec.to_builtins(answer, builtin_types=(Decimal,), enc_hook=str)
    return json_document.encoded_densely(exact_for_javascript(plain))

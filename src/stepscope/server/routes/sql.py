"""Read-only SQL over the tables of a run, bounded in rows, bytes, memory and time; and which tables there are."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from stepscope.facts.server import server_facts
from stepscope.server.descriptions import NoteEntry, NoteGroupEntry
from stepscope.server.documentation import AnswerTypes
from stepscope.server.documents import RunHead, encoded_document
from stepscope.server.library import Library
from stepscope.server.replies import json_reply
from stepscope.server.requests import SqlRequest
from stepscope.server.routes.analyses import Integers
from stepscope.server.sql_workers import SqlWorkers
from stepscope.store.schema import TABLES


class SqlColumn(msgspec.Struct, frozen=True):
    name: str
    type: str


class SqlDocument(msgspec.Struct, frozen=True):
    """``truncated`` says that there were more rows, or more bytes, than the limit."""

    schema: str
    run: RunHead
    notes: list[NoteEntry]
    note_groups: list[NoteGroupEntry]
    data: list[dict[str, Any]]
    columns: list[SqlColumn]
    truncated: bool


class TableColumn(msgspec.Struct, frozen=True):
    name: str
    type: str
    meaning: str


class TableInfo(msgspec.Struct, frozen=True):
    name: str
    meaning: str
    rows: int
    columns: list[TableColumn]


def router(library: Library, workers: SqlWorkers, answers: AnswerTypes) -> APIRouter:
    """The routes of this file."""
    routes = APIRouter(prefix="/run/{run_id}", tags=["sql"])

    @routes.post("/sql", responses=answers.document(SqlDocument))
    async def sql(request: Request, run_id: str, wanted: SqlRequest, integers: Integers = "number") -> Response:
        """The result of one SELECT."""
        run, _ = library.ready(run_id)
        most = min(wanted.limit, server_facts().most_sql_rows)
        frame, cut = await workers.select(run.store, wanted.query, most, request.is_disconnected)

        def reply() -> Response:
            columns = [SqlColumn(name, str(kind)) for name, kind in frame.schema.items()]
            more = {"columns": columns, "truncated": cut}
            body = encoded_document(request, "sql", run.describe(), run.notes, frame.to_dicts(), integers, **more)
            return Response(body, media_type="application/json")

        return await run_in_threadpool(reply)

    @routes.get("/tables", responses=answers.json(list[TableInfo]))
    def tables(run_id: str) -> Response:
        """The tables of a run with their columns."""
        run, _ = library.ready(run_id)
        rows = run.store.manifest.rows
        return json_reply(
            [
                TableInfo(
                    table.name,
                    table.meaning,
                    rows(table.name),
                    [TableColumn(each.name, str(each.type), each.meaning) for each in table.columns],
                )
                for table in TABLES.values()
            ]
        )

    return routes

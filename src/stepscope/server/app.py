"""The application: routes below ``api/``, the page beside them, and errors that always look the same."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import anyio.to_thread
import polars as pl
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from stepscope.errors import NoAnswerError, StepscopeError, UsageError, internal
from stepscope.facts.server import server_facts
from stepscope.server import documentation, uploads
from stepscope.server.compression import CompressForOthers
from stepscope.server.descriptions import counted_facts
from stepscope.server.faults import Faults
from stepscope.server.guard import Guard
from stepscope.server.library import Library
from stepscope.server.page import PAGE_DIRECTORY, Page
from stepscope.server.patience import Patience
from stepscope.server.replies import error_reply
from stepscope.server.routes import analyses, compare, findings, plan, runs, sql, texts, timeline, workspace
from stepscope.server.settings import Settings
from stepscope.server.sql_workers import SqlWorkers
from stepscope.version import __version__


def new_library(settings: Settings) -> Library:
    """The list of runs of a server."""
    return Library(settings, counted_facts)


def create_app(library: Library, page_directory: Path = PAGE_DIRECTORY) -> ASGIApp:
    """The whole server as an ASGI application; the captures at its roots are read at once."""
    return Guard(CompressForOthers(Faults(Patience(_routes(library, page_directory)))), library.settings)


def _routes(library: Library, page_directory: Path) -> FastAPI:
    workers = SqlWorkers()

    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = server_facts().answers_at_once
        uploads.sweep(library.settings)
        for root in library.settings.roots:
            library.add(root)
        yield
        workers.close()
        library.close()

    # The usual pages of documentation load scripts from elsewhere, which ours never does.
    app = FastAPI(
        title="Stepscope",
        version=__version__,
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    answers = documentation.AnswerTypes()
    for routes in (
        runs.router(library, answers),
        workspace.router(library, answers),
        texts.router(library, answers),
        timeline.router(library, answers),
        sql.router(library, workers, answers),
        analyses.router(library, answers),
        compare.router(library, answers),
        plan.router(library, answers),
        findings.router(library, answers),
    ):
        app.include_router(routes, prefix="/api")
    _add_error_handlers(app, library)
    page = Page(page_directory)

    @app.get("/{path:path}", include_in_schema=False)
    def page_file(request: Request, path: str) -> Response:
        """A file of the page."""
        if path == "api" or path.startswith("api/"):
            return error_reply(UsageError("no_such_route", path=f"/{path}"), request)
        return page.answer(request, path)

    documentation.install(app, answers)
    return app


def _add_error_handlers(app: FastAPI, library: Library) -> None:
    @app.exception_handler(StepscopeError)
    def known(request: Request, error: StepscopeError) -> Response:
        return error_reply(error, request)

    @app.exception_handler(RequestValidationError)
    def misshaped(request: Request, error: RequestValidationError) -> Response:
        reasons = [f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}" for each in error.errors()[:8]]
        return error_reply(UsageError("invalid_request", reason="; ".join(reasons)), request)

    @app.exception_handler(HTTPException)
    def plain(request: Request, error: HTTPException) -> Response:
        path = request.url.path
        if error.status_code == 405:
            return error_reply(UsageError("method_not_allowed", path=path, method=request.method), request)
        if error.status_code == 404:
            return error_reply(UsageError("no_such_route", path=path), request)
        return error_reply(UsageError("invalid_request", reason=str(error.detail)), request)

    def unreadable(request: Request, error: Exception) -> Response:
        """A store may vanish under a running server; all else is our own fault."""
        gone = _missing_file(library, str(request.path_params.get("run_id", "")))
        if gone is not None:
            return error_reply(NoAnswerError("store_gone", reason=gone), request)
        return error_reply(internal(error), request)

    for kind in (OSError, pl.exceptions.PolarsError, Exception):
        app.add_exception_handler(kind, unreadable)


def _missing_file(library: Library, run_id: str) -> str | None:
    try:
        run, _ = library.ready(run_id)
    except StepscopeError:
        return None
    store = run.store
    return next((name for name in store.manifest.sizes if not (store.directory / name).is_file()), None)

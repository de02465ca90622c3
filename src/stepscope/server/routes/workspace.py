"""What a user keeps by hand: names and tags of runs, saved queries, saved views."""

from __future__ import annotations

import threading
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from stepscope.server.descriptions import RunSummary, summary
from stepscope.server.documentation import AnswerTypes
from stepscope.server.library import Library
from stepscope.server.replies import json_reply, language_of
from stepscope.server.requests import LabelRequest, QueryToSave, ViewToSave
from stepscope.store.run_labels import RunLabel, keep_label, label_key
from stepscope.store.saved_work import (
    SavedQuery,
    SavedView,
    forget_query,
    forget_view,
    save_query,
    save_view,
    saved_queries,
    saved_views,
)

Name = Annotated[str, Query(min_length=1, max_length=200)]


def router(library: Library, answers: AnswerTypes) -> APIRouter:
    """The routes of this file."""
    routes = APIRouter(tags=["workspace"])
    writing = threading.Lock()  # each change reads the file, changes it, and writes it

    @routes.put("/run/{run_id}/label", responses=answers.json(RunSummary))
    def label(request: Request, run_id: str, wanted: LabelRequest) -> Response:
        """Name and tag a run; an empty name gives it back its own."""
        entry = library.entry(run_id)
        tags = list(dict.fromkeys(tag for each in wanted.tags if (tag := each.strip())))
        with writing:
            keep_label(label_key(entry.path, entry.window), RunLabel((wanted.name or "").strip() or None, tags))
        library.changed()
        return json_reply(summary(entry, language_of(request)))

    @routes.get("/queries", responses=answers.json(list[SavedQuery]))
    def queries() -> Response:
        """Saved queries, by name."""
        return json_reply(saved_queries())

    @routes.put("/queries", responses=answers.json(list[SavedQuery]))
    def keep_query(wanted: QueryToSave) -> Response:
        """Save a query under a name; all queries come back."""
        with writing:
            save_query(SavedQuery(wanted.name, wanted.query))
        return json_reply(saved_queries())

    @routes.delete("/queries", status_code=204, responses=answers.nothing())
    def drop_query(name: Name) -> Response:
        """Forget a saved query."""
        with writing:
            forget_query(name)
        return Response(status_code=204)

    @routes.get("/run/{run_id}/views", responses=answers.json(list[SavedView]))
    def views(run_id: str) -> Response:
        """Saved views of a capture, by name."""
        return json_reply(saved_views(library.entry(run_id).path))

    @routes.put("/run/{run_id}/views", responses=answers.json(list[SavedView]))
    def keep_view(run_id: str, wanted: ViewToSave) -> Response:
        """Save a page with what was chosen on it; all views come back."""
        path = library.entry(run_id).path
        with writing:
            save_view(path, SavedView(wanted.name, wanted.page, wanted.params))
        return json_reply(saved_views(path))

    @routes.delete("/run/{run_id}/views", status_code=204, responses=answers.nothing())
    def drop_view(run_id: str, name: Name) -> Response:
        """Forget a saved view."""
        with writing:
            forget_view(library.entry(run_id).path, name)
        return Response(status_code=204)

    return routes

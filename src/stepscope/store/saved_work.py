"""Queries and views that a user saved by name: in the user's workspace.

A query suits any run; a view is a page of one capture with everything that was chosen on it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from stepscope.store.workspace import shared_workspace
from stepscope.typed import typed

_QUERIES: Final = "queries"
_VIEWS: Final = "views"


class SavedQuery(msgspec.Struct, frozen=True):
    """A query under a name."""

    name: str
    query: str


class SavedView(msgspec.Struct, frozen=True):
    """A page with the parameters of its address, under a name."""

    name: str
    page: str
    params: dict[str, str]


def saved_queries() -> list[SavedQuery]:
    """All queries, by name."""
    return [SavedQuery(name, query) for name, query in sorted(_section(_QUERIES).items()) if isinstance(query, str)]


def save_query(query: SavedQuery) -> None:
    """Remember a query; one of the same name is replaced."""
    shared_workspace().keep(_QUERIES, {**_section(_QUERIES), query.name: query.query})


def forget_query(name: str) -> None:
    """Remove a query, if there is one of that name."""
    shared_workspace().keep(_QUERIES, {key: value for key, value in _section(_QUERIES).items() if key != name})


def saved_views(capture: Path) -> list[SavedView]:
    """The views of a capture, by name."""
    views = []
    for name, entry in sorted(_views_of(capture).items()):
        try:
            views.append(typed({"name": name, **entry}, SavedView))
        except (msgspec.ValidationError, TypeError):
            continue  # written by another version
    return views


def save_view(capture: Path, view: SavedView) -> None:
    """Remember a view; one of the same name is replaced."""
    entry = {"page": view.page, "params": view.params}
    _keep_views(capture, {**_views_of(capture), view.name: entry})


def forget_view(capture: Path, name: str) -> None:
    """Remove a view, if there is one of that name."""
    _keep_views(capture, {key: value for key, value in _views_of(capture).items() if key != name})


def _views_of(capture: Path) -> dict[str, Any]:
    views = _section(_VIEWS).get(str(capture))
    return views if isinstance(views, dict) else {}


def _keep_views(capture: Path, views: dict[str, Any]) -> None:
    others = {key: value for key, value in _section(_VIEWS).items() if key != str(capture)}
    shared_workspace().keep(_VIEWS, {**others, str(capture): views} if views else others)


def _section(name: str) -> dict[str, Any]:
    return shared_workspace().entries(name)

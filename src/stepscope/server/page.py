"""The page's own files. A request's path is only ever a key into the list of files that were found."""

from __future__ import annotations

import html
import mimetypes
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from stepscope.errors import UsageError
from stepscope.server.replies import error_reply, fault_of, status_of
from stepscope.texts import LANGUAGES

PAGE_DIRECTORY: Final = Path(__file__).parent / "page"
_INDEX: Final = "index.html"
_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}


class Page:
    """Serves a built page; where there is none, says so."""

    def __init__(self, directory: Path = PAGE_DIRECTORY) -> None:
        self._directory = directory
        self._files: dict[str, Path] = {}

    def answer(self, request: Request, path: str) -> Response:
        """The file of a path; the index for the root."""
        name = path.lstrip("/") or _INDEX
        file = self._find(name)
        if file is not None:
            return self._file(name, file)
        if name == _INDEX:
            return _not_built()
        return error_reply(UsageError("no_such_route", path=f"/{name}"), request)

    def _find(self, name: str) -> Path | None:
        known = self._files.get(name)
        if known is None or not known.is_file():
            # A build beside the running server brings files with new names.
            listed = (file for file in self._directory.rglob("*") if file.is_file())
            self._files = {file.relative_to(self._directory).as_posix(): file for file in listed}
            known = self._files.get(name)
        return known

    def _file(self, name: str, path: Path) -> Response:
        kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        # Built files carry a hash of their content in their name; the index names them and must be fresh.
        fresh = "no-cache" if not name.startswith("assets/") else "public, max-age=31536000, immutable"
        return Response(path.read_bytes(), media_type=kind, headers={"Cache-Control": fresh})


def _not_built() -> Response:
    error = UsageError("page_not_built")
    faults = [(lang, fault_of(error, lang)) for lang in LANGUAGES]
    lines = "".join(
        f'<p lang="{lang}">{html.escape(fault.message)} {html.escape(fault.hint or "")}</p>' for lang, fault in faults
    )
    body = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Stepscope</title>{lines}</html>'
    return HTMLResponse(body, status_of(error))

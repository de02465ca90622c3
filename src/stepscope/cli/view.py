"""``stepscope view``: the pages, served from this machine."""

from __future__ import annotations

import os
import secrets
import webbrowser
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from stepscope.cli.options import Form, Json, Language, Store, Thresholds, language
from stepscope.errors import UnreadableInputError, UsageError


def view(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH")],
    host: Annotated[str, typer.Option()] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8080,
    base_path: Annotated[str, typer.Option()] = "",
    allow_host: Annotated[list[str] | None, typer.Option()] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser")] = False,
    token: Annotated[str | None, typer.Option(envvar="STEPSCOPE_TOKEN")] = None,
    no_token: Annotated[bool, typer.Option("--no-token")] = False,
    source: Form = None,
    store: Store = None,
    thresholds: Thresholds = None,
    finding: Annotated[str | None, typer.Option(metavar="ID")] = None,
    page: Annotated[str | None, typer.Option(metavar="PAGE")] = None,
    json: Json = False,
    lang: Language = None,
) -> None:
    """Show captures in the browser: overview, timeline, steps, operators, data, memory, CPU and SQL."""
    from stepscope.report import json_document, terminal
    from stepscope.server.library import run_id
    from stepscope.server.serve import serve
    from stepscope.server.settings import Settings, is_loopback, normal_base_path

    del lang, thresholds
    if no_token and not is_loopback(host):
        raise UsageError("token_needed_elsewhere", host=host)
    settings = Settings(
        roots=tuple(_resolved(path) for path in paths),
        host=host,
        port=port,
        base_path=normal_base_path(base_path),
        # Loopback is no protection on a machine with other users, nor from the other programs of this one.
        token=None if no_token else token or secrets.token_urlsafe(24),
        allowed_hosts=tuple(allow_host or ()),
        store=store,
        form=source,
    )

    def ready(address: str) -> None:
        if finding is not None or page is not None:
            address += f"#/run/{run_id(settings.roots[0], None)}/{quote(page or 'overview')}"
            address += "" if finding is None else f"?finding={quote(finding)}"
        if json:
            json_document.write_plain("view", {"address": address, "roots": [str(root) for root in settings.roots]})
            return
        terminal.say("view_serving", language(), count=len(paths), address=address)
        if settings.token is not None:
            terminal.say("view_token", language(), roots=", ".join(map(str, settings.roots)))
        terminal.say("view_stop", language())
        if not no_browser and _has_display():
            webbrowser.open(address)

    serve(settings, ready)


def _resolved(path: Path) -> Path:
    try:
        return path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError):
        raise UnreadableInputError("no_such_path", path=str(path)) from None


def _has_display() -> bool:
    """Without one, a text browser would take the terminal over."""
    return os.name == "nt" or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.uname().sysname == "Darwin"
    )

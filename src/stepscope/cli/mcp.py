"""``stepscope mcp``: captures for assistants, over the Model Context Protocol."""

from __future__ import annotations

from stepscope.cli.options import Captures, Language, Store
from stepscope.errors import UsageError


def mcp(paths: Captures, store: Store = None, lang: Language = None) -> None:
    """Serve captures to an assistant over standard input and output (Model Context Protocol), read-only."""
    del lang
    try:
        from stepscope.assistants.mcp_server import mcp_server
    except ModuleNotFoundError as error:
        raise UsageError("mcp_missing", reason=error.name or "mcp") from error
    for path in paths:
        if not path.exists():
            raise UsageError("no_such_path", path=str(path))
    mcp_server(paths, store).run("stdio")

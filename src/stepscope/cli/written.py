"""What a command that writes files tells at its end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from stepscope.cli.options import language


def tell_written(command: str, paths: Iterable[Path], json: bool, **further: Any) -> None:
    """Each file or directory as soon as it is there; with ``--json`` one document about all of them."""
    from stepscope.report import json_document, terminal

    entries = []
    for path in paths:
        if not json:
            terminal.show_written(path, language())
        entries.append({"path": str(path), "bytes": terminal.bytes_of(path)})
    if json:
        json_document.write_plain(command, {"written": entries, **further})

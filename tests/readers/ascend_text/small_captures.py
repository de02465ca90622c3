"""Small captures in text form: read, and what their tables hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from readers.ascend_builder import (
    Tables,
    read_directory,
    write_rank,
)


def read(tmp_path: Path, files: dict[str, Any], **more: Any) -> Tables:
    return read_directory(write_rank(tmp_path, files, **more), tmp_path / "store")


DETAILS = 'Name,Input Shapes,Call Stack,Host Self Duration(us)\nadd,"2;\n3","a;\nb",1.5\n'

"""The skill that is part of the package: its files, and how they are installed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stepscope.errors import UnreadableInputError, UsageError

NAME: Final = "stepscope"
_SOURCE: Final = Path(__file__).parent / "skill"


def main_page() -> str:
    """``SKILL.md``."""
    return (_SOURCE / "SKILL.md").read_text("utf-8")


def install(directory: Path, *, force: bool = False) -> list[Path]:
    """Write the skill below a directory of skills; what was written."""
    target = directory / NAME
    if target.exists() and not force:
        raise UsageError("out_exists", path=str(target))
    written = []
    try:
        for file in sorted(path for path in _SOURCE.rglob("*.md")):
            copy = target / file.relative_to(_SOURCE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(file.read_text("utf-8"), "utf-8")
            written.append(copy)
    except OSError as error:
        raise UnreadableInputError("cannot_write", path=str(target), reason=error.strerror or str(error)) from error
    return written

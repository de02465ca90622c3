"""Files appear under their names whole or not at all, never inside a capture, and replace nothing unasked."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from stepscope.errors import UnreadableInputError, UsageError


def check_outside(out: Path, captures: Sequence[Path]) -> None:
    """Refuse a place within a capture, or around one: replacing it would remove the capture."""
    resolved = out.expanduser().resolve()
    for capture in (path.resolve() for path in captures):
        if resolved.is_relative_to(capture) or capture.is_relative_to(resolved):
            raise UsageError("out_inside_capture", path=str(out))


def place(final: Path, force: bool, write: Callable[[Path], object]) -> Path:
    """Write beside the final place, then move."""
    if final.exists() and not force:
        raise UsageError("out_exists", path=str(final))
    draft = final.with_name(f".{final.name}.part")
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        _remove(draft)
        write(draft)
        if final.is_dir():
            _remove(final)
        draft.replace(final)
    except OSError as error:
        with contextlib.suppress(OSError):
            _remove(draft)
        raise UnreadableInputError("cannot_write", path=str(final), reason=error.strerror or str(error)) from error
    except BaseException:
        _remove(draft)
        raise
    return final


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)

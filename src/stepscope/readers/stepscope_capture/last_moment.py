"""The last moment that a window knows of, where its process was killed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_TIME: Final = re.compile(rb'"(?:time|end)_ns":\s*(\d{1,19})')
_TAIL: Final = 4096


def last_moment(raw: Path) -> int:
    """The latest time in the last lines of all line files; 0 if there is none."""
    moments = [0]
    for path in raw.glob("*.jsonl"):
        try:
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - _TAIL))
                moments += [int(digits) for digits in _TIME.findall(file.read(_TAIL))]
        except OSError:
            continue
    return max(moments)

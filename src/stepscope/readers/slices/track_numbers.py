"""Numbers for tracks, so that files read one after the other share them."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from stepscope.readers.trace_json.codes import Codes


@dataclass
class TrackNumbers:
    """Tracks in order of first use; ``first`` is the first free number of the rank."""

    first: int = 0
    _known: Codes = field(default_factory=Codes)
    _kinds: dict[int, str] = field(default_factory=dict)

    def track(self, kind: str, name: str, process: str, thread: str | None = None) -> int:
        """The number of a track; the same words give the same number.

        >>> numbers = TrackNumbers(5)
        >>> numbers.track("counter", "queue", "pipeline"), numbers.track("counter", "queue", "pipeline")
        (5, 5)
        """
        number = self.first + self._known[name, process, name if thread is None else thread]
        self._kinds.setdefault(number, kind)
        return number

    def frame(self) -> pl.DataFrame:
        """Rows of ``tracks``."""
        rows = [
            {"track": self.first + code, "kind": self._kinds[self.first + code], "name": name, "process": process}
            | {"thread": thread, "order": self.first + code}
            for (name, process, thread), code in self._known.items()
        ]
        return pl.DataFrame(rows)

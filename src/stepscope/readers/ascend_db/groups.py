"""Communication groups as the tables name them: numbered as they appear, with the id that the whole store uses."""

from __future__ import annotations

import numpy as np
import polars as pl

from stepscope.readers.ascend.identity import group_id
from stepscope.readers.ascend_db.joins import distinct
from stepscope.readers.ascend_db.strings import Coded
from stepscope.readers.ascend_db.timeline import Int32s, Int64s, Layer, Timeline
from stepscope.readers.codes import Codes


class Groups:
    """Grows as tables are read."""

    def __init__(self, layer: Layer, timeline: Timeline) -> None:
        self._layer = layer
        self._timeline = timeline
        self._numbers = Codes()
        self._names: dict[str, str] = {}

    def ids(self, names: Coded) -> Coded:
        """The column of group names as a column of group ids."""
        codes, texts = names
        ids = [None if text is None else group_id(text) for text in texts]
        for number, name in zip(ids, texts, strict=True):
            if number and name:
                self._names.setdefault(number, name)
        return codes, list(ids)

    def tracks(self, ids: Coded, planes: Int64s, devices: Int64s) -> Int32s:
        """The lane of each row: a plane of its group, or the group's row of whole calls where the plane is -1."""
        codes, texts = ids
        keys, places = distinct(codes, planes, devices)
        tracks = [self._track(texts[code] if code >= 0 else None, plane, device) for code, plane, device in keys]
        return np.array(tracks, np.int32)[places]

    def frame(self) -> pl.DataFrame:
        """Rows of ``groups`` that the calls themselves tell of."""
        return pl.DataFrame(
            {"group": list(self._names), "name": list(self._names.values())},
            schema={"group": pl.String, "name": pl.String},
        ).with_columns(origin=pl.lit("calls"), confidence=pl.lit("stated"))

    def _track(self, group: str | None, plane: int, device: int) -> int:
        number = self._numbers[group]
        return self._timeline.track(
            "plane",
            self._layer,
            (number, plane) if plane >= 0 else number,
            f"Plane {plane}" if plane >= 0 else f"Group {number} Communication",
            device if device >= 0 else None,
            place=(number << 16) + min(plane + 1, 0xFFFF),
        )

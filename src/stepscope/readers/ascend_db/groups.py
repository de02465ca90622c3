"""Communication groups as the tables name them: numbered as they appear, with the id that the whole store uses."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import NULL, Int32s, Int64s
from stepscope.readers.ascend.identity import group_id
from stepscope.readers.ascend_db.joins import distinct
from stepscope.readers.ascend_db.strings import Coded, Strings
from stepscope.readers.ascend_db.timeline import DatabaseTimeline, Layer
from stepscope.readers.trace_json.codes import Codes

_COMMUNICATION_API: Final = 5500  # of ENUM_API_TYPE
_OLD_NAME: Final = "HCCL"


class Groups:
    """Grows as tables are read. ``stated`` are the rows of ``groups`` that the job's metadata tell."""

    def __init__(self, timeline: DatabaseTimeline, stated: pl.DataFrame, strings: Strings) -> None:
        #: What the vendor calls communication; it was renamed together with this entry.
        _, words = strings.enum("ENUM_API_TYPE", pl.Series([_COMMUNICATION_API]))
        self.core = (words[0] or "communication").upper()
        self._layer = Layer(self.core if self.core == _OLD_NAME else "Communication", "NPU", 15)
        self._timeline = timeline
        self._numbers = Codes()
        self._names: dict[str, str] = {}
        self._members = {
            group: ranks for group, ranks in stated.select("group", "ranks").iter_rows() if group and ranks
        }

    def ids(self, names: Coded) -> Coded:
        """The column of group names as a column of group ids."""
        codes, texts = names
        ids = [None if text is None else group_id(text) for text in texts]
        for number, name in zip(ids, texts, strict=True):
            if number and name:
                self._names.setdefault(number, name)
        return codes, list(ids)

    def tracks(self, ids: Coded, planes: Int64s, devices: Int64s) -> Int32s:
        """The track of each row: a plane of its group, or the group's row of whole calls where the plane is -1."""
        codes, texts = ids
        keys, key_of_row = distinct(codes, planes, devices)
        tracks = [self._track(texts[code] if code >= 0 else None, plane, device) for code, plane, device in keys]
        return np.array(tracks, np.int32)[key_of_row]

    def global_ranks(self, ids: Coded, ranks_in_group: Int64s, own_place: Int64s, rank: int) -> Int64s:
        """Ranks of the job from ranks within a group, NULL where they cannot be known.

        Where the members of a group are not listed, ranks of the group are believed if our own is our rank of the job.
        """
        result = ranks_in_group.copy()
        codes, texts = ids
        for code in np.unique(codes).tolist():
            here = np.flatnonzero((codes == code) & (ranks_in_group != NULL))
            members = self._members.get(texts[code] or "") if code >= 0 else None
            if members is None:
                result[here[own_place[here] != rank]] = NULL
            else:
                result[here] = np.array([*members, NULL], np.int64)[np.minimum(ranks_in_group[here], len(members))]
        return result

    def frame(self) -> pl.DataFrame:
        """Rows of ``groups`` that the calls themselves tell of."""
        return pl.DataFrame(
            {"group": list(self._names), "name": list(self._names.values())},
            schema={"group": pl.String, "name": pl.String},
        ).with_columns(origin=pl.lit("calls"), confidence=pl.lit("stated"))

    def _track(self, group: str | None, plane: int, device: int) -> int:
        number = self._numbers[group]
        sort_index = (number << 16) + min(plane + 1, 0xFFFF)
        return self._timeline.track(
            "plane",
            self._layer,
            sort_index,
            f"Plane {plane}" if plane >= 0 else f"Group {number} Communication",
            device if device >= 0 else None,
            sort_index=sort_index,
        )

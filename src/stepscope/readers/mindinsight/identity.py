"""Who recorded a rank: its place in the job, device, version and switches."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from stepscope.arrays import NULL
from stepscope.readers.files.json_values import as_text
from stepscope.readers.files.numbers import integer, scaled
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.text_files import read_json
from stepscope.readers.mindinsight.cluster_folder import host_of
from stepscope.readers.mindinsight.layout import RankFiles, device_kind, named
from stepscope.readers.slices.slice_table import SliceTable

_VERSIONS: Final = ("ms_version", "cann_version")
_AI_CPU: Final = "AI_CPU"
_GIB: Final = 1 << 30
_LARGEST_GROUP: Final = 1 << 20


class RankIdentity:
    """Where a rank stands in its job, as ``profiler_info``, the strategy file and the cluster file's name tell."""

    def __init__(self, reading: Reading, files: RankFiles) -> None:
        self.source = reading.source
        self.rank = reading.source.rank or 0
        self.files = files
        path = files.first("info")
        said = read_json(path, reading) if path is not None else None
        self.info: dict[str, Any] = said if isinstance(said, dict) else {}
        cluster = files.first("cluster")
        name = named(cluster.name) if cluster is not None else None
        self.mode = name.mode if name else as_text(self.info.get("parallel_mode"))
        stated_world, stated_stages = integer(self.info.get("rank_size")), integer(self.info.get("stage_num"))
        self.world = stated_world if stated_world is not None else reading.source.world_size
        self.stages = name.stages if name else stated_stages
        numbers = [
            file_name.rank for file in files.all if (file_name := named(file.name)) and file_name.rank is not None
        ]
        self.device = numbers[0] if numbers else self.rank
        self.stage: int | None = None
        self.stated_groups: set[str] = set()
        self.memory_capacity: int | None = None

    @property
    def ranks_per_stage(self) -> int | None:
        """How many ranks share a stage, where stages and ranks are known and fit each other."""
        if not self.stages or not self.world or self.world % self.stages:
            return None
        return self.world // self.stages

    @property
    def first_of_stage(self) -> int:
        """The first rank of this rank's stage."""
        share = self.ranks_per_stage
        return 0 if share is None else self.rank // share * share

    @property
    def stage_group(self) -> tuple[str, list[int]] | None:
        """Name and members of the group of all ranks of this rank's stage, where more than one share it."""
        share = self.ranks_per_stage
        if share is None or not 1 < share <= _LARGEST_GROUP:
            return None
        first = self.first_of_stage
        return f"stage {first // share}", list(range(first, first + share))

    @staticmethod
    def first_device(names: Iterable[str]) -> int | None:
        """The smallest number among the files of a directory: that source speaks for files that are nobody's."""
        numbers = [
            file_name.rank for name in names if (file_name := named(name)) is not None and file_name.rank is not None
        ]
        return min(numbers, default=None)

    def set_capacity(self, gibibytes: Any) -> None:
        """Memory of the device, as the memory summary states it."""
        tenths = scaled(gibibytes, 9, 10**18)
        self.memory_capacity = None if tenths is None else tenths * _GIB // 10**9

    def row(self, slices: SliceTable) -> dict[str, Any]:
        """The row of ``ranks``."""
        share = self.ranks_per_stage
        stage = (
            self.stage
            if self.stage is not None
            else self.rank // share
            if share and self.rank < (self.world or 0)
            else None
        )
        switches = {key: value for key, value in self.info.items() if key not in _VERSIONS}
        if self.mode:
            switches["parallel_mode"] = self.mode
        row: dict[str, Any] = {
            "world_size": self.world,
            "device_kind": device_kind(self.files.all),
            "host": host_of(self.source),
            "device_index": self.device,
            "memory_capacity": self.memory_capacity,
            "framework": "mindspore",
            "versions": _json({key: self.info[key] for key in _VERSIONS if self.info.get(key) is not None}),
            "switches": _json(switches),
            "pp": stage if (self.stages or 1) > 1 or self.stage is not None else None,
            "clock_base_ns": 0,
            "source": str(self.source.path),
            "compute_recorded": not _ai_cpu_alone(slices),
        }
        if len(slices):
            row |= {"first_ns": int(slices.start.min()), "last_ns": int(slices.end.max())}
        return row


def _ai_cpu_alone(slices: SliceTable) -> bool:
    """Whether the steps hold AI CPU kernels and no other, though no step of a network is without AI Core.

    MindSpore's analysis lists AI CPU kernels with their times; those of AI Core are in a file that may be missing.
    """
    if "core" not in slices.texts or "step" not in slices.integers:
        return False
    codes, words = slices.texts["core"]
    kernels = slices.is_kind("kernel") & (slices.integers["step"] != NULL)
    return {words[code] if code >= 0 else None for code in np.unique(codes[kernels]).tolist()} == {_AI_CPU}


def _json(value: dict[str, Any]) -> str | None:
    return json.dumps(value, ensure_ascii=True, default=str) if value else None

"""The input pipeline and its verdict: ``pipeline.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class Loop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[loop]``."""

    least_wait_share: float
    largest_idle_starving_share: float
    least_interval_us: float
    settled_from_share: float
    least_settled: int
    least_certain: int


class Queue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[queue]``."""

    mostly_empty_share: float
    high_use_share: float
    low_use_share: float
    least_drop_share: float
    least_rounds: int


class Getnext(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[getnext]``."""

    least_us: float
    least_interval_share: float


class Processors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[processors]``."""

    busy_machine_share: float
    saturated_worker_share: float
    idle_worker_share: float
    low_user_share: float
    high_system_share: float
    other_processes_share: float
    few_workers: int


class Curves(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[curves]``."""

    largest_points: int


class Slices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[slices]``."""

    loader_get: str
    getnext: str
    loader_kind: str
    loader_in_main_process: str


class Kinds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[kinds]``."""

    transparent: tuple[str, ...]
    advice: dict[str, str]


class MinddataFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[minddata_files]``."""

    busy_worker_pct: float
    idle_worker_pct: float
    little_used_leaf_pct: float
    empty_device_input_pct: float
    fuller_than_other_side_pct: float
    nearly_empty_input_pct: float
    single_threaded: tuple[str, ...]


class PipelineFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    loop: Loop
    queue: Queue
    getnext: Getnext
    processors: Processors
    minddata_files: MinddataFiles
    curves: Curves
    batch_clock: dict[str, str]
    slices: Slices
    kinds: Kinds


def pipeline_facts() -> PipelineFacts:
    """The input pipeline and its verdict."""
    return load("pipeline", PipelineFacts)

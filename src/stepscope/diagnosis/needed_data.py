"""What rules need of a run: whether it is there, whether it could be, and the words for what is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from stepscope.analysis.cluster.clocks import clocks_of
from stepscope.analysis.foundation.single_kernels import has_single_kernels
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.finding import Bilingual, NotChecked
from stepscope.diagnosis.measures.recorded import (
    frequency_tracks,
    has_backward,
    has_calls_until_end,
    has_shapes,
    has_slices,
)

#: Kinds of slices that show what the host did.
_OF_HOST: Final = ("runtime", "operator", "python")


def _has_idle_time(run: RunContext) -> bool:
    return any(time.idle_by_cause for time in run.times.values())


_AVAILABLE: Final[dict[str, Callable[[RunContext], bool]]] = {
    "step_times": lambda run: bool(run.times),
    "idle_causes": lambda run: _has_idle_time(run) and has_slices(run.store, *_OF_HOST),
    "collections": lambda run: _has_idle_time(run) and has_slices(run.store, *_OF_HOST, "gc"),
    "copies": lambda run: bool(run.times) and has_slices(run.store, "copy"),
    "other_ranks": lambda run: len(run.times) > 1 or (bool(run.times) and run.waits_name_peers),
    "calls_until_end": lambda run: has_calls_until_end(run.store),
    "clocks": lambda run: bool(clocks_of(run.store)),
    "stages": lambda run: run.stages is not None,
    "expert_groups": lambda run: bool(run.expert_times),
    "links": lambda run: bool(run.times) and run.links_recorded,
    "waiting_for_data": lambda run: run.answer("pipeline") is not None or is_there("idle_causes", run),
    "processors": lambda run: run.answer("cpu") is not None,
    "allocations": lambda run: run.answer("leaks") is not None,
    "memory": lambda run: run.answer("memory") is not None,
    "kernels": lambda run: bool(run.computing),
    "single_kernels": lambda run: bool(run.computing) and has_single_kernels(run.store),
    "backward": lambda run: bool(run.computing) and has_backward(run.store),
    "shapes": lambda run: bool(run.computing) and has_shapes(run.store),
    "frequency": lambda run: bool(run.times) and bool(frequency_tracks(run.store)),
}


def _is_spread(run: RunContext) -> bool:
    """Whether the job has other ranks than the captured one, as far as anything tells."""
    return (
        len(run.ranks) > 1 or run.plan.world_size > 1 or not run.store.scan("collectives").head(1).collect().is_empty()
    )


def _has_npu(run: RunContext) -> bool:
    return any(run.device_kind(rank) == "npu" for rank in run.ranks)


#: What not every job has, and what not every device lets itself be asked for: whether another recording could hold it.
_RECORDABLE: Final[dict[str, Callable[[RunContext], bool]]] = {
    "other_ranks": _is_spread,
    "clocks": _is_spread,
    "stages": lambda run: run.plan.size("pp") > 1,
    "expert_groups": lambda run: run.plan.size("ep") > 1,
    "links": _has_npu,
    "frequency": _has_npu,
    "calls_until_end": lambda run: False,  # only of a job that hangs
}


def is_there(name: str, run: RunContext) -> bool:
    """Whether a run holds some data."""
    return _AVAILABLE[name](run)


def not_checked(kind: str, name: str, run: RunContext) -> NotChecked:
    """What is missing to look for a kind, how to record it, and whether another recording of this job could hold it."""
    needs, collect_with = Bilingual.of(f"finding_needs.{name}"), Bilingual.of(f"finding_collect.{name}")
    possible = _RECORDABLE.get(name)
    return NotChecked(kind, needs, collect_with, recordable=possible is None or possible(run))

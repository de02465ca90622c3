"""A simulated run in the schema of NDTimeline: operations of a step, one line per tensor-parallel group.

Start times count from the beginning of the step, in seconds. Of gradients that are reduced while backward still runs,
the part behind it is told, because that is what the method for this format replays.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.arrays import Int64s
from stepscope.simulate.instructions import COMPUTE, Block
from stepscope.simulate.model import Model, Result
from stepscope.simulate.program import StageProgram
from stepscope.simulate.recording import END, HOST_START, START

SCHEMA: Final = {
    "dp_rank": pl.Int16,
    "stage": pl.Int16,
    "rank": pl.Int32,
    "step": pl.Int64,
    "optype": pl.String,
    "start_ts": pl.Float64,
    "duration": pl.Float64,
    "seq_id": pl.Int32,
    "mc": pl.Int8,
    "mb_id": pl.Int16,
    "gmc": pl.Int16,
}
_TRANSFERS: Final = {
    ("forward", "send"): "forward-send",
    ("forward", "receive"): "forward-recv",
    ("backward", "send"): "backward-send",
    ("backward", "receive"): "backward-recv",
}


def _beginnings(result: Result) -> Int64s:
    """When each step begins: on the host, or on the device where the host is ahead of it."""
    begin = result.periods.host_start.min(axis=0)
    ended = np.maximum.accumulate(result.periods.device_end, axis=1).min(axis=0)
    begin[1:] = np.maximum(begin[1:], ended[:-1])
    return np.asarray(begin, np.int64)


def ndtimeline(model: Model, directory: Path, coarse: bool) -> Result:
    """Write ``trace.parquet`` and ``meta.yaml``."""
    del coarse  # operations are what they are
    recorder = model.recorder()
    plan = model.scenario.plan
    try:
        result = model.run(recorder)
        rows: list[dict[str, Any]] = []
        origin = _beginnings(result)
        for stage, ranks in enumerate(model.stage_ranks):
            for index_in_stage, rank in enumerate(ranks.tolist()):
                coordinates = model.layout.coordinates(rank)
                if coordinates["tp"] or coordinates["cp"]:
                    continue
                times = recorder.of_rank(stage, index_in_stage)
                line = {"dp_rank": coordinates["dp"], "stage": stage, "rank": rank}
                for step in range(model.scenario.steps_before, model.steps):
                    operations = _operations(model.programs[stage], times[step], plan.pp)
                    rows += [line | {"step": step} | each for each in _in_seconds(operations, int(origin[step]))]
    finally:
        recorder.close()
    pl.DataFrame(rows, schema=SCHEMA).write_parquet(directory / "trace.parquet")
    sizes = {"dp_size": plan.dp, "dsp_size": 1, "pp_size": plan.pp, "tp_size": plan.tp, "vpp_size": plan.chunks}
    meta = {"trial_name": model.scenario.name, "run_id": 0, **sizes, "world_size": model.layout.world}
    (directory / "meta.yaml").write_text("".join(f"{key}: {value}\n" for key, value in meta.items()), "utf-8")
    return result


def _in_seconds(operations: Iterator[dict[str, Any]], origin: int) -> Iterator[dict[str, Any]]:
    for operation in operations:
        start, end = operation.pop("start"), operation.pop("end")
        yield operation | {"start_ts": (start - origin) / 1e9, "duration": (end - start) / 1e9}


def _operations(program: StageProgram, times: Int64s, stages: int) -> Iterator[dict[str, Any]]:
    """The operations of one rank in one step; times in nanoseconds."""
    counts: dict[str, int] = {}
    last_backward = 0
    for block in program.blocks:
        if block.turn is None:
            continue
        turn = block.turn
        kernels = _rows(block, lambda each: each.slice_kind == "kernel" and each.stream == COMPUTE)
        start, end = _span(times, kernels)
        name = f"{turn.direction}-compute"
        yield {
            "optype": name,
            "start": start,
            "end": end,
            "seq_id": counts.setdefault(name, 0),
            "mc": turn.chunk,
            "mb_id": turn.micro_batch,
            "gmc": turn.chunk * stages + program.stage,
        }
        counts[name] += 1
        if turn.direction == "backward":
            last_backward = max(last_backward, end)
        for row in _rows(block, lambda each: each.action in ("send", "receive")):
            instruction = block.instructions[row - block.first_row]
            kind = _TRANSFERS[turn.direction, instruction.kind]
            yield _outside(kind, int(times[row, START]), int(times[row, END]), counts.setdefault(kind, 0))
            counts[kind] += 1
    yield from _end_of_step(program, times, last_backward)


def _end_of_step(program: StageProgram, times: Int64s, last_backward: int) -> Iterator[dict[str, Any]]:
    gathers, reductions, clips, updates = [], [], [], []
    for block in program.blocks:
        gathers += _rows(block, lambda each: each.dimension == "dp" and each.kind == "all_gather")
        reductions += _rows(
            block, lambda each: each.dimension == "dp" and each.kind in ("all_reduce", "reduce_scatter")
        )
        if block.kind == "finish":
            clips += _rows(block, lambda each: each.slice_kind in ("kernel", "collective") and each.dimension != "dp")
        if block.kind == "optimizer":
            updates += _rows(block, lambda each: each.slice_kind == "kernel")
    if gathers:
        yield _outside("params-all-gather", *_span(times, gathers), 0, chunk=0)
    end = last_backward
    if reductions:
        arrived = max(last_backward, int(times[reductions[0], START]))
        end = max(int(times[reductions, END].max()), arrived)
        yield _outside("grads-reduce-scatter", arrived, end, 0, chunk=0)
    if clips:
        _, done = _span(times, clips)
        yield _outside("optimizer-clip-main-grad", max(end, int(times[clips[0], START])), done, 0)
    if updates:
        yield _outside("optimizer", *_span(times, updates), 0)


def _outside(kind: str, start: int, end: int, number: int, chunk: int = -1) -> dict[str, Any]:
    """An operation that belongs to no micro-batch."""
    return {"optype": kind, "start": start, "end": end, "seq_id": number, "mc": chunk, "mb_id": -1, "gmc": -1}


def _rows(block: Block, wanted: Any) -> list[int]:
    return [block.first_row + position for position, each in enumerate(block.instructions) if wanted(each)]


def _span(times: Int64s, rows: list[int]) -> tuple[int, int]:
    there = [row for row in rows if times[row, END] > times[row, START]]
    if not there:
        moment = int(times[rows[0], HOST_START]) if rows else 0
        return moment, moment
    return int(np.min(times[there, START])), int(np.max(times[there, END]))

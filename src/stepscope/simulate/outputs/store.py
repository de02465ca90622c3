"""A simulated run straight into a run store, rank by rank."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.arrays import Int64s
from stepscope.simulate.execution import Machine
from stepscope.simulate.memory import ActivationRows, activation_rows, fixed_blocks
from stepscope.simulate.model import Model, Result
from stepscope.simulate.outputs.capture import Capture
from stepscope.simulate.outputs.input_tables import RankInput
from stepscope.simulate.outputs.memory_tables import RankMemory
from stepscope.simulate.outputs.rank_slices import rank_slices
from stepscope.simulate.outputs.rank_tables import RankTables
from stepscope.simulate.outputs.stage_rows import StageRows
from stepscope.simulate.plan import Group, layers_of_chunks
from stepscope.simulate.recording import HOST_END, HOST_START, LAST, FullRecorder
from stepscope.simulate.scenario import Scenario
from stepscope.simulate.workload import Transformer
from stepscope.store import schema
from stepscope.store.clocks import with_clocks
from stepscope.store.freed_memory import give_back
from stepscope.store.rank_writer import RankWriter, write
from stepscope.store.run_store import Manifest, Part, RunStore, note_rows, save
from stepscope.version import __version__

_READER: Final = "simulated"
_RANKS_AT_ONCE: Final = 64


def write_store(
    model: Model, directory: Path, *, coarse: bool = False, switches: dict[str, Any] | None = None
) -> tuple[RunStore, Result]:
    """Run the model and write what a profiler with some switches would have recorded into an empty directory."""
    recorder = model.recorder(coarse=coarse)
    try:
        result = model.run(recorder)
        parts, merged = [], _MergedTables(directory)
        for rank_tables in _ranks(model, result, recorder, switches or {"record_shapes": True}):
            parts.append(_write_rank(rank_tables, directory, merged, model.scenario.name))
            if len(parts) % _RANKS_AT_ONCE == 0:
                merged.flush()
                give_back()
        merged.add("groups", _groups(model.machine))
        merged.flush()
        merged.align_clocks()
    finally:
        recorder.close()
    window = window_name(model.scenario, len(parts))
    manifest = Manifest(model.scenario.name, window, parts, merged.files, written_by=__version__)
    return save(directory, manifest, must_survive=False), result


def window_name(scenario: Scenario, ranks: int) -> str:
    """What tells a simulated run from others in a list: scenario, ranks, and the seed where it is another."""
    seed = f"-seed-{scenario.seed}" if scenario.seed else ""
    return f"simulated-{scenario.name}-{ranks}{seed}"


class _MergedTables:
    """Small tables of many ranks in few files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.files: dict[str, dict[str, int]] = {}
        self._waiting: dict[str, list[pl.DataFrame]] = {}
        self._ranks: list[pl.DataFrame] = []  # until the clocks of all are known

    def add(self, table: str, frame: pl.DataFrame) -> None:
        if frame.is_empty():
            return
        frames = self._ranks if table == "ranks" else self._waiting.setdefault(table, [])
        frames.append(schema.conform(table, frame))

    def align_clocks(self) -> None:
        """What the calls of all ranks tell of their clocks, as for any run that is written."""
        calls = [pl.scan_parquet(self.directory / name, glob=False) for name in self.files.get("collectives", {})]
        ranks, notes = with_clocks(pl.concat(self._ranks), *(calls or [schema.empty("collectives").lazy()]))
        self._ranks.clear()
        self._waiting = {"ranks": [ranks]} | ({"notes": [note_rows(notes)]} if notes else {})
        self.flush()

    def flush(self) -> None:
        (self.directory / "merged").mkdir(exist_ok=True)
        for table, frames in self._waiting.items():
            files = self.files.setdefault(table, {})
            name = f"merged/{table}-{len(files)}.parquet"
            frame = pl.concat(frames)
            write(frame, self.directory / name)
            files[name] = frame.height
        self._waiting.clear()
        self._ranks = [pl.concat(self._ranks)] if self._ranks else []  # a thousand small frames take more than one


def _write_rank(tables: tuple[int, dict[str, pl.DataFrame]], directory: Path, merged: _MergedTables, name: str) -> Part:
    rank, frames = tables
    folder = f"rank-{rank}-{_READER}"
    (directory / folder).mkdir()
    writer = RankWriter(directory / folder, rank)
    for table, frame in frames.items():
        if schema.TABLES[table].per_rank:
            writer.add(table, frame)
        elif not frame.is_empty():
            merged.add(table, frame.with_columns(rank=pl.lit(rank, pl.Int32)))
    files = {table: {f"{folder}/{file}": rows for file, rows in own.items()} for table, own in writer.close().items()}
    events = sum(files.get("slices", {}).values())
    # No time of writing: the same scenario gives the same bytes.
    return Part(rank, f"simulated:{name}", _READER, _READER, files, events, 0, 0.0)


def _ranks(
    model: Model, result: Result, recorder: FullRecorder, switches: dict[str, Any]
) -> Iterator[tuple[int, dict[str, pl.DataFrame]]]:
    """All tables of each rank in turn."""
    machine, device = model.machine, model.scenario.device.kind
    by_dimension = {
        dimension: {rank: group for group in groups for rank in group.ranks}
        for dimension, groups in machine.layout.groups.items()
    }
    for stage, ranks in enumerate(model.stage_ranks):
        rows = StageRows(recorder.records[stage].instructions, device)
        stage_memory = None if recorder.coarse else _StageMemory.of(model, stage)
        for index_in_stage, rank in enumerate(ranks.tolist()):
            true_times = recorder.of_rank(stage, index_in_stage)
            groups = {dimension: own[rank] for dimension, own in by_dimension.items() if rank in own}
            capture = _capture(model, rows, rank, true_times, groups, coarse=recorder.coarse)
            slices = rank_slices(capture)
            tables = RankTables(machine, capture, slices, switches)
            frames = {
                "slices": slices.slices,
                "links": slices.links,
                "details": slices.details,
                "ranks": tables.ranks(),
                "tracks": tables.tracks(),
                "steps": tables.steps(),
                "collectives": tables.collectives(),
                "transfers": tables.transfers(),
                "counters": tables.counters(),
            }
            if stage_memory is not None:
                frames |= RankMemory(machine, capture, stage_memory.activations, stage_memory.fixed).tables()
            if stage == 0 and result.input is not None:
                before = model.scenario.steps_before
                window = (int(true_times[before, 0, HOST_START]), int(true_times[-1, 0, HOST_END]))
                frames |= RankInput(
                    result.input, machine.clocks, rank, index_in_stage, before, model.steps, window
                ).tables()
            yield rank, frames


def _capture(
    model: Model, rows: StageRows, rank: int, true_times: Int64s, groups: dict[str, Group], *, coarse: bool
) -> Capture:
    times = model.machine.clocks.local(rank, true_times)
    times[:, :, LAST] = true_times[:, :, LAST]
    index = rank % model.scenario.host.ranks
    runtime_calls = rows.device == "npu" and model.scenario.level == "Level2" and not coarse
    return Capture(rows, times, model.scenario.steps_before, coarse, rank, index, groups, runtime_calls)


class _StageMemory:
    """What the ranks of a stage hold."""

    def __init__(self, activations: ActivationRows, fixed: list[tuple[str, int]]) -> None:
        self.activations, self.fixed = activations, fixed

    @classmethod
    def of(cls, model: Model, stage: int) -> _StageMemory:
        scenario = model.scenario
        chunks = layers_of_chunks(scenario.workload.layers, scenario.plan)
        layers = sum(len(chunks[chunk * scenario.plan.pp + stage]) for chunk in range(scenario.plan.chunks))
        outer = (stage == 0) + (stage == scenario.plan.pp - 1)
        fixed = fixed_blocks(Transformer(scenario.workload, scenario.plan), layers, outer)
        return cls(activation_rows(model.programs[stage]), fixed)


def _groups(machine: Machine) -> pl.DataFrame:
    rows = [
        {
            "group": group.name,
            "name": group.dimension,
            "ranks": list(group.ranks),
            "dimension": group.dimension if group.dimension != "world" else None,
            "origin": "distributedInfo",
            "confidence": "stated",
        }
        for groups in machine.layout.groups.values()
        for group in groups
    ]
    return pl.DataFrame(rows, schema_overrides={"ranks": pl.List(pl.Int32)}) if rows else pl.DataFrame()

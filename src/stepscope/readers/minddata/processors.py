"""Use of processors while the pipeline ran: ``minddata_cpu_utilization``.

MindSpore writes percentages of the whole machine under ``device_info`` and percentages of one core everywhere else;
the table counts cores throughout. The first sample of the machine and of the stages is a placeholder of zeros, since
a use needs two looks; the process has no such placeholder and so one value less. Since 2.0 each look at the machine
is written down twice, the second time as zeros, while user and system time are cut to the first half of that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.readers.files.json_values import as_dict, as_list
from stepscope.readers.files.numbers import integer, number
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.text_files import read_json
from stepscope.readers.slices.track_numbers import TrackNumbers
from stepscope.store.notes import Notes
from stepscope.store.rank_writer import RankWriter

Values = list[float | None]

_MACHINE: Final = {
    "user": ("user_utilization",),
    "system": ("sys_utilization",),
    "io": ("io_utilization",),
    "idle": ("idle_utilization",),
    "runnable": ("runnable_process", "runable_processes", "runnable_processes", "runable_process"),
    "context_switches": ("context_switch_count",),
}
_SHARES: Final = ("user", "system", "io", "idle")
_TASK: Final = {"user": ("user_utilization",), "system": ("sys_utilization",)}
_MEMORY: Final = ("process_memory_info", "system_memory_info")
_NO_STAGE: Final = -1  # threads that belong to no stage


def read_processors(path: Path, reading: Reading, track_numbers: TrackNumbers) -> list[int]:
    """Rows of ``cpu``; returns the times of the samples in ms of the host's steady clock."""
    content = read_json(path, reading)
    if not isinstance(content, dict):
        if content is not None:
            reading.notes.add("mindspore_file_damaged", file=path.name)
        return []
    stamps = as_list(content.get("time_stamp"))
    times = [time for stamp in stamps if (time := integer(stamp, 4 * 10**12)) is not None]
    if len(times) != len(stamps):
        reading.notes.add("mindspore_cells_not_numbers", file=path.name, count=len(stamps) - len(times))
        return []
    cores = integer(content.get("cpu_processor_num"))
    if not cores or cores < 1:
        reading.notes.add("processor_count_missing", file=path.name)
        cores = 1
    machine = _machine(as_dict(content.get("device_info")), len(times), reading.notes, path.name)
    first = 1 if _is_placeholder(machine) else 0
    rows = _rows(times, "machine", None, machine, cores / 100, first)
    rows += _rows(
        times, "process", None, _task(as_dict(content.get("process_info")), times, reading.notes, path.name), 0.01, 0
    )
    for item in as_list(content.get("op_info")):
        if not isinstance(item, dict) or (op := integer(item.get("op_id"))) is None:
            reading.notes.add("mindspore_rows_dropped", file=path.name, place="op_info")
            continue
        scope = "worker" if op == _NO_STAGE else "op"
        rows += _rows(
            times, scope, op, _task(as_dict(item.get("metrics")), times, reading.notes, path.name), 0.01, first
        )
    reading.out.add("cpu", pl.DataFrame(rows, infer_schema_length=None))
    _write_memory(content, times, reading.out, reading.notes, track_numbers, path.name)
    return times


def _machine(info: dict[str, Any], count: int, notes: Notes, file: str) -> dict[str, Values]:
    by_metric = {metric: _numbers(info, names) for metric, names in _MACHINE.items()}
    # A window that began while the pipeline ran has one look more than times: the first, without a value.
    looks = next((looks for looks in (count, count + 1) if any(len(one) == 2 * looks for one in by_metric.values())), 0)
    doubled = count > 0 and looks > 0
    if doubled:
        lost = 0
        for metric, values in by_metric.items():
            by_metric[metric] = values[::2][looks - count :]
            lost = max(lost, count - len(by_metric[metric])) if values else lost
        notes.add("processor_samples_doubled", file=file, count=lost or 1, lost=lost)
    return {metric: _aligned(values, count, doubled, notes, file) for metric, values in by_metric.items()}


def _task(info: dict[str, Any], times: list[int], notes: Notes, file: str) -> dict[str, Values]:
    return {metric: _aligned(_numbers(info, names), len(times), False, notes, file) for metric, names in _TASK.items()}


def _aligned(values: Values, count: int, cut: bool, notes: Notes, file: str) -> Values:
    """One value per time. One less: the first look gave none. ``cut``: the last ones are known to be missing."""
    if not values:
        return [None] * count
    if len(values) == count - 1 and not cut:
        return [None, *values]
    if len(values) != count and not cut:
        notes.add("processor_samples_uneven", file=file, count=abs(len(values) - count))
    return [*values[:count], *[None] * (count - len(values))]


def _is_placeholder(machine: dict[str, Values]) -> bool:
    """Whether the first sample says nothing: shares of a real one add up to the whole machine."""
    firsts = [machine[metric][0] for metric in _SHARES if machine[metric]]
    return bool(firsts) and any(value is not None for value in firsts) and not any(firsts)


def _rows(
    times: list[int], scope: str, number_of: int | None, values: dict[str, Values], share: float, first: int
) -> list[dict[str, Any]]:
    rows = []
    for sample_number in range(first, len(times)):
        sample = {metric: series[sample_number] for metric, series in values.items()}
        if all(value is None for value in sample.values()):
            continue
        for metric in _SHARES:
            if sample.get(metric) is not None:
                sample[metric] = (sample[metric] or 0.0) * share
        length = (times[sample_number] - times[sample_number - 1]) * 10**6 if sample_number else None
        row = {"time_ns": times[sample_number] * 10**6, "scope": scope, "id": number_of, "dur_ns": length}
        rows.append(row | _as_row(sample))
    return rows


def _as_row(sample: dict[str, float | None]) -> dict[str, Any]:
    counts: dict[str, int | None] = {
        metric: integer(sample[metric], 1 << 62) for metric in ("runnable", "context_switches") if metric in sample
    }
    return {**dict.fromkeys(_MACHINE), **sample, **counts}


def _write_memory(
    content: dict[str, Any], times: list[int], out: RankWriter, notes: Notes, track_numbers: TrackNumbers, file: str
) -> None:
    """Memory of the process and of the machine, in MB as written, as counters."""
    for section in _MEMORY:
        for metric, listed in as_dict(content.get(section)).items():
            values = _aligned([number(value) for value in as_list(listed)], len(times), False, notes, file)
            track = track_numbers.track("counter", str(metric), section.replace("_", " "))
            rows = [
                {"track": track, "time_ns": time * 10**6, "value": value}
                for time, value in zip(times, values, strict=True)
                if value is not None
            ]
            out.add("counters", pl.DataFrame(rows))


def _numbers(info: dict[str, Any], names: tuple[str, ...]) -> Values:
    listed: list[Any] = next((info[name] for name in names if isinstance(info.get(name), list)), [])
    return [number(value) for value in listed]

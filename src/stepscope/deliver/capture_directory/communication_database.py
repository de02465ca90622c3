"""``analysis.db`` of PyTorch and ``communication_analyzer.db`` of MindSpore: communication, and PyTorch's step trace.

MindSpore's tables have no steps and no classes, and its matrix has one row per call and link.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from stepscope.deliver.capture_directory.communication_calls import CommunicationCall, communication_calls
from stepscope.deliver.capture_directory.communication_files import bandwidth, communication
from stepscope.deliver.capture_directory.communication_matrix import communication_matrix, links_of
from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.deliver.capture_directory.sqlite_tables import new_database, write_table
from stepscope.deliver.capture_directory.step_trace_time import step_trace_time

_STEP_TRACE: Final = (
    "deviceId INTEGER, step TEXT, computing, communication_not_overlapped, overlapped, communication, free, stage, "
    "bubble, communication_not_overlapped_and_exclude_receive, preparing"
)
_TIME: Final = (
    "hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, transit_time NUMERIC, "
    "wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC"
)
_BANDWIDTH: Final = (
    "hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, "
    "bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, count NUMERIC, total_duration NUMERIC"
)
_MATRIX: Final = (
    "hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT, transit_size NUMERIC, "
    "transit_time NUMERIC, bandwidth NUMERIC"
)
_STEP_AND_CLASS: Final = ", step TEXT, type TEXT"


def write_communication_database(data: RankData, path: Path) -> None:
    """The database; tables without a source are there and empty, because vendor tools expect them."""
    calls = communication_calls(data)
    of_torch = data.backend != "mindspore"
    further = _STEP_AND_CLASS if of_torch else ""
    with new_database(path) as database:
        write_table(database, "CommAnalyzerTime", _TIME + further, _time_rows(calls, of_torch))
        write_table(database, "CommAnalyzerBandwidth", _BANDWIDTH + further, _bandwidth_rows(calls, of_torch))
        if of_torch:
            write_table(database, "CommAnalyzerMatrix", f"{_MATRIX}{further}, op_name TEXT", _matrix_rows(calls))
            steps = step_trace_time(data)
            rows = steps.iter_rows() if steps is not None else ()
            write_table(database, "StepTraceTime", _STEP_TRACE, ((data.device_id, *row) for row in rows))
        else:
            write_table(database, "CommAnalyzerMatrix", _MATRIX, _link_rows(calls))


def _time_rows(calls: list[CommunicationCall], of_torch: bool) -> Iterator[tuple[Any, ...]]:
    for step, classes in (communication(calls) or {}).items():
        for kind, entries in classes.items():
            for name, entry in entries.items():
                if name != "Total Op Info":
                    operation, _, group = name.partition("@")
                    times = list(entry["Communication Time Info"].values())[:6]
                    yield (operation, group, *times, *((step, kind) if of_torch else ()))


def _bandwidth_rows(calls: list[CommunicationCall], of_torch: bool) -> Iterator[tuple[Any, ...]]:
    """One row per size of packets; links that moved nothing are left out."""
    for call in calls:
        for transport, sums in bandwidth(call.transfers).items():
            if not sums["Transit Size(MB)"]:
                continue
            head = (call.name, call.group, transport, *list(sums.values())[:4])
            for size, (count, duration) in (sums["Size Distribution"] or {"0": (0, 0)}).items():
                yield (*head, float(size), count, duration, *((call.step, call.kind) if of_torch else ()))


def _matrix_rows(calls: list[CommunicationCall]) -> Iterator[tuple[Any, ...]]:
    for step, classes in (communication_matrix(calls, "torch") or {}).items():
        for kind, entries in classes.items():
            for name, cells in entries.items():
                operation, _, group = name.partition("@")
                for ends, link in cells.items():
                    source, _, target = ends.partition("-")
                    transport, size, time, rate, *call = link.values()
                    shown = (operation, group, source, target, transport, size, time, rate)
                    yield (*shown, step, kind, call[0] if call else None)


def _link_rows(calls: list[CommunicationCall]) -> Iterator[tuple[Any, ...]]:
    for call in calls:
        for link in links_of(call):
            ends = (str(link.source), str(link.target), link.transport)
            yield (call.name, call.group, *ends, link.megabytes, link.milliseconds, link.gigabytes_per_second)

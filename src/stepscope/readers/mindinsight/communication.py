"""Communication of a rank, per step, call and link: ``hccl_raw``.

A cell of links is ``{"source-target": {"SDMA": [ms, KB, KB/s], "RDMA": [ms, KB, KB/s, waiting ms]}}``, a cell of
calls ``{"stream_48_0_Receive-op663": [step, communication ms, waiting ms, links]}``. A KB is 1000 bytes. In
pipeline-parallel runs the numbers of a link are ranks within the communication group, not of the job: of a
collective the group is taken to be the rank's stage, and the other end of a send or receive stays unknown. Sums of
bandwidths are the vendor's, and stay in ``reported``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl

from stepscope.readers.ascend.device_tasks import collective_kind
from stepscope.readers.files import repair
from stepscope.readers.files.numbers import MS, integer, number, scaled
from stepscope.readers.files.reading import Reading
from stepscope.readers.files.reported import Reported
from stepscope.readers.files.text_files import read_csv
from stepscope.readers.mindinsight.identity import RankIdentity
from stepscope.readers.mindinsight.step_trace import Call
from stepscope.store.notes import Notes

_COLUMNS: Final = ("step_num", "communication_cost", "wait_cost", "link_info", "communication_operator_cost")
_LINK_METRICS: Final = ("communication_cost(ms)", "communication_size(KB)", "band_width(KB/s)", "wait(ms)")
_POINT_TO_POINT: Final = ("send", "receive", "send_receive")
_KILO: Final = 3
_CLOSE: Final = 1e-6


@dataclass
class Communication:
    """Times of calls by step and name, and rows of ``transfers``."""

    transit_ns: dict[tuple[int, str], int] = field(default_factory=dict)
    wait_ns: dict[tuple[int, str], int] = field(default_factory=dict)
    transfers: list[dict[str, Any]] = field(default_factory=list)
    #: Whether all links of a call, in all steps, lead to members of the stage; a call keeps its group.
    within_stage: dict[str, bool] = field(default_factory=dict)

    def transfer_rows(self) -> pl.DataFrame:
        return pl.DataFrame(self.transfers, infer_schema_length=None)

    def of(self, call: Call) -> dict[str, int | None]:
        """Transit and waiting time of a call of the step trace."""
        key = call.step, call.column
        return {"transit_ns": self.transit_ns.get(key), "wait_ns": self.wait_ns.get(key)}


def read_communication(path: Path, identity: RankIdentity, reported: Reported, reading: Reading) -> Communication:
    """All steps of the file; its average row goes to ``reported`` only."""
    lines = _Lines(path.name, identity, reported, reading.notes)
    table = read_csv(path, reading)
    if table is None:
        return lines.result
    cells = {name: table.cells(name) for name in _COLUMNS}
    missing = [name for name, column in cells.items() if column is None]
    if missing:
        reading.notes.add("mindspore_columns_missing", file=path.name, columns=", ".join(missing))
        return lines.result
    for row in zip(*(column for column in cells.values() if column is not None), strict=True):
        said_step, cost, wait, links, calls = row
        step = integer(said_step, 1 << 62)
        label = "average" if step is None else "all calls"
        reported.add(path.name, label, "communication_cost", cost, step)
        reported.add(path.name, label, "wait_cost", wait, step)
        _report_links(path.name, "", _object(links, path.name, reading.notes), step, reported)
        for name, values in _object(calls, path.name, reading.notes).items():
            lines.add_call(repair.clean_text(name), values, step)
    return lines.result


@dataclass
class _Lines:
    """The calls in the lines of one file, and where they go."""

    file: str
    identity: RankIdentity
    reported: Reported
    notes: Notes
    result: Communication = field(default_factory=Communication)

    def add_call(self, name: str, values: Any, step: int | None) -> None:
        if not isinstance(values, list) or len(values) < 3:
            self._drop(name)
            return
        links = values[3] if len(values) > 3 and isinstance(values[3], dict) else {}
        if step is None:
            self.reported.add(self.file, f"average {name}", "communication_cost", values[1])
            self.reported.add(self.file, f"average {name}", "wait_cost", values[2])
            _report_links(self.file, f"average {name} ", links, None, self.reported)
            return
        transit, wait = scaled(values[1], MS), scaled(values[2], MS)
        if transit is None or wait is None:
            self._drop(name)
            return
        self.result.transit_ns[step, name], self.result.wait_ns[step, name] = transit, wait
        self.result.transfers.append(
            {"kind": "wait", "peer": None, "transport": None, "call": name, "step": step, "bytes": None}
            | {"time_ns": wait}
        )
        self._add_links(name, links, step)

    def _add_links(self, name: str, links: dict[str, Any], step: int) -> None:
        operator = name.rsplit("_", maxsplit=1)[-1]
        peers: list[int | None] = []
        for link, transport, numbers in _links(links):
            time, size = scaled(_at(numbers, 0), MS), scaled(_at(numbers, 1), _KILO)
            if time is None or size is None:
                self._drop(name, f" {link}")
                continue
            peer = _peer(link, operator, self.identity, self.file, self.notes)
            peers.append(peer)
            row = {"peer": peer, "transport": transport, "call": name, "step": step}
            self.result.transfers.append(row | {"kind": "payload", "bytes": size, "time_ns": time})
            if (waited := scaled(_at(numbers, 3), MS)) is not None:
                self.result.transfers.append(row | {"kind": "wait", "bytes": None, "time_ns": waited})
            _check_bandwidth(numbers, self.file, self.notes)
        if peers:
            inside = None not in peers and collective_kind(operator) not in _POINT_TO_POINT
            self.result.within_stage[name] = inside and self.result.within_stage.get(name, True)

    def _drop(self, name: str, link: str = "") -> None:
        self.notes.add("mindspore_rows_dropped", file=self.file, place=f"{name[:60]}{link}")


def _peer(link: str, operator: str, identity: RankIdentity, file: str, notes: Notes) -> int | None:
    """The other end of a link as a rank, this rank itself for a copy within the device; None if it cannot be told."""
    source, _, target = link.partition("-")
    ends = integer(source), integer(target)
    if None in ends:
        notes.add("link_end_unknown", file=file)
        return None
    grouped = (identity.stages or 1) > 1
    first = identity.first_of_stage if grouped else 0
    own = identity.rank - first
    if own not in ends or (grouped and collective_kind(operator) in _POINT_TO_POINT):
        notes.add("link_end_unknown", file=file)
        return None
    other = ends[0] if ends[1] == own else ends[1]
    if grouped:
        notes.add("link_ranks_inferred", file=file)
    return None if other is None else first + other


def _check_bandwidth(numbers: list[Any], file: str, notes: Notes) -> None:
    """A link's bandwidth should be its size over its time, in KB/s."""
    time, size, bandwidth = (number(_at(numbers, index)) for index in range(3))
    if time and size is not None and bandwidth is not None:
        expected = size / time * 1000
        notes.add(
            "link_bandwidth_differs", file=file, count=int(abs(bandwidth - expected) > _CLOSE * max(expected, 1.0))
        )


def _report_links(file: str, prefix: str, links: dict[str, Any], step: int | None, reported: Reported) -> None:
    label = prefix or ("average " if step is None else "")
    for link, transport, numbers in _links(links):
        for metric, value in zip(_LINK_METRICS, numbers, strict=False):
            reported.add(file, f"{label}{link} {transport}", metric, value, step)


def _links(links: dict[str, Any]) -> Iterator[tuple[str, str, list[Any]]]:
    for link, transports in links.items():
        for transport, numbers in transports.items() if isinstance(transports, dict) else ():
            if isinstance(numbers, list):
                yield repair.clean_text(link), repair.clean_text(transport), numbers


def _object(cell: str, file: str, notes: Notes) -> dict[str, Any]:
    if not cell:
        return {}
    content = repair.lenient(cell.encode("utf-8", "replace"))
    if not isinstance(content, dict):
        notes.add("mindspore_rows_dropped", file=file, place="links or calls that are no JSON object")
        return {}
    return content


def _at(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else None

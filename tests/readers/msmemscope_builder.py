"""Makes dumps as msMemScope writes them, as csv and as database."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

HEADER = (
    "ID",
    "Event",
    "Event Type",
    "Name",
    "Timestamp(ns)",
    "Process Id",
    "Thread Id",
    "Device Id",
    "Ptr",
    "Attr",
    "Call Stack(Python)",
    "Call Stack(C)",
)
TRACE_HEADER = ("FuncInfo", "StartTime(ns)", "EndTime(ns)", "Thread Id", "Process Id")
T = 1_764_753_365_000_000_000


@dataclass
class Row:
    """One row; texts as the tool has them before it writes, times as distance from T."""

    id: int
    event: str
    type: str
    name: str = "N/A"
    time: int = 0
    pid: Any = 100
    tid: Any = 100
    device: Any = 0
    ptr: Any = "N/A"
    attr: str = ""
    python_stack: str = ""
    c_stack: str = ""


def malloc(number: int, time: int, address: int, size: int, pool: str = "PTA", more: str = "", **fields: Any) -> Row:
    attr = f"{{allocation_id:{number},addr:0x{address:016x},size:{size}{more}}}"
    return Row(number, "MALLOC", pool, time=time, ptr=f"0x{address:016x}", attr=attr, **fields)


def free(number: int, time: int, address: int, size: int, pool: str = "PTA", more: str = "", **fields: Any) -> Row:
    made = malloc(number, time, address, size, pool, more, **fields)
    made.event = "FREE"
    return made


def op(number: int, time: int, name: str, end: bool = False, kind: str = "ATEN", **fields: Any) -> Row:
    return Row(number, "OP_LAUNCH", f"{kind}_{'END' if end else 'START'}", name, time, **fields)


def csv_text(rows: Sequence[Row], header: Sequence[str] = HEADER) -> str:
    """Quotes only where the tool puts them: around attributes, stacks and names of marks."""
    lines = [",".join(header)]
    for row in rows:
        number, event, kind, name, time, pid, tid, device, ptr, attr, python_stack, c_stack = astuple(row)
        quoted = [f'"{text}"' if text else "" for text in (attr, python_stack, c_stack)]
        label = f'"{name}"' if event == "MSTX" else name
        values = (number, event, kind, label, T + time, pid, tid, device, ptr, *quoted)
        lines.append(",".join(map(str, values[: len(header)])))
    return "\n".join(lines) + "\n"


def write_csv(path: Path, rows: Sequence[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(csv_text(rows), "utf-8")
    return path


def as_json(attr: str) -> str:
    """As the tool's first versions made it: cut at every comma, so that a value with commas is lost in part."""
    parts = [part.partition(":") for part in attr.strip("{}").split(",")]
    pairs = [f'"{key}":"{value}"' if colon else "" for key, colon, value in parts]
    return (
        "{" + ",".join(pair for pair in pairs if pair) + ("," if pairs and not pairs[-1] else "") + "}"
        if attr
        else "{}"
    )


def write_db(path: Path, rows: Sequence[Row], table: str = "memscope_dump", functions: Sequence[Any] = ()) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        columns = ", ".join(f'"{name}" {"INTEGER" if name in HEADER[:1] + HEADER[4:7] else "TEXT"}' for name in HEADER)
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
        for row in rows:
            values = list(astuple(row))
            values[4] += T
            values[5], values[6] = (-1 if value == "N/A" else value for value in values[5:7])
            values[7] = str(values[7])
            values[3] = f'"{values[3]}"' if row.event == "MSTX" else values[3]
            values[9] = as_json(row.attr)
            values[10:] = [f'"{text}"' if text else "" for text in values[10:]]
            connection.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(values))})", values)
        if functions:
            connection.execute(
                'CREATE TABLE python_trace_100 ("FuncInfo" TEXT, "StartTime(ns)" TEXT, "EndTime(ns)" TEXT,'
                ' "Thread Id" INTEGER, "Process Id" INTEGER)'
            )
            connection.executemany("INSERT INTO python_trace_100 VALUES (?,?,?,?,?)", functions)
        connection.commit()
    return path

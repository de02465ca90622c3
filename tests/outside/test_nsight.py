"""The Nsight Systems export by strangers, against SQL over the same file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import polars as pl
import pytest

from outside.captures import opened, outside

_NAME = "nsys/h100_2gpu_1s.sqlite"


def _asked(query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{outside(_NAME)}?mode=ro", uri=True)) as database:
        return database.execute(query).fetchall()


def test_each_process_is_a_rank_with_its_own_work() -> None:
    run = opened(_NAME)
    processes = _asked("SELECT globalPid, deviceId FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 1, 2 ORDER BY 2")
    assert run.ranks == [0, 1] == [device for _, device in processes]
    for rank, (process, _) in enumerate(processes):
        found = {
            kind: (count, spent)
            for kind, count, spent in run.sql(
                f"SELECT kind, count(*), sum(dur_ns) FROM slices WHERE rank = {rank} GROUP BY 1"
            ).rows()
        }
        expected = {}
        for kind, tables in {
            "kernel": ["KERNEL"],
            "copy": ["MEMCPY", "MEMSET"],
            "sync": ["SYNCHRONIZATION"],
        }.items():
            rows = [
                _asked(
                    f"SELECT count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_{table} WHERE globalPid = {process}"
                )[0]
                for table in tables
            ]
            expected[kind] = tuple(map(sum, zip(*rows, strict=True)))
        own = f"(globalTid >> 24) << 24 = {process}"
        for kind, table in (("runtime", "CUPTI_ACTIVITY_KIND_RUNTIME"), ("operator", "NVTX_EVENTS")):
            expected[kind] = _asked(f"SELECT count(*), sum(end - start) FROM {table} WHERE {own}")[0]
        expected["overhead"] = _asked(
            f"SELECT count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_OVERHEAD WHERE {own}"
        )[0]
        assert found == {kind: row for kind, row in expected.items() if row[0]}


def test_launches_join_within_a_process() -> None:
    run = opened(_NAME)
    joined = _asked(
        "SELECT count(*) FROM (SELECT correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL UNION ALL "
        "SELECT correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_MEMCPY UNION ALL "
        "SELECT correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_MEMSET) AS work WHERE EXISTS ("
        "SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME AS call WHERE call.correlationId = work.correlationId "
        "AND (call.globalTid >> 24) << 24 = work.globalPid)"
    )[0][0]
    assert run.table("links").filter(pl.col("kind").cast(pl.String) == "launch").collect().height == joined


def test_times_are_those_of_the_day() -> None:
    run = opened(_NAME)
    ((epoch, clock),) = _asked("SELECT utcEpochNs, systemClockNs FROM TARGET_INFO_SESSION_START_TIME")
    ((first,),) = _asked("SELECT min(start) FROM CUPTI_ACTIVITY_KIND_KERNEL")
    assert run.sql("SELECT min(start_ns) FROM slices WHERE kind = 'kernel'").item() == first - clock + epoch
    about = run.table("ranks").collect().to_dicts()
    assert [(row["host"], row["device_kind"], row["framework"]) for row in about] == [("modal", "gpu", "pytorch")] * 2
    assert run.steps()["computing_us"].sum() == pytest.approx(23_147, abs=50)

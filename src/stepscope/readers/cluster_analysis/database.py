"""``cluster_analysis.db``: the analysis in SQLite form, and what the recipes of msprof-analyze add to it."""

from __future__ import annotations

import json
import re
from typing import Final

import polars as pl

from stepscope.errors import UnreadableInputError
from stepscope.readers.ascend import vendor_numbers as vendor
from stepscope.readers.ascend.identity import group_id
from stepscope.readers.cluster_analysis.rows import (
    BAND_TYPES,
    BANDS,
    COORDINATES,
    LINK_TYPES,
    STEP_TYPES,
    TIME_TYPES,
    TIMES,
    Cluster,
)
from stepscope.readers.sqlite.database import Database
from stepscope.store.notes import Notes

_STEPS, _TIMES, _BANDS = "ClusterStepTraceTime", "ClusterCommunicationTime", "ClusterCommunicationBandwidth"
_LINKS, _GROUPS, _BASE = "ClusterCommunicationMatrix", "CommunicationGroupMapping", "ClusterBaseInfo"
_HOSTS, _DEVICES = "HostInfo", "RankDeviceMap"
_TELLING: Final = frozenset((_STEPS, _TIMES, _BANDS, _LINKS, _GROUPS, _BASE))
_RECIPES: Final = re.compile(
    r"SlowRank|SlowOpStats|ClusterTimeSummary|Hccl\w+|ComputeOp\w+|CannApiSum\w*|MSTX\w+|EPTokensSummary"
    r"|TopEPTokensInfo|FreeFrequencyRanks|AbnormalFrequencyRanks|StepTaskInfo"
)
_RANK_NAMES: Final = ("rankid", "rank", "rank_id")
_MOST_SHOWN: Final = 10


def is_cluster_database(database: Database) -> bool:
    """Whether a database has tables of a cluster analysis."""
    return bool(database.tables.keys() & _TELLING)


def read_database(database: Database, cluster: Cluster, notes: Notes) -> None:
    """All tables into ``cluster``."""
    if not is_cluster_database(database):
        tables = ", ".join(list(database.tables)[:_MOST_SHOWN]) or "-"
        raise UnreadableInputError("db_foreign_schema", path=str(database.path), tables=tables[:500])
    cluster.source_of = dict.fromkeys(("steps", "calls", "links", "recipes"), database.file)
    rank, names = ["rank|rank_id"], list(vendor.NAMES)
    times = ["elapse_time|elapsed_time" if name == "elapse_time" else name for name in TIMES]
    cluster.times = database.frame(_TIMES, rank, times, [*names, vendor.START]).select(list(TIME_TYPES))
    cluster.bands = database.frame(_BANDS, rank, BANDS, [*names, "transport_type|band_type"]).select(list(BAND_TYPES))
    links = database.frame(_LINKS, ["src_rank", "dst_rank"], list(vendor.LINK_COLUMNS), [*names, "transport_type"])
    cluster.links = links.with_columns(rank="src_rank").select(list(LINK_TYPES))
    coordinates = [f"{name}|{name}_index" for name in COORDINATES]
    steps = database.frame(_STEPS, coordinates, list(vendor.STEP_COLUMNS), ["step", "type", "index"])
    cluster.steps = steps.select(list(STEP_TYPES))
    for members, group, long_name, label in database.frame(
        _GROUPS, texts=["rank_set", "group_name", "group_id", "pg_name"]
    ).iter_rows():
        cluster.add_group(group_id(group or long_name or ""), members or "", label)
    hosts = dict(database.frame(_HOSTS, texts=["hostUid", "hostName"]).iter_rows())
    for number, device, host in database.frame(_DEVICES, ["rankId", "deviceId"], texts=["hostUid"]).iter_rows():
        if number is not None:
            cluster.ranks[number] = {"host": hosts.get(host), "device_index": device}
    cluster.world_size = _world_size(database)
    for table in database.tables:
        if _RECIPES.fullmatch(table):
            cluster.recipes.append(_recipe(database, table))
        elif table not in (*_TELLING, _HOSTS, _DEVICES):
            notes.add("db_table_foreign", file=database.file, table=table[:80], count=database.count(table))


def _world_size(database: Database) -> int | None:
    for key, value in database.frame(_BASE, texts=["key", "value"]).iter_rows():
        if key == "distributed_args":
            try:
                stated = json.loads(value or "").get("world_size")
            except (ValueError, AttributeError, RecursionError):
                return None
            return stated if isinstance(stated, int) and 0 < stated < 1 << 31 else None
    return None


def _recipe(database: Database, table: str) -> pl.DataFrame:
    """Rows of ``reported`` from a table of any columns: texts name its rows, numbers are its metrics."""
    stored = list(database.columns(table).values())
    rows = database.frame(table, texts=stored)
    numbers = {name: rows[name].cast(pl.Float64, strict=False) for name in stored}
    words = [name for name in stored if numbers[name].null_count() > rows[name].null_count()]
    by_rank = next((name for name in stored if name.lower() in _RANK_NAMES), None)
    metrics = [name for name in stored if name not in (*words, by_rank, "step")]
    cells = rows.select(
        (rows[by_rank].cast(pl.Int64, strict=False) if by_rank else pl.lit(None, pl.Int64)).alias("rank"),
        (rows["step"] if "step" in stored else pl.lit(None, pl.String)).alias("step"),
        pl.concat_str(pl.lit(table), *(rows[name] for name in words), separator=" ", ignore_nulls=True).alias("key"),
        *(numbers[name].alias(f"value {name}") for name in metrics),
    )
    if not metrics:
        return cells.clear().select("rank", pl.col("step").cast(pl.Int64), "key", metric="key", value=pl.lit(0.0))
    return vendor.cells(cells, pl.col("key"), pl.lit(""), {f"value {name}": name for name in metrics})

"""From the vendor's columns to the tables of a run."""

from __future__ import annotations

from typing import Final

import polars as pl

from stepscope.readers.ascend import vendor_numbers as vendor
from stepscope.readers.ascend.device_tasks import call_number, collective_kind, transport
from stepscope.readers.cluster_analysis.rows import COORDINATES, TIMES, Cluster
from stepscope.store.rank_writer import RankWriter

_ORIGIN: Final = "cluster_analysis"
_TOTAL: Final = "Total Op Info"
_REPORTED: Final = ("rank", "file", "step", "key", "metric", "value")


def write(cluster: Cluster, source: str, out: RankWriter) -> None:
    """All tables; a cluster analysis has no timeline, so there are no slices."""
    out.add("ranks", _ranks(cluster, source))
    _write_reported(cluster, out)
    out.add("collectives", _collectives(cluster.times))
    out.add("transfers", _transfers(cluster.links))
    schema = {"group": pl.String(), "name": pl.String(), "ranks": pl.List(pl.Int32), "dimension": pl.String()}
    groups = pl.DataFrame(list(cluster.groups.values()), schema=schema)
    out.add("groups", groups.with_columns(origin=pl.lit(_ORIGIN), confidence=pl.lit("stated")))


def _ranks(cluster: Cluster, source: str) -> pl.DataFrame:
    steps = cluster.steps_with_ranks().drop_nulls("rank")
    coordinates = steps.group_by("rank").agg(pl.col(list(COORDINATES)).drop_nulls().first())
    stated = [{"rank": rank, **columns} for rank, columns in cluster.ranks.items()]
    hosts = pl.DataFrame(stated, schema={"rank": pl.Int64, "host": pl.String, "device_index": pl.Int64})
    known = pl.DataFrame({"rank": cluster.known_ranks()}, schema={"rank": pl.Int64})
    return (
        known.join(coordinates, on="rank", how="left")
        .join(hosts, on="rank", how="left")
        .sort("rank")
        .with_columns(
            pl.when(pl.col(*COORDINATES, "device_index").is_between(0, (1 << 31) - 1)).then(
                pl.col(*COORDINATES, "device_index")
            ),
            world_size=pl.lit(cluster.world_size, pl.Int64),
            device_kind=pl.lit("npu"),
            source=pl.lit(source),
        )
    )


def _write_reported(cluster: Cluster, out: RankWriter) -> None:
    stage = pl.when(pl.col("rank").is_null()).then(pl.concat_str("type", "index", separator=" "))
    for name, frames in {
        "steps": [vendor.cells(cluster.steps_with_ranks(), stage, pl.lit(""), vendor.STEP_COLUMNS)],
        "calls": [vendor.cells(cluster.times, vendor.key(), pl.lit(""), TIMES), *vendor.band_cells(cluster.bands)],
        "links": [vendor.link_cells(cluster.links)],
        "recipes": cluster.recipes,
    }.items():
        if frames:
            file = pl.lit(cluster.source_of.get(name, ""))
            out.add("reported", pl.concat(frames).with_columns(file=file).select(_REPORTED))


def _collectives(times: pl.DataFrame) -> pl.DataFrame:
    calls = vendor.call_times(times.filter(~pl.col("hccl_op_name").str.starts_with(_TOTAL)))
    calls = calls.filter(pl.col("rank").is_not_null() & pl.col("start_ns").is_not_null())
    names = calls["name"].unique().to_list()
    return calls.with_columns(
        end_ns=pl.col("start_ns") + pl.col("elapse_ns").fill_null(0),
        kind=pl.col("name").replace_strict({name: collective_kind(name) for name in names}, return_dtype=pl.String),
        seq=pl.col("name").replace_strict({name: call_number(name) for name in names}, return_dtype=pl.Int64),
    ).drop("elapse_ns")


def _transfers(links: pl.DataFrame) -> pl.DataFrame:
    """Totals only, because the other entries of the matrix show parts of them again."""
    grand = links.filter(pl.col("hccl_op_name").str.starts_with(_TOTAL))
    by_kind = links["hccl_op_name"].str.ends_with("-total").any()
    moved = vendor.link_totals((grand if grand.height and not by_kind else links).drop_nulls(["src_rank", "dst_rank"]))
    words = {word: transport(word) for word in moved["transport"].drop_nulls().unique()}
    return moved.with_columns(
        kind=pl.lit("payload"),
        transport=pl.col("transport").replace_strict(words, default=None, return_dtype=pl.String),
    ).rename({"source": "rank"})

"""Records in a Parquet file of strangers, by DuckDB: Polars ends the whole process on some damaged files."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from stepscope.errors import UnreadableInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

COLUMNS: Final = {
    "dp_rank": pl.Int64,
    "stage": pl.Int64,
    "rank": pl.Int64,
    "step": pl.Int64,
    "optype": pl.String,
    "start_ts": pl.Float64,
    "duration": pl.Float64,
}
_SQL_TYPE: Final = {pl.Int64: "BIGINT", pl.String: "VARCHAR", pl.Float64: "DOUBLE"}
_MEMORY: Final = "512MB"
_MOST_SECONDS: Final = 1e9  # of a time; what is larger does not fit into nanoseconds
_CASTS: Final = ", ".join(f"TRY_CAST({name} AS {_SQL_TYPE[kind]}) AS {name}" for name, kind in COLUMNS.items())
_COMPLETE: Final = " AND ".join(f"{name} IS NOT NULL" for name in COLUMNS)
_IN_RANGE: Final = f"abs(start_ts) < {_MOST_SECONDS} AND abs(duration) < {_MOST_SECONDS}"
_USABLE: Final = f"SELECT *, {_COMPLETE} AND {_IN_RANGE} AS usable FROM (SELECT {_CASTS} FROM read_parquet(?))"


def has_records(path: Path) -> bool:
    """Whether it is a Parquet file with the columns of operations."""
    try:
        described = _select("DESCRIBE SELECT * FROM read_parquet(?)", [str(path)], path)
    except UnreadableInputError:
        return False
    return set(COLUMNS) <= {name for name, *_ in described}


def ranks(path: Path) -> list[int]:
    """Ranks that have records, in order."""
    rows = _select(f"SELECT DISTINCT rank FROM ({_USABLE}) WHERE usable ORDER BY rank", [str(path)], path)
    return [rank for (rank,) in rows]


def records_of_rank(path: Path, rank: int | None) -> tuple[pl.DataFrame, int]:
    """All columns of the rank's records; and how many records of it lack a value or hold one out of range."""
    query = f"SELECT * FROM ({_USABLE}) WHERE rank IS NOT DISTINCT FROM ?"
    rows = pl.DataFrame(_select(query, [str(path), rank], path), {**COLUMNS, "usable": pl.Boolean}, orient="row")
    usable = rows.filter(pl.col("usable").fill_null(False)).drop("usable")
    return usable, rows.height - usable.height


def step_lengths(path: Path) -> pl.DataFrame:
    """Every step of the job, in order, with the seconds from its start to its last end on any rank."""
    query = f"SELECT step, max(start_ts + duration) FROM ({_USABLE}) WHERE usable GROUP BY step ORDER BY step"
    return pl.DataFrame(_select(query, [str(path)], path), {"step": pl.Int64, "seconds": pl.Float64}, orient="row")


@lru_cache(maxsize=1)
def places(path: Path, _changed_ns: int) -> pl.DataFrame:
    """``rank, dp, pp, line, optype``: where each rank of the file, as it is now, stands in the job, and what it did.

    A ``line`` goes through all stages: of data-parallel ranks, or of their tensor-parallel members where these have
    records of their own.
    """
    query = f"SELECT DISTINCT rank, dp_rank, stage, optype FROM ({_USABLE}) WHERE usable ORDER BY ALL"
    names = {"rank": pl.Int64, "dp": pl.Int64, "pp": pl.Int64, "optype": pl.String}
    member = pl.col("rank").rank("dense").over("dp", "pp")
    return pl.DataFrame(_select(query, [str(path)], path), names, orient="row").with_columns(
        line=pl.struct("dp", member.alias("member")).rank("dense"), member=member
    )


def _select(query: str, parameters: Sequence[Any], path: Path) -> list[tuple[Any, ...]]:
    import duckdb

    try:
        with duckdb.connect(":memory:", config={"memory_limit": _MEMORY, "threads": 1}) as connection:
            return connection.execute(query, parameters).fetchall()
    except (duckdb.Error, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UnreadableInputError("cannot_read", path=str(path), reason=reason) from error

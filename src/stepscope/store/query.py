"""Read-only SQL over the tables of a run. DuckDB sees the run's files and nothing else."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl

from stepscope.errors import NoAnswerError, UsageError
from stepscope.store import schema
from stepscope.store.run_store import RunStore

if TYPE_CHECKING:
    import duckdb

_AS_TEXT: Final = re.compile(r"TIME ZONE|MAP\(|TUPLE\(|UNION\(|UUID")
_ROWS_AT_ONCE: Final = 1_000
_DUCKDB_TYPES: Final = {
    "Int32": "INTEGER",
    "Int64": "BIGINT",
    "UInt32": "UINTEGER",
    "UInt64": "UBIGINT",
    "Float64": "DOUBLE",
    "Boolean": "BOOLEAN",
    "List(Int32)": "INTEGER[]",
}


@dataclass(frozen=True)
class Bounds:
    """What one query may cost. Without a bound it costs what it costs."""

    rows: int | None = None
    answer_bytes: int | None = None
    memory_bytes: int | None = None
    threads: int | None = None


class Selected(NamedTuple):
    """The result of a query; ``cut`` says that there was more than the bounds allow."""

    frame: pl.DataFrame
    cut: bool


def select(store: RunStore, query: str) -> pl.DataFrame:
    """The result of one SELECT as a frame."""
    return bounded(store, query, Bounds()).frame


def bounded(store: RunStore, query: str, bounds: Bounds) -> Selected:
    """The result of one SELECT, or as much of it as the bounds allow."""
    import duckdb

    connection = duckdb.connect(":memory:")
    try:
        _prepare(connection, store, bounds)
        statements = connection.extract_statements(query)
        if len(statements) != 1:
            raise UsageError("sql_one_statement", count=len(statements))
        if statements[0].type != duckdb.StatementType.SELECT:  # EXPLAIN ANALYZE executes what it explains, also a COPY
            raise UsageError("sql_only_select", kind=statements[0].type.name)
        return _fetch(connection, connection.sql(query), bounds)
    except duckdb.OutOfMemoryException as error:
        raise UsageError("sql_too_much_memory", megabytes=(bounds.memory_bytes or 0) >> 20) from error
    except duckdb.Error as error:
        if gone := store.damaged(store.manifest.sizes):
            raise NoAnswerError("store_gone", reason=gone[0]) from error
        raise UsageError("sql_error", reason=str(error)) from error
    finally:
        connection.close()


def _prepare(connection: duckdb.DuckDBPyConnection, store: RunStore, bounds: Bounds) -> None:
    """Make each table of the run a view; no access to anything else, and that is locked."""
    if bounds.memory_bytes is not None:
        connection.execute(f"SET memory_limit = '{bounds.memory_bytes}B'")
    if bounds.threads is not None:
        connection.execute(f"SET threads = {bounds.threads}")
    files = [str(store.directory / name) for name in store.intact_files(lambda: list(store.manifest.sizes))]
    connection.execute(f"SET allowed_paths = {_list(files)}")
    connection.execute("SET temp_directory = ''")
    connection.execute("SET enable_external_access = false")
    for table in schema.TABLES.values():
        connection.execute(f'CREATE VIEW "{table.name}" AS {_body(store, table)}')
    connection.execute("SET lock_configuration = true")


def _body(store: RunStore, table: schema.Table) -> str:
    files = [str(store.directory / name) for name in store.manifest.files(table.name)]
    if files:
        return f"SELECT * FROM read_parquet({_list(files)})"
    columns = ", ".join(f'CAST(NULL AS {_duckdb_type(column.type)}) AS "{column.name}"' for column in table.columns)
    return f"SELECT {columns} WHERE false"


def _list(texts: list[str]) -> str:
    return "[" + ", ".join("'" + text.replace("'", "''") + "'" for text in texts) + "]"


def _duckdb_type(kind: Any) -> str:
    return _DUCKDB_TYPES.get(str(kind), "VARCHAR")


def _fetch(connection: duckdb.DuckDBPyConnection, result: duckdb.DuckDBPyRelation, bounds: Bounds) -> Selected:
    names = _unique(result.columns)
    # Types for which DuckDB would need pytz, or that no frame has.
    texts = [_AS_TEXT.search(str(kind)) is not None for kind in result.types]
    rows, cut = _rows(connection, _with_texts(result, texts), bounds)
    try:
        return Selected(pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None), cut)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        # Values of one column that no column of a frame holds side by side.
        rows, cut = _rows(connection, _with_texts(result, [True] * len(names)), bounds)
        return Selected(pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row"), cut)


def _with_texts(result: duckdb.DuckDBPyRelation, texts: list[bool]) -> duckdb.DuckDBPyRelation:
    columns = [f"CAST(#{column} AS VARCHAR)" if as_text else f"#{column}" for column, as_text in enumerate(texts, 1)]
    return result.project(", ".join(columns))


def _rows(
    connection: duckdb.DuckDBPyConnection, result: duckdb.DuckDBPyRelation, bounds: Bounds
) -> tuple[list[Any], bool]:
    """The rows, and whether there were more than the bounds allow."""
    if bounds.rows is not None:
        result = result.limit(bounds.rows + 1)
    if bounds.answer_bytes is None:
        rows = result.fetchall()
        return rows[: bounds.rows], bounds.rows is not None and len(rows) > bounds.rows
    rows, size = [], 0
    connection.execute(result.sql_query())
    while batch := connection.fetchmany(_ROWS_AT_ONCE):
        for row in batch:
            size += sum(map(_bytes_of, row))
            if size > bounds.answer_bytes or len(rows) == bounds.rows:
                return rows, True
            rows.append(row)
    return rows, False


def _bytes_of(value: Any) -> int:
    """What a value takes in an answer, about."""
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, dict):
        return sum(len(str(key)) + _bytes_of(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return sum(map(_bytes_of, value))
    return 8


def _unique(names: list[str]) -> list[str]:
    """SELECT a, a is legal SQL; columns of a frame need names of their own."""
    result: list[str] = []
    for name in names:
        free = (f"{name}_{number}" for number in itertools.count(2))
        result.append(name if name not in result else next(other for other in free if other not in names + result))
    return result

"""Read-only SQL over the tables of a run. DuckDB sees the run's files and nothing else."""

from __future__ import annotations

import itertools
import re
import threading
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from stepscope.errors import NoAnswerError, UsageError
from stepscope.store import schema
from stepscope.store.run_store import RunStore

if TYPE_CHECKING:
    import duckdb

_AS_TEXT: Final = re.compile(r"TIME ZONE|MAP\(")
_DUCKDB_TYPES: Final = {
    "Int32": "INTEGER",
    "Int64": "BIGINT",
    "UInt32": "UINTEGER",
    "UInt64": "UBIGINT",
    "Float64": "DOUBLE",
    "Boolean": "BOOLEAN",
    "List(Int32)": "INTEGER[]",
}


def select(
    store: RunStore, query: str, *, most_rows: int | None = None, most_seconds: float | None = None
) -> pl.DataFrame:
    """Run one SELECT; the result as a frame. A bound on rows cuts the result, one on seconds stops the query."""
    import duckdb

    connection = duckdb.connect(":memory:")
    clock = threading.Timer(most_seconds, connection.interrupt) if most_seconds is not None else None
    try:
        _prepare(connection, store)
        statements = connection.extract_statements(query)
        if len(statements) != 1:
            raise UsageError("sql_one_statement", count=len(statements))
        if statements[0].type != duckdb.StatementType.SELECT:  # EXPLAIN ANALYZE executes what it explains, also a COPY
            raise UsageError("sql_only_select", kind=statements[0].type.name)
        if clock is not None:
            clock.start()
        result = connection.sql(query)
        return _frame(result if most_rows is None else result.limit(most_rows))
    except duckdb.InterruptException as error:
        raise UsageError("sql_too_long", seconds=most_seconds) from error
    except duckdb.Error as error:
        if gone := store.damaged(store.manifest.sizes):
            raise NoAnswerError("store_gone", reason=gone[0]) from error
        raise UsageError("sql_error", reason=str(error)) from error
    finally:
        if clock is not None:
            clock.cancel()
        connection.close()


def _prepare(connection: duckdb.DuckDBPyConnection, store: RunStore) -> None:
    """Make each table of the run a view; no access to anything else, and that is locked."""
    files = [str(store.directory / name) for name in store.whole(lambda: list(store.manifest.sizes))]
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


def _frame(result: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    names = _unique(result.columns)
    # Types for which DuckDB would need pytz, or that no frame has.
    columns = [
        f"CAST(#{column} AS VARCHAR)" if _AS_TEXT.search(str(kind)) else f"#{column}"
        for column, kind in enumerate(result.types, 1)
    ]
    rows = result.project(", ".join(columns)).fetchall()
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


def _unique(names: list[str]) -> list[str]:
    """SELECT a, a is legal SQL; columns of a frame need names of their own."""
    result: list[str] = []
    for name in names:
        free = (f"{name}_{number}" for number in itertools.count(2))
        result.append(name if name not in result else next(other for other in free if other not in names + result))
    return result

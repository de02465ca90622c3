"""Read-only SQL over the tables of a run. DuckDB sees the run's files and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

from stepscope.errors import NoAnswerError, UsageError
from stepscope.store import schema
from stepscope.store.run_store import RunStore

if TYPE_CHECKING:
    import duckdb

_DUCKDB_TYPES: Final = {
    "Int32": "INTEGER",
    "Int64": "BIGINT",
    "UInt32": "UINTEGER",
    "UInt64": "UBIGINT",
    "Float64": "DOUBLE",
    "Boolean": "BOOLEAN",
    "List(Int32)": "INTEGER[]",
}


def select(store: RunStore, query: str) -> pl.DataFrame:
    """Run one SELECT; the result as a frame."""
    import duckdb

    connection = connect(store)
    try:
        statements = connection.extract_statements(query)
        if len(statements) != 1:
            raise UsageError("sql_one_statement", count=len(statements))
        if statements[0].type not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
            raise UsageError("sql_only_select", kind=statements[0].type.name)
        return _frame(connection.execute(statements[0]))
    except duckdb.IOException as error:
        raise NoAnswerError("store_gone", reason=str(error)) from error
    except duckdb.Error as error:
        raise UsageError("sql_error", reason=str(error)) from error
    finally:
        connection.close()


def connect(store: RunStore) -> duckdb.DuckDBPyConnection:
    """A connection in which each table of the run is a view; no access to anything else, and that is locked."""
    import duckdb

    connection = duckdb.connect(":memory:")
    files = [str(store.directory / name) for name in store.manifest.sizes]
    connection.execute(f"SET allowed_paths = {_list(files)}")
    connection.execute("SET enable_external_access = false")
    for table in schema.TABLES.values():
        connection.execute(f'CREATE VIEW "{table.name}" AS {_body(store, table)}')
    connection.execute("SET lock_configuration = true")
    return connection


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


def _frame(result: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    names = [column[0] for column in result.description or ()]
    return pl.DataFrame(result.fetchall(), schema=_unique(names), orient="row", infer_schema_length=None)


def _unique(names: list[str]) -> list[str]:
    """SELECT a, a is legal SQL; columns of a frame need names of their own."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return result

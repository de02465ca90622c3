"""SQL over a run: answers like the tables, reads nothing else, changes nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

import stepscope
from stepscope.errors import UnreadableInputError, UsageError
from stepscope.run import Run
from stepscope.store import schema
from support.mini_trace import slices_in, write_rank


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rank(tmp_path_factory.mktemp("query") / "trace.json")


@pytest.fixture(scope="module")
def run(trace: Path) -> Run:
    return stepscope.load(trace, store=trace.parent / "store")


def test_a_select_answers_from_the_tables(run: Run, trace: Path) -> None:
    found = run.sql("SELECT name, start_ns, dur_ns FROM slices")
    assert sorted(found.iter_rows()) == sorted(slices_in(trace).elements())


def test_tables_join(run: Run) -> None:
    # Every kernel has one launch: six of training_step's operators.
    found = run.sql(
        "SELECT launch.name AS launch, kernel.name AS kernel, count(*) AS calls FROM links "
        "JOIN slices launch ON launch.slice = from_slice JOIN slices kernel ON kernel.slice = to_slice "
        "WHERE links.kind = 'launch' GROUP BY ALL"
    )
    assert found.rows() == [("cudaLaunchKernel", "sgemm_128x64", 6)]


@pytest.mark.parametrize("table", schema.TABLES)
def test_a_table_has_its_columns_whether_it_has_rows_or_not(run: Run, table: str) -> None:
    found = run.sql(f'SELECT * FROM "{table}"')
    assert found.columns == [column.name for column in schema.TABLES[table].columns]
    assert found.height == run.table(table).collect().height


def test_an_empty_table_can_be_counted_with(run: Run) -> None:
    assert run.sql("SELECT sum(bytes) AS bytes, max(alloc_ns - 1) AS last FROM allocations").rows() == [(None, None)]
    assert run.sql("SELECT len(ranks) FROM groups WHERE false").height == 0


def test_columns_named_like_words_of_sql_are_quoted(run: Run) -> None:
    assert run.sql('SELECT DISTINCT "group" FROM collectives').rows() == [("0",)]
    assert run.sql('SELECT DISTINCT "order" FROM tracks ORDER BY "order"').height >= 2


def test_one_name_twice_is_legal(run: Run) -> None:
    found = run.sql("SELECT 1 AS a, 2 AS a, 3 AS a_2")
    assert found.row(0) == (1, 2, 3)
    assert len(set(found.columns)) == 3


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(SELECT sum(x) FROM (VALUES (9223372036854775807), (1)) AS t(x))", 9223372036854775808),
        ("18446744073709551615::UBIGINT", 18446744073709551615),
        ("NULL", None),
        ("[1, NULL, 3]", [1, None, 3]),
        ("{'a': 1, 'b': 'x'}", {"a": 1, "b": "x"}),
        ("'中文'", "中文"),
    ],
)
def test_values_of_sql_arrive_as_they_are(run: Run, expression: str, value: object) -> None:
    assert run.sql(f"SELECT {expression} AS it").to_dicts() == [{"it": value}]


@pytest.mark.parametrize("expression", ["MAP {1: 2}", "now()", "uuid()", "INTERVAL 1 DAY", "'\\xAA'::BLOB", "'1'::BIT"])
def test_no_type_of_sql_makes_a_query_fail(run: Run, expression: str) -> None:
    assert run.sql(f"SELECT {expression} AS it").shape == (1, 1)


@pytest.mark.parametrize("count", [0, 2])
def test_exactly_one_statement_is_taken(run: Run, count: int) -> None:
    with pytest.raises(UsageError) as caught:
        run.sql("; ".join(["SELECT 1"] * count))
    assert caught.value.code == "sql_one_statement"


@pytest.mark.parametrize(
    "statement",
    [
        "COPY slices TO '{out}'",
        "COPY (SELECT 1) TO '{out}' (FORMAT parquet)",
        "ATTACH '{out}'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "PRAGMA database_list",
        "SET memory_limit = '1GB'",
        "RESET memory_limit",
        "CREATE TABLE mine AS SELECT 1",
        "CREATE OR REPLACE VIEW slices AS SELECT 1",
        "DROP VIEW slices",
        "INSERT INTO slices SELECT * FROM slices",
        "DELETE FROM slices",
        "UPDATE slices SET row = 0",
        "EXPORT DATABASE '{out}'",
        "CALL pragma_version()",
        "CHECKPOINT",
        "VACUUM",
    ],
)
def test_what_is_no_select_is_refused(run: Run, tmp_path: Path, statement: str) -> None:
    with pytest.raises(UsageError) as caught:
        run.sql(statement.format(out=tmp_path / "out"))
    assert caught.value.code == "sql_only_select"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM read_blob('{file}')",
        "SELECT * FROM read_json('{file}')",
        "SELECT * FROM read_parquet('{parquet}')",
        "SELECT * FROM '{parquet}'",
        "FROM '{file}'",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM glob('{directory}/*')",
        "SELECT * FROM query('SELECT * FROM read_text(''{file}'')')",
        "SELECT * FROM read_csv('https://example.com/a.csv')",
        "SELECT getenv('HOME')",
        "SELECT * FROM sqlite_scan('{file}', 'a')",
        "SELECT * FROM duckdb_secrets()",
        "SELECT * FROM parquet_metadata('{parquet}')",
    ],
)
def test_nothing_but_the_run_can_be_read(run: Run, tmp_path: Path, query: str) -> None:
    file, parquet = tmp_path / "secret.csv", tmp_path / "secret.parquet"
    file.write_text("a,b\nsecret,2\n")
    pl.DataFrame({"a": ["secret"]}).write_parquet(parquet)
    with pytest.raises(UsageError) as caught:
        run.sql(query.format(file=file, parquet=parquet, directory=tmp_path))
    assert caught.value.code == "sql_error"


@pytest.mark.parametrize("target", ["the store", "elsewhere"])
def test_explaining_a_write_does_not_write(trace: Path, tmp_path: Path, target: str) -> None:
    run = stepscope.load(trace, store=tmp_path / "store")
    stored = next(run.store.directory.rglob("details-0.parquet"))
    before = stored.read_bytes()
    out = stored if target == "the store" else tmp_path / "out.parquet"
    with pytest.raises(UsageError):
        run.sql(f"EXPLAIN ANALYZE COPY (SELECT 1) TO '{out}' (USE_TMP_FILE false)")
    assert stored.read_bytes() == before
    assert not (tmp_path / "out.parquet").exists()


def test_settings_cannot_be_undone_by_a_function(run: Run) -> None:
    for setting, value in (("enable_external_access", "false"), ("lock_configuration", "true")):
        assert str(run.sql(f"SELECT current_setting('{setting}')").item()).lower() == value


def test_a_query_that_needs_room_does_not_write_into_the_current_directory(run: Run) -> None:
    place = str(run.sql("SELECT current_setting('temp_directory')").item() or "")
    assert place == "" or Path(place).is_absolute()


@pytest.mark.parametrize("query", ["SELEC 1", "SELECT", "SELECT nothing FROM slices", "SELECT * FROM nowhere", "'"])
def test_a_wrong_query_is_the_users_mistake(run: Run, query: str) -> None:
    with pytest.raises(UsageError) as caught:
        run.sql(query)
    assert caught.value.code == "sql_error"


def test_a_store_that_vanished_is_made_again_and_lost_with_its_capture(trace: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(trace, tmp_path))
    run = stepscope.load(copy, store=tmp_path / "store")
    before = run.sql("SELECT count(*) FROM slices").item()
    shutil.rmtree(run.store.directory)
    assert run.sql("SELECT count(*) FROM slices").item() == before
    shutil.rmtree(run.store.directory)
    copy.unlink()
    with pytest.raises(UnreadableInputError) as caught:
        run.sql("SELECT count(*) FROM slices")
    assert caught.value.code == "store_lost"


def test_a_table_that_does_not_exist_is_the_users_mistake(run: Run) -> None:
    with pytest.raises(UsageError, match="slice_s"):
        run.table("slice_s")

"""With ``--redact`` an export names no host, user or directory, in no table and no file, and is else the same run."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import stepscope
from analysis.stores import make_store
from stepscope import deliver
from stepscope.store import schema
from stepscope.store.run_store import RunStore
from support.mini_trace import complete, slices_in, write_trace

_SECRETS = ("alice", "gpu17", "gpu18", "gpu19", "secret", "corp", "10.1.2.3", "My Runs", "\\u5f20", "张")
_HOSTS = {0: "gpu17.corp", 1: "gpu18", 2: "gpu17.corp"}
_FRAME = "/home/alice/secret/train.py(12): step"
_DETAILS = (
    '{"a": 1.50E+3, "Call stack": "/home/alice/secret/a.py(1): f;\\r\\n/home/\\u5f20/b.py(2): g", "b": [NaN, "gpu17"],'
    ' "C:\\\\Users\\\\alice\\\\x": 12345678901234567890}'
)
_DETAILS_LEFT = '{"a": 1.50E+3, "Call stack": "%s/a.py(1): f;\\r\\n%s/b.py(2): g", "b": [NaN, "host-1"], "%s/x": %s}'
_PLAIN = "aten::mm(1/2)"


def _texts(table: str, column: str) -> list[str]:
    """What stands in a text column: something that names somebody, and something that does not."""
    if (table, column) == ("details", "json"):
        return [_DETAILS, '{"External id": 7}']
    if (table, column) in {("notes", "params"), ("ranks", "versions"), ("ranks", "switches"), ("ranks", "peak_facts")}:
        return [json.dumps({"path": _FRAME, "on": "GPU17", "n": 1}), '{"n": 2}']
    return [f"{_FRAME} of {table}.{column} on gpu18 for alice at tcp://10.1.2.3:29500", _PLAIN]


def _rows(table: str) -> pl.DataFrame:
    """Two rows for each of three ranks, with all text columns filled."""
    columns: dict[str, Any] = {}
    kinds = schema.TABLES[table].schema
    for name, kind in kinds.items():
        if kind == pl.String or (isinstance(kind, pl.Categorical) and not isinstance(kind, pl.Enum)):
            columns[name] = _texts(table, name) * 3
    if table == "notes":
        columns["code"] = ["file_truncated"] * 6
    if table == "ranks":
        columns = {name: values[:3] for name, values in columns.items()}
        return pl.DataFrame(columns | {"rank": [0, 1, 2], "host": list(_HOSTS.values()), "first_ns": [5, 5, 5]})
    numbers = {"slice": [0, 1] * 3, "track": [0, 1] * 3, "start_ns": [10, 20] * 3, "dur_ns": [5, 6] * 3}
    numbers |= {"value": [1, 2] * 3, "time_ns": [7, 8] * 3, "order": [0, 1] * 3, "count": [1, 1] * 3, "row": [0, 0] * 3}
    columns |= {name: values for name, values in numbers.items() if name in kinds}
    if "rank" in kinds:
        columns["rank"] = [0, 0, 1, 1, 2, 2]
    return pl.DataFrame(columns)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """A run in which every table names somebody in every text column."""
    tables: dict[str, Any] = {table: _rows(table) for table in schema.TABLES}
    made = make_store(tmp_path_factory.mktemp("redaction"), **tables)
    parts = [replace(part, source="/data/My Runs/gpu17_4242.9.pt.trace.json") for part in made.manifest.parts]
    return RunStore(made.directory, replace(made.manifest, capture="/data/My Runs", window="gpu17_4242", parts=parts))


def _exported(store: RunStore, target: str, out: Path, **options: Any) -> list[Path]:
    return list(deliver.export(store, target, out, captures=[], redact=True, **options))


def _decoded(file: Path) -> str:
    """Everything that a file says, as one text."""
    raw = file.read_bytes()
    if file.suffix == ".parquet":
        frame = pl.read_parquet(file)
        cells = [str(value) for column in frame for value in column.unique()]
        return "\n".join(cells) + raw.decode("latin-1")
    return (gzip.decompress(raw) if file.suffix == ".gz" else raw).decode()


def _assert_names_nobody(text: str) -> None:
    found = [secret for secret in _SECRETS if secret.lower() in text.lower()]
    assert found == []


class TestEveryTable:
    def test_tables_name_nobody(self, store: RunStore, tmp_path: Path) -> None:
        (out,) = _exported(store, "parquet", tmp_path / "out")
        assert {file.stem for file in out.iterdir()} == set(schema.TABLES)
        for file in out.iterdir():
            _assert_names_nobody(_decoded(file))

    @pytest.mark.parametrize("options", [{}, {"merge": True}, {"ranks": [1]}])
    def test_traces_name_nobody(self, store: RunStore, tmp_path: Path, options: dict[str, Any]) -> None:
        files = _exported(store, "chrome", tmp_path / "out", **options)
        assert len(files) == (1 if options else 3)
        for file in files:
            text = _decoded(file)
            _assert_names_nobody(text)
            assert "dir-" in text

    def test_all_else_is_unchanged(self, store: RunStore, tmp_path: Path) -> None:
        (out,) = _exported(store, "parquet", tmp_path / "out")
        for name, table in schema.TABLES.items():
            before, after = store.scan(name).collect(), pl.read_parquet(out / f"{name}.parquet")
            assert after.schema == before.schema
            numbers = [column for column, kind in table.schema.items() if column in before and kind.is_numeric()]
            assert_frame_equal(before.select(numbers), after.select(numbers))
            for column in before.columns:
                for old, new in zip(before[column].to_list(), after[column].to_list(), strict=True):
                    if old in (_PLAIN, '{"External id": 7}', '{"n": 2}', None):
                        assert new == old, (name, column)

    def test_what_stays_can_be_read(self, store: RunStore, tmp_path: Path) -> None:
        (out,) = _exported(store, "parquet", tmp_path / "out")
        names = pl.read_parquet(out / "slices.parquet")["name"].cast(pl.String).to_list()
        place = names[0].partition("/")[0]
        assert place.startswith("dir-")
        assert (
            names
            == [f"{place}/train.py(12): step of slices.name on host-2 for user-1 at tcp://host-3:29500", _PLAIN] * 3
        )

    def test_arguments_stay_digit_for_digit(self, store: RunStore, tmp_path: Path) -> None:
        (out,) = _exported(store, "parquet", tmp_path / "out")
        found = pl.read_parquet(out / "details.parquet")["json"][0]
        places = [part.rpartition('"')[2].rpartition("n")[2] for part in found.split("/")[:3]]
        assert all(place.startswith("dir-") for place in places)
        assert len(set(places)) == 3
        assert found == _DETAILS_LEFT % (*places, "12345678901234567890")

    def test_one_name_has_one_pseudonym_on_all_ranks_and_in_all_exports(self, store: RunStore, tmp_path: Path) -> None:
        (whole,) = _exported(store, "parquet", tmp_path / "whole")
        hosts = pl.read_parquet(whole / "ranks.parquet").sort("rank")["host"].cast(pl.String).to_list()
        assert hosts == ["host-1", "host-2", "host-1"]
        (one,) = _exported(store, "parquet", tmp_path / "one", ranks=[1])
        for name, table in schema.TABLES.items():
            if "rank" in table.schema:
                expected = pl.read_parquet(whole / f"{name}.parquet").filter(pl.col("rank") == 1)
                assert_frame_equal(pl.read_parquet(one / f"{name}.parquet"), expected)

    def test_the_run_itself_stays_as_it_is(self, store: RunStore, tmp_path: Path) -> None:
        before = {file: file.read_bytes() for file in store.directory.rglob("*") if file.is_file()}
        _exported(store, "parquet", tmp_path / "out")
        assert {file: file.read_bytes() for file in store.directory.rglob("*") if file.is_file()} == before
        assert store.scan("slices").select("name").collect()["name"][0].startswith("/home/alice")


def test_a_capture_goes_through_reader_and_export_and_stays_the_same_run(tmp_path: Path) -> None:
    capture = tmp_path / "My Runs" / "gpu17_4242.9.pt.trace.json"
    events = [
        complete("ProfilerStep#1", "0.125", "900.500", cat="user_annotation"),
        complete(_FRAME, "10.001", "800.000", cat="python_function", args={"Python id": 1}),
        complete("gpu19", "15.001", "1.000"),
        complete("aten::mm", "20.001", "50.000", args={"Call stack": f"{_FRAME};C:\\Users\\alice\\x.py(3): f"}),
    ]
    write_trace(capture, events, rank=None)
    capture.write_text(capture.read_text().replace('"schemaVersion"', '"host_name": "gpu17.corp", "schemaVersion"'))
    run = stepscope.load(capture, store=tmp_path / "store")
    assert run.table("ranks").collect()["host"].to_list() == ["gpu17.corp"]
    (out,) = _exported(run.store, "chrome", tmp_path / "out.json")
    _assert_names_nobody(_decoded(out))
    again = stepscope.load(out, store=tmp_path / "store")
    columns = ["start_ns", "dur_ns", "kind", "row", "step"]
    assert_frame_equal(
        again.table("slices").select(columns).sort(columns).collect(),
        run.table("slices").select(columns).sort(columns).collect(),
    )
    times = [(start, dur) for _, start, dur in slices_in(capture).elements()]
    assert sorted((start, dur) for _, start, dur in slices_in(out).elements()) == sorted(times)


def test_real_captures_keep_no_home_directory(shared_data: Path, tmp_path: Path) -> None:
    for name in ("text_level1", "db_level1"):
        run = stepscope.load(shared_data / "ascend" / name, store=tmp_path / "store")
        (out,) = _exported(run.store, "parquet", tmp_path / name)
        text = "\n".join(_decoded(file) for file in out.iterdir())
        assert "/home/" not in text
        assert str(shared_data) not in text
        assert "90.91.105.46" not in text
        assert "spawn.py(116): spawn_main" in text


def test_variables_of_the_environment_name_nobody(tmp_path: Path) -> None:
    environment = json.dumps(
        {"ENV_VARIABLES": {"USER": "lihua", "MASTER_ADDR": "cn0411", "NB_USER": "wu", "HCCL": "1"}}
    )
    rows = pl.DataFrame({"rank": [0], "switches": [environment], "source": ["/data/a.json"], "first_ns": [1]})
    store = make_store(
        tmp_path / "store", ranks=rows, notes=pl.DataFrame({"code": ["x"], "params": ['"seen by lihua"']})
    )
    (out,) = _exported(store, "parquet", tmp_path / "out")
    text = "\n".join(_decoded(file) for file in out.iterdir())
    assert [name for name in ("lihua", "cn0411", '"wu"') if name in text] == []
    assert json.loads(pl.read_parquet(out / "ranks.parquet")["switches"][0])["ENV_VARIABLES"]["HCCL"] == "1"


def test_names_of_layers_calls_and_types_are_no_accounts(shared_data: Path, tmp_path: Path) -> None:
    run = stepscope.load(shared_data / "ascend" / "db_level1", store=tmp_path / "store")
    (out,) = _exported(run.store, "parquet", tmp_path / "out")
    kept = pl.read_parquet(out / "slices.parquet").select(pl.col("name", "type", "operator", "module").cast(pl.String))
    assert_frame_equal(
        kept, run.store.scan("slices").select(kept.columns).collect().cast(pl.String), check_row_order=False
    )

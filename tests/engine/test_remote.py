"""Captures on file systems that fsspec knows: fetched, bounded, and only what was named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.errors import UnreadableInputError, UsageError
from stepscope.facts import remote as facts
from support.mini_trace import write_rank

fsspec = pytest.importorskip("fsspec", reason="needs the extra stepscope[cluster] (make test)")


@pytest.fixture
def memory() -> Iterator[Any]:
    """Object storage in this process."""
    system = fsspec.filesystem("memory")
    yield system
    system.rm("/", recursive=True)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [write_rank(tmp_path / "local" / f"rank{rank}.json", rank, world_size=2) for rank in (0, 1)]


def put(memory: Any, files: list[Path], folder: str) -> None:
    for file in files:
        memory.pipe(f"/{folder}/{file.name}", file.read_bytes())


def test_a_capture_on_object_storage_is_the_same_run(memory: Any, files: list[Path], tmp_path: Path) -> None:
    put(memory, files, "bucket/run")
    put(memory, [files[0]], "bucket/other")
    run = stepscope.load("memory://bucket/run", store=tmp_path / "store")
    local = stepscope.load(files[0].parent, store=tmp_path / "store")

    assert run.steps().equals(local.steps())
    assert run.table("slices").collect().equals(local.table("slices").collect())
    fetched = {file.name for file in tmp_path.rglob("fetched/**/*.json") if not file.name.startswith(".")}
    assert fetched == {"rank0.json", "rank1.json"}


def test_one_file_can_be_named(memory: Any, files: list[Path], tmp_path: Path) -> None:
    put(memory, files, "bucket/run")
    run = stepscope.load("memory://bucket/run/rank1.json", store=tmp_path / "store")

    assert run.ranks == [1]
    assert not list(tmp_path.rglob("fetched/**/rank0.json"))


def test_only_what_changed_is_fetched_and_read_again(
    memory: Any, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(memory, files, "run")
    stepscope.load("memory://run", store=tmp_path / "store")
    write_rank(files[1], 1, world_size=2, steps=4)
    put(memory, [files[1]], "run")
    fetched: list[str] = []
    get_file = type(memory).get_file

    def counted(system: Any, path: str, *rest: Any) -> None:
        fetched.append(path)
        get_file(system, path, *rest)

    monkeypatch.setattr(type(memory), "get_file", counted)
    run = stepscope.load("memory://run", store=tmp_path / "store")

    assert [Path(path).name for path in fetched] == ["rank1.json"]
    assert [part.rank for part in run.ingested.read] == [1]


def test_what_is_gone_is_gone(memory: Any, files: list[Path], tmp_path: Path) -> None:
    put(memory, files, "run")
    stepscope.load("memory://run", store=tmp_path / "store")
    memory.rm("/run/rank1.json")

    assert stepscope.load("memory://run", store=tmp_path / "store").ranks == [0]


def test_files_of_this_machine_are_read_where_they_are(files: list[Path], tmp_path: Path) -> None:
    run = stepscope.load(f"file://{files[0]}", store=tmp_path / "store")

    assert run.store.manifest.capture == str(files[0])
    assert not list(tmp_path.rglob("fetched"))


def test_more_than_the_bounds_is_refused(
    memory: Any, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(memory, files, "run")
    monkeypatch.setattr("stepscope.engine.remote.remote_facts", lambda: facts.RemoteFacts(1, 1))
    with pytest.raises(UnreadableInputError) as caught:
        stepscope.load("memory://run", store=tmp_path / "store")
    assert caught.value.code == "remote_too_large"
    assert not list(tmp_path.rglob("*.json.part"))


@pytest.mark.parametrize("address", ["memory://nothing/here", "nosuch://bucket/run"])
def test_what_cannot_be_read_is_a_clear_error(address: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError) as caught:
        stepscope.load(address, store=tmp_path / "store")
    assert caught.value.code == "remote_unreadable"


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(_: str) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", lacks)
    with pytest.raises(UsageError) as caught:
        stepscope.load("s3://bucket/run", store=tmp_path / "store")
    assert "s3fs" in caught.value.message()

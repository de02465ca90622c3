"""A diagnosis is kept with the store, and worked out again only when something it was made from has changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from diagnosis.cases import loop
from stepscope.analysis.foundation import kept as kept_module
from stepscope.diagnosis.diagnose import work_out
from stepscope.diagnosis.finding import Diagnosis
from stepscope.diagnosis.kept import kept
from stepscope.store.integrity import read_document
from stepscope.store.run_store import RunStore, open_store


class Counted:
    """Works a diagnosis out, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, store: RunStore) -> Diagnosis:
        self.times += 1
        return work_out(store)


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return loop(40).store(tmp_path / "store")


def test_it_is_worked_out_once(store: RunStore) -> None:
    counted = Counted()
    first = kept(store, counted)
    reopened = open_store(store.directory)
    assert reopened is not None
    assert kept(reopened, counted) == first and counted.times == 1
    assert first.findings


def test_a_changed_run_is_judged_anew(store: RunStore) -> None:
    counted = Counted()
    kept(store, counted)
    store.manifest.checksums[next(iter(store.manifest.checksums))] += 1
    kept(store, counted)
    assert counted.times == 2


def test_a_changed_package_judges_anew(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted()
    kept(store, counted)
    monkeypatch.setattr(kept_module, "_version", lambda rooms: "another")
    kept(store, counted)
    assert counted.times == 2


@pytest.mark.parametrize("content", [b"", b"{", b'{"key": 1}', b"\xff\xfe"])
def test_a_damaged_file_does_no_harm(store: RunStore, content: bytes) -> None:
    (store.directory / "diagnosis.json").write_bytes(content)
    counted = Counted()
    assert kept(store, counted) == kept(store, counted)
    assert counted.times == 1


@pytest.fixture
def read_only(store: RunStore) -> Iterator[RunStore]:
    mode = store.directory.stat().st_mode
    store.directory.chmod(stat.S_IRUSR | stat.S_IXUSR)
    yield store
    store.directory.chmod(mode)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_store_that_nobody_may_write_to_is_judged_each_time(read_only: RunStore) -> None:
    counted = Counted()
    assert kept(read_only, counted) == kept(read_only, counted)
    assert counted.times == 2


def test_a_full_disk_does_no_harm(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert kept(store, work_out).findings
    monkeypatch.undo()
    assert not list(store.directory.glob("tmp-*"))


def test_several_may_write_at_once(store: RunStore) -> None:
    expected = work_out(store)
    with ThreadPoolExecutor(4) as threads:
        assert all(found == expected for found in threads.map(lambda _: kept(store, work_out), range(8)))
    assert not list(store.directory.glob("tmp-*"))
    assert read_document(store.directory / "diagnosis.json")["content"]

"""Which files are snapshots."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

from readers.memory_snapshot.opened_snapshots import Evil, small
from readers.memory_snapshot_builder import write
from stepscope.readers import memory_snapshot
from stepscope.texts import catalogue


def test_a_directory_of_snapshots_gives_one_source_each(tmp_path: Path) -> None:
    content: dict[str, Any] = {"segments": [], "device_traces": []}
    for name in ("rank1_snapshot.pickle", "rank0_snapshot.pkl"):
        write(tmp_path, content, name)
    (tmp_path / "old.pickle.gz").write_bytes(gzip.compress(pickle.dumps([small()])))
    (tmp_path / "page.html").write_text("made from it")
    files = [path.name for path in tmp_path.iterdir()]
    found = memory_snapshot.claim(tmp_path, [], files)
    assert found is not None
    assert {(source.path.name, source.rank) for source in found} == {
        ("rank1_snapshot.pickle", 1),
        ("rank0_snapshot.pkl", 0),
        ("old.pickle.gz", None),
    }
    assert all(source.files == (source.path,) and source.reader == "memory_snapshot" for source in found)


def test_a_directory_with_other_things_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path, {"segments": [], "device_traces": []})
    assert memory_snapshot.claim(tmp_path, ["below"], ["snapshot.pickle"]) is None
    assert memory_snapshot.claim(tmp_path, [], ["snapshot.pickle", "trace.json"]) is None
    write(tmp_path, {"model": 1}, "weights.pkl")
    assert memory_snapshot.claim(tmp_path, [], ["snapshot.pickle", "weights.pkl"]) is None
    assert memory_snapshot.claim(tmp_path, [], []) is None


def test_a_file_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    raw = pickle.dumps({"segments": [], "device_traces": []})
    assert memory_snapshot.claim_file(tmp_path / "rank_3" / "dump.bin", raw) is not None
    assert memory_snapshot.claim_file(tmp_path / "a.json", b'{"segments": []}') is None
    assert memory_snapshot.claim_file(tmp_path / "a.pickle", b"garbage") is None
    # Named like one: the reader shall explain what is wrong with it.
    claimed = memory_snapshot.claim_file(tmp_path / "rank_3" / "a.pickle", pickle.dumps(Evil(eval, ("1",))))
    assert claimed is not None
    assert claimed.rank == 3


def test_every_sentence_about_memory_has_both_languages() -> None:
    codes = [
        name
        for section in ("note", "error")
        for name in catalogue()[section]
        if name.startswith(("snapshot_", "msmemscope_"))
    ]
    assert len(codes) > 30
    for section in ("note", "error"):
        for name, entry in catalogue()[section].items():
            if name in codes:
                assert set(entry) == {"en", "zh"}
                fields = [
                    {part for part in sentence.replace("{", "\0{").split("\0") if part.startswith("{")}
                    for sentence in entry.values()
                ]
                # A word that follows a number, as in {count|block|blocks}, is that number's.
                names = [{part[1 : part.index("}")].partition("|")[0] for part in each} for each in fields]
                assert names[0] == names[1]

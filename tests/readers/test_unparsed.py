"""Raw captures of Ascend devices that nobody parsed: they are recognised, and the user is told what parses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from readers.ascend_builder import full_capture, write_rank
from stepscope.readers.ascend.unparsed import note_unparsed, only_unparsed, unparsed_below
from stepscope.readers.discovery import detect
from stepscope.store.notes import Notes
from stepscope.texts import LANGUAGES

PROF = "PROF_000001_20250109074843_ABC"


def raw_rank(root: Path, name: str, framework_file: str = "torch.op_range") -> Path:
    """A rank's directory as it lies there before parsing."""
    directory = root / name
    for path in (f"FRAMEWORK/{framework_file}", f"{PROF}/host/data/a.slice_0", f"{PROF}/device_0/data/b.slice_0"):
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(b"\0\1")
    (directory / "profiler_info_0.json").write_text(json.dumps({"rank_id": 0}))
    return directory


def raw_msprof(root: Path, name: str = PROF) -> Path:
    directory = root / name
    (directory / "host" / "data").mkdir(parents=True)
    (directory / "host" / "data" / "a.slice_0").write_bytes(b"\0")
    return directory


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("host_1_20250109074843871_ascend_pt", "torch_npu.profiler.profiler"),
        ("host_1_20250109074843871_ascend_ms", "mindspore.profiler.profiler"),
    ],
)
def test_a_raw_rank_is_to_be_parsed_by_the_framework_that_recorded_it(tmp_path: Path, name: str, module: str) -> None:
    directory = raw_rank(tmp_path, name)
    for given in (tmp_path, directory):
        error = only_unparsed(given)
        assert error is not None and error.exit_code == 3
        for lang in LANGUAGES:
            assert f"from {module} import analyse; analyse('{directory}')" in error.message(lang)


def test_a_directory_of_another_name_is_known_by_the_files_of_its_framework(tmp_path: Path) -> None:
    torch, mindspore = raw_rank(tmp_path, "a"), raw_rank(tmp_path, "b", "mindspore.op_range")
    assert unparsed_below(tmp_path) == {torch: "pytorch", mindspore: "mindspore"}


def test_a_raw_capture_of_msprof_is_to_be_exported(tmp_path: Path) -> None:
    directory = raw_msprof(tmp_path)
    error = only_unparsed(tmp_path)
    assert error is not None and f"msprof --export=on --output={directory}" in error.message()
    assert unparsed_below(directory) == {directory: "msprof"}


def test_several_raw_captures_are_parsed_from_the_directory_that_holds_them(tmp_path: Path) -> None:
    for rank in (1, 2, 3):
        raw_rank(tmp_path / "run", f"host_{rank}_20250109074843871_ascend_pt")
    error = only_unparsed(tmp_path)
    assert error is not None and error.params["count"] == 3
    assert f"analyse('{tmp_path / 'run'}')" in error.message()


def test_raw_captures_beside_parsed_ones_are_noted_and_parsed_ones_are_not(tmp_path: Path) -> None:
    parsed = write_rank(tmp_path, full_capture())
    raw_msprof(parsed)  # what the parsed files were made of lies beside them
    later = raw_rank(tmp_path, "host_77_20250109223456789_ascend_pt")
    found = detect.sources(tmp_path)
    assert [source.path for source in found] == [parsed]
    assert unparsed_below(tmp_path, found) == {later: "pytorch"}
    notes = Notes()
    note_unparsed(tmp_path, found, notes)
    [note] = notes.all()
    assert (note.code, note.count, note.params["first"]) == ("ascend_not_parsed", 1, later.name)
    assert all(f"analyse('{later}')" in note.sentence(lang) for lang in LANGUAGES)


def test_folders_that_are_no_captures_are_left_alone(tmp_path: Path) -> None:
    for path in ("FRAMEWORK/notes", "PROF_of_concept/host", f"{PROF}/summary", "x_ascend_pt/logs"):
        (tmp_path / path).mkdir(parents=True)
    assert only_unparsed(tmp_path) is None
    assert only_unparsed(tmp_path / "nowhere") is None

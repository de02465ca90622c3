"""Damaged and hostile input-pipeline files: read as far as they go, never an exception."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from readers.minddata_files import (
    STAGES,
    read,
    write_all,
)


def content_of(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir() if file.is_file()}


def test_files_cut_at_any_byte_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    whole = content_of(write_all(tmp_path / "whole"))
    for place in range(24):
        directory = tmp_path / f"cut{place}"
        directory.mkdir()
        for name, content in whole.items():
            (directory / name).write_bytes(content[: len(content) * place // 24])
        before = content_of(directory)
        tables, _, _ = read(directory, tmp_path / f"out{place}")
        assert tables["ranks"].height == 1
        assert content_of(directory) == before


@pytest.mark.parametrize("seed", range(30))
def test_mutated_files_never_raise(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    directory = write_all(tmp_path / "in")
    for file in directory.iterdir():
        content = bytearray(file.read_bytes())
        for _ in range(dice.randrange(1, 12)):
            place = dice.randrange(len(content) + 1)
            content[place : place + dice.randrange(4)] = bytes(dice.randrange(256) for _ in range(dice.randrange(4)))
        file.write_bytes(bytes(content))
    tables, _, _ = read(directory, tmp_path / "out")
    assert tables["ranks"].height == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 50,
        b"\xff\xfe\x00",
        b"[]",
        b"{}",
        b"null",
        b"[[[[",
        b'{"op_info": 3}',
        b'{"op_info": [1, {}, null]}',
        b'{"time_stamp": "x"}',
        b'{"time_stamp": [1e99, true, "7"]}',
        b"a,b\n1",
        b"op_id\n\n\n",
        b'"',
        b"\xef\xbb\xbf",
        b'{"op_info": [{"op_id": 1e30}, {"op_id": 1, "metrics": {"output_queue": {"size": [1e400, {}, "x", null]}}}]}',
        b'{"time_stamp": [1], "device_info": {"user_utilization": {"a": 1}}, "op_info": [{"op_id": []}]}',
        b"9" * 5000,
    ],
)
def test_anything_at_all_under_a_known_name_becomes_a_note(tmp_path: Path, content: bytes) -> None:
    for name in content_of(write_all(tmp_path / "names")):
        directory = tmp_path / name
        directory.mkdir()
        (directory / "pipeline_profiling_3.json").write_text(json.dumps(STAGES))
        (directory / name).write_bytes(content)
        tables, _, _ = read(directory, tmp_path / "out" / name)
        assert tables["ranks"].height == 1

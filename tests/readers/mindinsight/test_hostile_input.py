"""Cut, mutated and scrambled files are read as far as they go."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

from readers import mindinsight_builder as made
from readers.mindinsight.read_directories import read


def content_of(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(directory.iterdir())}


def test_files_cut_at_any_byte_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    for place in range(20):
        files = {
            name: text[: len(text) * place // 20] for name, text in (made.gpu_contents() | made.contents()).items()
        }
        directory = made.write(tmp_path / str(place) / "profiler", files)
        before = content_of(directory)
        tables, _ = read(directory, tmp_path / str(place) / "out")
        assert tables["ranks"].height == 1
        assert content_of(directory) == before


@pytest.mark.parametrize("seed", range(40))
def test_mutated_files_never_raise(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    directory = made.write(tmp_path / "profiler", made.gpu_contents() | made.contents())
    for file in sorted(directory.iterdir()):
        content = bytearray(file.read_bytes())
        for _ in range(dice.randrange(1, 15)):
            place = dice.randrange(len(content) + 1)
            content[place : place + dice.randrange(4)] = bytes(dice.randrange(256) for _ in range(dice.randrange(4)))
        file.write_bytes(bytes(content))
    tables, _ = read(directory, tmp_path / "out")
    assert tables["ranks"].height == 1


def _scrambled(value: Any, dice: random.Random) -> Any:
    """The same JSON with some values replaced by others of another type."""
    if dice.random() < 0.12:
        return dice.choice([None, True, -1, 10**30, 1.5, "x", [], {}, [1], {"a": 1}, "\ud800", float("1e300"), "-"])
    if isinstance(value, dict):
        return {key: _scrambled(item, dice) for key, item in value.items()}
    if isinstance(value, list):
        return [_scrambled(item, dice) for item in value]
    return value


@pytest.mark.parametrize("seed", range(40))
def test_wrong_types_and_missing_columns_never_raise(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    files = made.gpu_contents() | made.contents()
    for name, text in files.items():
        if name.endswith(".json"):
            files[name] = json.dumps(_scrambled(json.loads(text), dice))
        elif name.endswith(".csv"):
            rows = list(csv.reader(text.splitlines()))
            gone = dice.randrange(len(rows[0]))
            odd = ["", "N/A", "nan", "1e400", "-5", "x", "99999999999999999999", "{}", "[]"]
            rows = [
                [dice.choice(odd) if line and dice.random() < 0.15 else cell for cell in row]
                for line, row in enumerate(rows)
            ]
            kept = [[cell for place, cell in enumerate(row) if place != gone] for row in rows]
            files[name] = "\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in kept)
    tables, _ = read(made.write(tmp_path / "profiler", files), tmp_path / "out")
    assert tables["ranks"].height == 1


@pytest.mark.parametrize(
    "content", ["", "\0\0", "[]", "{}", "null", "[[[", '"', "a,b\n1,2,3\n", "1 2 3\n" * 9, ",,,\n,,,\n"]
)
def test_anything_at_all_under_a_known_name_becomes_a_note(tmp_path: Path, content: str) -> None:
    files = dict.fromkeys(made.gpu_contents() | made.contents(), content)
    tables, _ = read(made.write(tmp_path / "profiler", files), tmp_path / "out")
    assert tables["ranks"].height == 1

"""Pickles that would call something, nest without end or are damaged: refused, or read without harm."""

from __future__ import annotations

import copyreg
import io
import pickle
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from readers.memory_snapshot.opened_snapshots import A, Evil, Read, small
from readers.memory_snapshot_builder import MB, Allocator, annotation, block, event, frame, freed, segment, write
from stepscope.errors import UnreadableInputError
from stepscope.readers.files.unpickle import load


def refusal(raw: bytes) -> UnreadableInputError:
    with pytest.raises(UnreadableInputError) as caught:
        load(lambda: [raw], "evil.pickle")
    assert caught.value.message("zh")
    return caught.value


class Stateful:
    def __init__(self) -> None:
        self.a = 1


def hostile() -> dict[str, tuple[bytes, str]]:
    """Pickles that would call something, and what the refusal must name."""
    system = getattr(__import__("os"), "system")  # noqa: B009
    nested: Any = {"segments": [{"blocks": [Evil(system, ("true",))]}]}
    persistent = io.BytesIO()

    class Persistent(pickle.Pickler):
        def persistent_id(self, thing: Any) -> str | None:
            return "db 7" if thing == "x" else None

    Persistent(persistent, 2).dump(["x"])
    return {
        "os.system": (pickle.dumps(Evil(system, ("true",))), "posix.system"),
        "os.system as text": (pickle.dumps(Evil(system, ("true",)), 0), "posix.system"),
        "builtins.eval": (pickle.dumps(Evil(eval, ("1",))), "builtins.eval"),
        "builtins.eval, old": (pickle.dumps(Evil(eval, ("1",)), 2), "eval"),
        "copyreg": (pickle.dumps(Stateful(), 0), "copy_reg._reconstructor"),
        "new object": (pickle.dumps(Stateful()), "Stateful"),
        "nested": (pickle.dumps(nested), "posix.system"),
        "extension 1": (b"\x80\x02\x82\x05.", "extension 5"),
        "extension 2": (b"\x80\x02\x83\x05\x01.", "extension 261"),
        "extension 4": (b"\x80\x02\x84\x05\x01\x00\x00.", "extension 261"),
        "global": (b"cos\nsystem\n(S'true'\ntR.", "os.system"),
        "instance": (b"(S'true'\nios\nsystem\n.", "os.system"),
        "object": (b"(S'true'\no.", "OBJ"),
        "reduce": (b"\x80\x02]\x85R.", "REDUCE"),
        "build": (b"\x80\x02]}b.", "BUILD"),
        "newobj": (b"\x80\x02])\x81.", "NEWOBJ"),
        "newobj_ex": (b"\x80\x04])}\x92.", "NEWOBJ_EX"),
        "persistent": (b"Pdb 7\n.", "persistent object db 7"),
        "binary persistent": (persistent.getvalue(), "BINPERSID"),
        "set": (pickle.dumps({1, 2}), "EMPTY_SET"),
        "frozen set": (pickle.dumps(frozenset((1, 2))), "FROZENSET"),
        "bytearray": (pickle.dumps(bytearray(5), 5), "BYTEARRAY8"),
        "buffer": (b"\x80\x05\x97.", "NEXT_BUFFER"),
        "numbers as keys": (pickle.dumps({1: 2}), "dict[int]"),
        "tuples as keys": (pickle.dumps({(1, 2): 2}), "dict[tuple]"),
    }


@pytest.mark.parametrize("name", hostile())
def test_what_would_call_something_is_refused_by_name(name: str, tmp_path: Path) -> None:
    raw, what = hostile()[name]
    error = refusal(raw)
    assert error.code == "snapshot_pickle_forbidden"
    assert what in error.params["what"]
    assert what in error.message()


def test_nothing_is_executed(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    raw = pickle.dumps({"segments": Evil(Path.touch, (touched,)), "device_traces": []})
    path = tmp_path / "evil.pickle"
    path.write_bytes(raw)
    with pytest.raises(UnreadableInputError):
        Read(path, tmp_path)
    assert not touched.exists()


def test_a_registered_extension_is_refused_too() -> None:
    copyreg.add_extension("builtins", "print", 241)
    try:
        assert refusal(pickle.dumps(print, 2)).params["what"] == "extension 241"
    finally:
        copyreg.remove_extension("builtins", "print", 241)


@pytest.mark.parametrize("depth", [60_000, 100_000])
def test_deep_nesting_is_no_harm(depth: int, tmp_path: Path) -> None:
    deep = {"lists": b"]" * depth + b"a" * (depth - 1), "tuples": b"N" + b"\x85" * depth}
    for inner in deep.values():
        path = tmp_path / "deep.pickle"
        path.write_bytes(b"\x80\x02}X\x08\x00\x00\x00segments" + inner + b"s.")
        try:
            assert not Read(path, tmp_path).rows("segments")
        except UnreadableInputError as error:
            assert depth == 100_000
            assert error.params["what"] == "number of containers"


def long_numbers() -> list[bytes]:
    return [
        b"\x80\x02\x8b" + struct.pack("<I", 1 << 30) + b"\x01" * 100 + b".",
        b"\x80\x02\x8b" + struct.pack("<I", 200_000) + b"\x01" * 200_000 + b".",
        b"\x80\x02\x8a\xff" + b"\x01" * 255 + b".",
        b"L" + b"9" * 100_000 + b"L\n.",
        b"I" + b"9" * 5000 + b"\n.",
        b"F" + b"9" * 5000 + b"\n.",
    ]


@pytest.mark.parametrize("place", range(6))
def test_numbers_beyond_measure_are_refused(place: int) -> None:
    assert refusal(long_numbers()[place]).code == "snapshot_pickle_too_large"


@pytest.mark.parametrize(
    "raw",
    [
        b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62) + b"abc.",
        b"\x80\x04\x8e" + struct.pack("<Q", 1 << 62) + b"abc.",
        b"\x80\x04X" + struct.pack("<I", 0xFFFFFFFF) + b"abc.",
    ],
)
def test_texts_of_absurd_length_are_refused_without_room_being_made(raw: bytes) -> None:
    assert refusal(raw).code == "snapshot_pickle_too_large"


def test_memo_numbers_beyond_measure_are_refused() -> None:
    assert refusal(b"\x80\x02]r" + struct.pack("<I", 0x7FFFFFFF) + b".").params["what"] == "memo"
    assert refusal(b"]p2147483647\n.").params["what"] == "memo"
    assert refusal(b"\x80\x02]q\x05h\x03.").code == "snapshot_pickle_damaged"


def test_a_list_that_holds_itself_is_no_harm(tmp_path: Path) -> None:
    mine: list[Any] = []
    mine.append(mine)
    content: dict[str, Any] = {"segments": mine, "device_traces": [mine]}
    content["self"] = content
    found = Read(write(tmp_path, content), tmp_path)
    assert found.notes["snapshot_element_dropped"] == 2
    found = Read(
        write(tmp_path, {"segments": [small(block(A, 512)) | {"blocks": mine}], "device_traces": mine}), tmp_path
    )
    assert found.rows("segments")[0]["active_bytes"] == 0


def test_shared_references_are_not_unfolded(tmp_path: Path) -> None:
    laugh: Any = ["ha"]
    for _ in range(60):
        laugh = [laugh] * 10
    load(lambda: [pickle.dumps(laugh)], "laughs")
    found = Read(write(tmp_path, {"segments": laugh, "device_traces": laugh, "external_annotations": laugh}), tmp_path)
    assert not found.rows("allocations")


def test_keys_that_take_forever_to_hash_are_refused() -> None:
    # A pair of twice the same pair, sixty times over, as key: Python would hash it 2**60 times.
    raw = b"\x80\x02}N" + b"2\x86" * 60 + b"Ns."
    assert refusal(raw).params["what"] == "dict[tuple]"


def test_one_list_of_blocks_in_a_million_segments_is_refused(tmp_path: Path) -> None:
    blocks = [block(A, 512)] * 1000
    content = {"segments": [segment(A, 2 * MB, blocks)] * 10_000, "device_traces": []}
    with pytest.raises(UnreadableInputError) as caught:
        Read(write(tmp_path, content), tmp_path)
    assert caught.value.params["what"] == "number of rows"
    trace = [event("alloc", A, 512, 1)] * 3000
    with pytest.raises(UnreadableInputError) as caught:
        Read(write(tmp_path, {"segments": [], "device_traces": [trace] * 500}), tmp_path)
    assert caught.value.params["what"] == "number of rows"


def test_stacks_of_shared_long_frames_stay_small(tmp_path: Path) -> None:
    frames = [frame("f" * 60_000, 1, "/x" * 30_000)] * 20_000
    trace = [event("alloc", A + 512 * place, 1, place, frames=frames) for place in range(50)]
    found = Read(write(tmp_path, {"segments": [], "device_traces": [trace]}), tmp_path)
    assert found.tables["stacks"]["frames"].str.len_bytes().sum() < 5 * MB
    assert found.notes["snapshot_stack_cut"] == 1


def test_more_containers_than_the_bytes_can_mean_are_refused() -> None:
    assert refusal(b"\x80\x02" + b"}0" * 300_000 + b"N.").params["what"] == "number of containers"
    assert refusal(b"\x80\x02" + b")0" * 300_000 + b"N.").params["what"] == "number of containers"
    assert refusal(b"\x80\x02" + b"N" * 3_000_000 + b".").params["what"] == "stack"


def test_a_pickle_cut_anywhere_is_refused_clearly(tmp_path: Path) -> None:
    allocator = Allocator(2)
    allocator.recording = True
    allocator.run(12)
    for protocol in (0, 2, 4):
        raw = pickle.dumps(allocator.snapshot(), protocol)
        for cut in range(0, len(raw) - 1, 7):
            with pytest.raises(UnreadableInputError) as caught:
                load(lambda end=cut, raw=raw: [raw[:end]] if end else [], "cut")  # type: ignore[misc]
            assert caught.value.code == "snapshot_pickle_truncated"


def test_blocks_of_any_size_give_the_same() -> None:
    allocator = Allocator(2)
    allocator.recording = True
    allocator.run(300)
    content = allocator.snapshot() | {"long": "x" * 200_000}
    for protocol in (0, 4):
        raw = pickle.dumps(content, protocol)
        for size in (1000, 65_535, 65_536, 100_001):
            pieces = [raw[start : start + size] for start in range(0, len(raw), size)]
            assert load(lambda pieces=pieces: pieces, "cut")[0] == content  # type: ignore[misc]


@pytest.mark.parametrize("seed", range(3))
def test_damaged_pickles_never_end_in_a_traceback(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    allocator = Allocator(seed)
    allocator.recording = True
    allocator.run(15)
    raw = pickle.dumps(allocator.snapshot(), chance.choice((0, 2, 4)))
    refused = 0
    for number in range(150):
        broken = bytearray(raw)
        for _ in range(chance.randint(1, 4)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        path = tmp_path / "broken.pickle"
        path.write_bytes(broken)
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            Read(path, folder)
        except UnreadableInputError as error:
            assert error.message()
            refused += 1
        assert path.read_bytes() == bytes(broken)
    assert refused


WRONG: list[Any] = [None, "x", -1, 2**70, [None], float("nan")]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_values_of_wrong_types_do_no_harm(wrong: Any, tmp_path: Path) -> None:
    good = {
        "segments": [small(block(A, 512))],
        "device_traces": [[event("alloc", A, 512, 1, frames=[frame("f", 1)]), *freed(A, 512, 2)]],
        "allocator_settings": {"max_split_size": -1, "roundup_power2_divisions": {"1": 2}},
        "external_annotations": [annotation("START", "a", 1), annotation("END", "a", 2)],
    }
    raw = pickle.dumps(good)
    variants: list[Any] = []
    for key in good:
        variants.append(good | {key: wrong})
    for path in (
        ("segments", 0),
        ("segments", 0, "blocks", 0),
        ("device_traces", 0),
        ("device_traces", 0, 0),
        ("device_traces", 0, 0, "frames", 0),
        ("external_annotations", 0),
        ("allocator_settings", "roundup_power2_divisions"),
    ):
        copy = pickle.loads(raw)
        around = copy
        for part in path[:-1]:
            around = around[part]
        inner = around[path[-1]]
        for key in list(inner) if isinstance(inner, dict) else ():
            changed = pickle.loads(raw)
            there = changed
            for part in path:
                there = there[part]
            there[key] = wrong
            variants.append(changed)
        around[path[-1]] = wrong
        variants.append(copy)
    for number, content in enumerate(variants):
        folder = tmp_path / str(number)
        folder.mkdir()
        Read(write(folder, content), folder)


@pytest.mark.parametrize("content", [None, 5, "x", {}, {"a": 1}, ("segments",)])
def test_other_pickles_are_said_to_be_no_snapshot(content: Any, tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError) as caught:
        Read(write(tmp_path, content), tmp_path)
    assert caught.value.code == "snapshot_not_one"


def test_an_empty_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "empty.pickle"
    path.touch()
    with pytest.raises(UnreadableInputError) as caught:
        Read(path, tmp_path)
    assert caught.value.code == "empty_file"

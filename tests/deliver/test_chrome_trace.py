"""A run as a Chrome trace: valid, exact, nested, and the same run when it is read again."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stepscope
from stepscope import deliver
from stepscope.deliver import chrome_trace
from stepscope.errors import UnreadableInputError, UsageError
from stepscope.run import Run
from support.mini_trace import (
    BASE_NS,
    HOST_PID,
    SliceFacts,
    complete,
    counter,
    flow,
    slices_in,
    write_capture,
    write_rank,
    write_trace,
)


def _export(run: Run, out: Path, **options: Any) -> Path:
    source = Path(run.store.manifest.capture)
    assert list(deliver.export(run.store, "chrome", out, captures=[source], **options)) == [out]
    return out


def _document(path: Path) -> dict[str, Any]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    document = json.loads(text, parse_float=Decimal, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert isinstance(document, dict)
    return document


def _events(path: Path, *phases: str) -> list[dict[str, Any]]:
    return [event for event in _document(path)["traceEvents"] if event["ph"] in phases]


def _slices(run: Run) -> Counter[SliceFacts]:
    frame = run.table("slices").select(pl.col("name").cast(pl.String), "start_ns", "dur_ns").collect()
    return Counter(frame.iter_rows())


def _assert_nested(path: Path) -> None:
    """On every thread each slice lies inside the open one or begins after it has ended."""
    threads: dict[tuple[int, int], list[tuple[Decimal, Decimal]]] = defaultdict(list)
    for event in _events(path, "X"):
        threads[event["pid"], event["tid"]].append((Decimal(event["ts"]), Decimal(event["ts"]) + Decimal(event["dur"])))
    for place, spans in threads.items():
        ends: list[Decimal] = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while ends and ends[-1] <= start:
                ends.pop()
            assert not ends or end <= ends[-1], f"{place}: {start} to {end} sticks out"
            ends.append(end)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_capture(tmp_path_factory.mktemp("chrome") / "capture", [0, 1])


@pytest.fixture(scope="module")
def ranks(capture: Path) -> Run:
    return stepscope.load(capture, store=capture.parent / "store")


@pytest.fixture(scope="module")
def one(capture: Path) -> Run:
    return stepscope.load(capture / "rank0.json", store=capture.parent / "store")


class TestContent:
    def test_times_are_those_of_the_input_to_the_nanosecond(self, one: Run, capture: Path, tmp_path: Path) -> None:
        assert slices_in(_export(one, tmp_path / "out.json")) == slices_in(capture / "rank0.json")

    def test_times_near_the_limits_of_a_double_stay_exact(self, tmp_path: Path) -> None:
        # As an epoch in microseconds with three decimals, no double holds them.
        events = [complete(f"op{place}", f"17000000001234{place}6.{place:03d}", "0.001") for place in range(0, 10, 3)]
        trace = write_trace(tmp_path / "trace.json", events)
        trace.write_text(trace.read_text().replace(str(BASE_NS), "0"))
        run = stepscope.load(trace, store=tmp_path / "store")
        out = _export(run, tmp_path / "out.json")
        assert slices_in(out) == slices_in(trace)
        for event in _events(out, "X"):
            assert f"{float(event['ts']):.3f}" == str(event["ts"]), "viewers hold times as doubles"

    def test_reading_it_again_gives_the_same_slices(self, one: Run, tmp_path: Path) -> None:
        out = _export(one, tmp_path / "out.json")
        again = stepscope.load(out, store=tmp_path / "store")
        assert again.ranks == one.ranks
        assert _slices(again) == _slices(one)

    def test_reading_it_again_gives_the_same_meaning(self, one: Run, tmp_path: Path) -> None:
        out = _export(one, tmp_path / "out.json")
        again = stepscope.load(out, store=tmp_path / "store")
        facts = "SELECT name, kind, step, operator, input_shapes, stream FROM slices ORDER BY ALL"
        assert again.sql(facts).rows() == one.sql(facts).rows()
        counters = "SELECT time_ns, value FROM counters ORDER BY ALL"
        assert again.sql(counters).rows() == one.sql(counters).rows()

    def test_a_trace_of_another_tool_can_be_exported_too(self, tmp_path: Path) -> None:
        trace = tmp_path / "trace.json"
        trace.write_text('[{"ph": "X", "name": "\\u6ce8 \\"a\\"\\n", "pid": "p", "tid": "t", "ts": 1.5, "dur": 2},')
        run = stepscope.load(trace, store=tmp_path / "store")
        assert slices_in(_export(run, tmp_path / "out.json")) == Counter({('注 "a"\n', 1500, 2000): 1})

    def test_arguments_are_those_of_the_input(self, one: Run, capture: Path, tmp_path: Path) -> None:
        def arguments(path: Path) -> Counter[str]:
            return Counter(json.dumps([event["name"], event.get("args") or {}]) for event in _events(path, "X"))

        assert arguments(_export(one, tmp_path / "out.json")) == arguments(capture / "rank0.json")

    def test_counters_are_there(self, one: Run, tmp_path: Path) -> None:
        out = _export(one, tmp_path / "out.json")
        base = int(_document(out)["baseTimeNanoseconds"])
        found = [
            (base + int(Decimal(event["ts"]) * 1000), float(event["args"]["value"])) for event in _events(out, "C")
        ]
        assert found == [(BASE_NS + 5_000, 1024.0), (BASE_NS + 1_005_000, 1025.0)]

    def test_processes_and_threads_have_names(self, one: Run, tmp_path: Path) -> None:
        out = _export(one, tmp_path / "out.json")
        named = {
            (event["name"], event["pid"]): event["args"]["name"]
            for event in _events(out, "M")
            if event["name"] == "process_name"
        }
        assert sorted(named.values()) == ["rank 0: GPU", "rank 0: python"]
        threads = {(event["pid"], event["tid"]) for event in _events(out, "M") if event["name"] == "thread_name"}
        assert {(event["pid"], event["tid"]) for event in _events(out, "X")} <= threads


class TestNesting:
    def test_overlapping_slices_go_to_a_thread_of_their_own(self, tmp_path: Path) -> None:
        events = [
            complete("a", "0.000", "10.000"),
            complete("b", "5.000", "10.000"),
            complete("b inside", "6.000", "2.000"),
            complete("a inside", "1.000", "2.000"),
        ]
        run = stepscope.load(write_trace(tmp_path / "trace.json", events), store=tmp_path / "store")
        out = _export(run, tmp_path / "out.json")
        _assert_nested(out)
        thread = {event["name"]: (event["pid"], event["tid"]) for event in _events(out, "X")}
        assert thread["a"] == thread["a inside"] != thread["b"] == thread["b inside"]
        assert thread["a"][0] == thread["b"][0]

    def test_any_tangle_comes_out_nested_and_whole(self, tmp_path: Path) -> None:
        chance = random.Random(11)
        events = [
            complete(f"t{thread}.{number}", f"{chance.randrange(30)}.000", f"{chance.randrange(12)}.000", tid=thread)
            for thread in range(120)
            for number in range(chance.randrange(1, 14))
        ]
        trace = write_trace(tmp_path / "trace.json", events)
        run = stepscope.load(trace, store=tmp_path / "store")
        out = _export(run, tmp_path / "out.json")
        _assert_nested(out)
        assert slices_in(out) == slices_in(trace)

    def test_more_than_a_thousand_at_once_come_out_nested(self, tmp_path: Path) -> None:
        events = [complete("a", f"{number}.000", "2000.000") for number in range(1100)]
        run = stepscope.load(write_trace(tmp_path / "trace.json", events), store=tmp_path / "store")
        out = _export(run, tmp_path / "out.json")
        _assert_nested(out)
        assert sum(slices_in(out).values()) == 1100


class TestFlows:
    def _ends(self, path: Path) -> Counter[tuple[str, str]]:
        """Names of the slices that arrows join, bound as the format says: to the innermost slice at that moment."""
        slices = _events(path, "X")
        ends: dict[Any, dict[str, str]] = defaultdict(dict)
        for event in _events(path, "s", "f"):
            moment = Decimal(event["ts"])
            around = [
                slice_
                for slice_ in slices
                if (slice_["pid"], slice_["tid"]) == (event["pid"], event["tid"])
                and Decimal(slice_["ts"]) <= moment < Decimal(slice_["ts"]) + Decimal(slice_["dur"])
            ]
            assert around, f"arrow {event} points at nothing"
            inner = min(around, key=lambda slice_: (-Decimal(slice_["ts"]), Decimal(slice_["dur"])))
            ends[event["id"]][event["ph"]] = inner["name"]
        return Counter((end["s"], end["f"]) for end in ends.values())

    def test_arrows_join_the_slices_of_the_links(self, one: Run, tmp_path: Path) -> None:
        expected = Counter({("aten::mm", "MmBackward0"): 2, ("cudaLaunchKernel", "sgemm_128x64"): 6})
        assert self._ends(_export(one, tmp_path / "out.json")) == expected

    def test_arrows_between_overlapping_slices_follow_them(self, tmp_path: Path) -> None:
        events = [
            complete("a", "0.000", "10.000"),
            complete("b", "5.000", "10.000"),
            complete("c", "1.000", "3.000", tid=2),
            *flow(1, "2.000", "12.000", begin_tid=2),
            *flow(2, "1.000", "3.000", end_tid=2),
        ]
        run = stepscope.load(write_trace(tmp_path / "trace.json", events), store=tmp_path / "store")
        assert self._ends(_export(run, tmp_path / "out.json")) == Counter({("c", "b"): 1, ("a", "c"): 1})

    def test_an_arrow_from_a_slice_stays_with_it_when_another_begins_at_the_same_moment(self, tmp_path: Path) -> None:
        events = [
            complete("outer", "0.000", "10.000"),
            complete("inner", "0.000", "4.000"),
            complete("target", "20.000", "1.000"),
            *flow(1, "6.000", "20.500"),
        ]
        run = stepscope.load(write_trace(tmp_path / "trace.json", events), store=tmp_path / "store")
        assert self._ends(_export(run, tmp_path / "out.json")) == Counter({("outer", "target"): 1})

    def test_ids_are_not_shared_between_ranks(self, ranks: Run, tmp_path: Path) -> None:
        events = _events(_export(ranks, tmp_path / "out.json", merge=True), "s", "f")
        assert set(Counter(event["id"] for event in events).values()) == {2}


class TestRanks:
    def test_a_merged_file_holds_all_ranks_in_processes_of_their_own(
        self, ranks: Run, capture: Path, tmp_path: Path
    ) -> None:
        out = _export(ranks, tmp_path / "out.json", merge=True)
        assert slices_in(out) == slices_in(capture / "rank0.json") + slices_in(capture / "rank1.json")
        _assert_nested(out)
        rank_of = {
            event["pid"]: event["args"]["name"].split(":")[0]
            for event in _events(out, "M")
            if event["name"] == "process_name"
        }
        assert Counter(rank_of.values()) == {"rank 0": 2, "rank 1": 2}
        for event in _events(out, "X"):
            if event["name"].startswith("rank_"):
                assert rank_of[event["pid"]] == event["name"].replace("_", " ")

    def test_without_merging_each_rank_is_a_file(self, ranks: Run, capture: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        files = list(deliver.export(ranks.store, "chrome", out, captures=[capture]))
        assert files == [out / "rank0.json.gz", out / "rank1.json.gz"]
        for rank, file in enumerate(files):
            assert slices_in(file) == slices_in(capture / f"rank{rank}.json")
        again = stepscope.load(out, store=tmp_path / "store")
        assert again.ranks == [0, 1]
        assert _slices(again) == _slices(ranks)

    def test_one_rank_can_be_had_alone(self, ranks: Run, capture: Path, tmp_path: Path) -> None:
        out = _export(ranks, tmp_path / "out.json", ranks=[1])
        assert slices_in(out) == slices_in(capture / "rank1.json")

    def test_a_rank_that_is_not_there_is_the_users_mistake(self, ranks: Run, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="0, 1"):
            _export(ranks, tmp_path / "out.json", ranks=[2])
        assert list(tmp_path.iterdir()) == []


class TestFile:
    def test_the_name_says_whether_it_is_compressed(self, one: Run, tmp_path: Path) -> None:
        plain, zipped = _export(one, tmp_path / "out.json"), _export(one, tmp_path / "out.json.gz")
        assert plain.read_bytes()[:1] == b"{"
        assert zipped.read_bytes()[:2] == b"\x1f\x8b"
        assert gzip.decompress(zipped.read_bytes()) == plain.read_bytes()

    def test_what_is_there_is_kept_unless_forced(self, one: Run, capture: Path, tmp_path: Path) -> None:
        out = tmp_path / "out.json"
        out.write_text("mine")
        with pytest.raises(UsageError) as caught:
            _export(one, out)
        assert (caught.value.code, out.read_text()) == ("out_exists", "mine")
        assert slices_in(_export(one, out, force=True)) == slices_in(capture / "rank0.json")

    def test_the_capture_itself_is_never_replaced(self, tmp_path: Path) -> None:
        trace = write_rank(tmp_path / "data" / "trace.json")
        (tmp_path / "link.json").symlink_to(trace)
        before = trace.read_bytes()
        run = stepscope.load(trace, store=tmp_path / "store")
        for out in (trace, tmp_path / "link.json", trace.parent):
            with pytest.raises(UsageError):
                _export(run, out, force=True)
        assert trace.read_bytes() == before
        assert [file.name for file in trace.parent.iterdir()] == ["trace.json"]

    def test_a_place_inside_the_capture_is_refused(self, ranks: Run, capture: Path) -> None:
        before = sorted(capture.iterdir())
        with pytest.raises(UsageError) as caught:
            _export(ranks, capture / "merged.json", merge=True, force=True)
        assert caught.value.code == "out_inside_capture"
        assert sorted(capture.iterdir()) == before

    def test_a_failure_leaves_nothing_and_keeps_what_was_there(
        self, one: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(_: object, __: object, path: Path, **___: object) -> None:
            path.write_text("half")
            raise OSError(28, "No space left on device")

        out = tmp_path / "out.json"
        out.write_text("mine")
        monkeypatch.setattr(deliver.chrome_trace, "write", full)
        with pytest.raises(UnreadableInputError, match="No space left on device"):
            _export(one, out, force=True)
        assert [file.name for file in tmp_path.iterdir()] == ["out.json"]
        assert out.read_text() == "mine"

    def test_a_place_below_a_file_is_a_clear_error(self, one: Run, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("mine")
        with pytest.raises(UnreadableInputError) as caught:
            _export(one, tmp_path / "file" / "out.json")
        assert caught.value.code == "cannot_write"


def test_a_run_without_slices_is_still_a_trace(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "trace.json", [counter("memory", "5.000", 1.0)])
    run = stepscope.load(trace, store=tmp_path / "store")
    out = _export(run, tmp_path / "out.json")
    assert _events(out, "X") == []
    assert len(_events(out, "C")) == 1
    assert HOST_PID not in {event["pid"] for event in _events(out, "C")}, "processes are numbered anew"


def test_a_stretch_holds_what_touches_it_on_the_clock_of_the_run(tmp_path: Path) -> None:
    events = [
        complete("done", "0", "10"),
        complete("reaches in", "5", "20", tid=2),
        complete("inside", "22", "3"),
        complete("behind", "30", "5"),
    ]
    run = stepscope.load(write_trace(tmp_path / "trace.json", events), store=tmp_path / "store")
    path = tmp_path / "stretch.json"
    chrome_trace.write(run.store, [0], path, zipped=False, within=(20_000, 30_000))
    assert sorted(event["name"] for event in _events(path, "X")) == ["inside", "reaches in"]

"""A run as a Chrome trace, for Perfetto and chrome://tracing, also several ranks on one clock.

Times are microseconds with three decimals, relative to the first slice: viewers hold them as doubles, which are exact
then. Slices that overlap without nesting go to a thread of their own, because viewers know nested ones only.
"""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TextIO

import numpy as np
import polars as pl

from stepscope.analysis.timeline.clock import RankClock, RunClock, run_clock
from stepscope.arrays import NONE
from stepscope.deliver.chrome_memory import memory_instants
from stepscope.facts.communication import communication_facts, communication_kernel
from stepscope.facts.pytorch import pytorch_facts
from stepscope.readers.slices.flows import OWN_CATEGORY
from stepscope.store.nesting import nearest
from stepscope.store.run_store import RunStore

# Kinds and links by the names that PyTorch's profiler uses, so that other tools understand the file too.
_CATEGORIES: Final = {
    "operator": "cpu_op",
    "kernel": "kernel",
    "overhead": "overhead",
    "copy": "gpu_memcpy",
    "runtime": "cuda_runtime",
    "step": "user_annotation",
    "python": "python_function",
    "module": "python_function",
}
_DEVICE_CATEGORIES: Final = {"sync": "cuda_sync", "mark": "cuda_event"}
_LINK_CATEGORIES: Final = {"forward_backward": "fwdbwd", "flow": "flow"}
_JOINED_BY_ID: Final = "ac2g"  # arrows of PyTorch's profiler that only repeat what correlation ids say
# Annotations by whose names the reader knows steps and collectives.
_SPEAKING_NAME: Final = re.compile(
    "|".join([r"ProfilerStep\s*#\s*\d", *(f"{word}:" for word in communication_facts().host_prefixes)])
)
# Ranges of PyTorch that the reader tells from operators by their names; torch_npu counts them as operators.
_RANGE_NAME: Final = re.compile("|".join(pytorch_facts().annotations))
_LEAST_TIDS_PER_TRACK: Final = 1000


def write(
    store: RunStore,
    ranks: list[int],
    path: Path,
    *,
    zipped: bool,
    more_header: dict[str, Any] | None = None,
    within: tuple[int, int] | None = None,
    memory: bool = False,
) -> None:
    """Write the ranks into one file; ``more_header`` is put beside the events, with ``memory`` blocks among them.

    Several ranks are written on the run's clock, one alone on its own, as it was recorded. Of a stretch ``within``
    (nanoseconds since the run's origin) whole slices are written that touch it, and samples that lie in it.
    """
    clocks, origin = _clocks(store, ranks)
    content = _Content(store, clocks, origin, within, memory)
    with _zipped(path) if zipped else path.open("w", encoding="utf-8") as file:
        header: dict[str, Any] = {"displayTimeUnit": "ns", "baseTimeNanoseconds": origin, "writtenBy": "stepscope"}
        if len(ranks) == 1:
            header["distributedInfo"] = {"rank": ranks[0]}
        header |= more_header or {}
        file.write(json.dumps(header)[:-1] + ', "traceEvents": [\n')
        separator = ""
        for event in _events(content):
            file.write(separator + event)
            separator = ",\n"
        file.write("\n]}\n")


@contextmanager
def _zipped(path: Path) -> Iterator[TextIO]:
    """A new compressed file, without the time of writing and its name: the same run gives the same bytes."""
    with (
        path.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=4, fileobj=raw, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8") as file,
    ):
        yield file


@dataclass(frozen=True)
class _Content:
    """What is written: ranks on their clocks, whole or a stretch of them, times from the origin on."""

    store: RunStore
    clocks: dict[int, RankClock]
    origin: int
    within: tuple[int, int] | None
    memory: bool


def _clocks(store: RunStore, ranks: list[int]) -> tuple[dict[int, RankClock], int]:
    """The clock of each rank, and the first moment of all on it."""
    clocks = {rank: RankClock() for rank in ranks}
    if len(ranks) > 1:
        of_run = run_clock(store).ranks
        clocks = {rank: of_run[rank] for rank in ranks}
    rows = store.scan("ranks", ranks).select("rank", "first_ns").drop_nulls().collect()
    firsts = [clocks[rank].moment(first_ns) for rank, first_ns in rows.iter_rows()]
    return clocks, min(firsts, default=0)


def _on_clock(clock: RankClock, slices: pl.DataFrame) -> pl.DataFrame:
    """Slices with the times that the clock gives them."""
    start, moment = (clock.to_run(slices[name].to_numpy()) for name in ("start_ns", "moment_ns"))
    end = clock.to_run((slices["start_ns"] + slices["dur_ns"]).to_numpy())
    return slices.with_columns(start_ns=start, dur_ns=end - start, moment_ns=moment)


def _events(content: _Content) -> Iterator[str]:
    """All events as JSON texts, rank by rank; processes and arrows are numbered through."""
    next_pid, next_flow = 1, 1
    for rank in content.clocks:
        tracks = content.store.scan("tracks", [rank]).sort("order").collect()
        processes = tracks["process"].unique(maintain_order=True).to_list()
        pids = {process: next_pid + index for index, process in enumerate(processes)}
        next_pid += len(pids)
        yield from _events_of_rank(content, rank, tracks, pids, next_flow)
        next_flow += content.store.scan("links", [rank]).select(pl.len()).collect().item()


def _events_of_rank(
    content: _Content, rank: int, tracks: pl.DataFrame, pids: dict[str, int], first_flow: int
) -> Iterator[str]:
    store, clock, shift = content.store, content.clocks[rank], -content.origin
    run_time = run_clock(store)
    slices = _on_clock(clock, _touching(_slices(store, rank), run_time, rank, content.within))
    counters = _inside(store.scan("counters", [rank]).collect(), run_time, rank, content.within)
    counters = counters.with_columns(time_ns=clock.to_run(counters["time_ns"].to_numpy()))
    pid_of = {row["track"]: pids[row["process"]] for row in tracks.iter_rows(named=True)}
    yield from _metadata(rank, tracks, pids, slices)
    yield from _slice_events(slices, pid_of, set(tracks.filter(pl.col("kind") == "stream")["track"]), shift)
    yield from _counter_events(counters, tracks, pid_of, shift)
    if content.memory:
        yield from _memory_events(store, rank, slices, tracks, pid_of, shift)
    yield from _flow_events(store, rank, slices, pid_of, shift, first_flow)


def _touching(slices: pl.DataFrame, clock: RunClock, rank: int, within: tuple[int, int] | None) -> pl.DataFrame:
    """The slices that touch a stretch of the run's time."""
    if within is None:
        return slices
    start = clock.relative(rank, slices["start_ns"].to_numpy())
    end = clock.relative(rank, (slices["start_ns"] + slices["dur_ns"]).to_numpy())
    return slices.filter((start < within[1]) & ((end > within[0]) | (start >= within[0])))


def _inside(samples: pl.DataFrame, clock: RunClock, rank: int, within: tuple[int, int] | None) -> pl.DataFrame:
    """The samples that lie in a stretch of the run's time."""
    if within is None:
        return samples
    time = clock.relative(rank, samples["time_ns"].to_numpy())
    return samples.filter((time >= within[0]) & (time < within[1]))


def _slices(store: RunStore, rank: int) -> pl.DataFrame:
    """Slices of a rank with the thread that each goes to."""
    columns = ["slice", "track", "row", "parent", "start_ns", "dur_ns", "name", "kind", "correlation"]
    slices = store.scan("slices", [rank]).select(columns).collect()
    details = store.scan("details", [rank]).select("slice", "json").collect()
    position = pl.DataFrame({"parent": slices["slice"], "at": np.arange(slices.height)})
    parent = slices.join(position, on="parent", how="left", maintain_order="left")["at"].fill_null(NONE).to_numpy()
    row = slices["row"].to_numpy().astype(np.int64)
    expected = np.where(parent == NONE, 0, row[parent] + 1)
    shifted = nearest(parent, row != expected)
    extra_thread = np.where(shifted == NONE, 0, row[shifted])
    width = max(_LEAST_TIDS_PER_TRACK, int(extra_thread.max(initial=0)) + 1)
    tid = slices["track"].to_numpy().astype(np.int64) * width + extra_thread
    slices = _with_moments(slices.with_columns(tid=tid, extra_thread=extra_thread))
    return slices.join(details, on="slice", how="left", maintain_order="left")


def _with_moments(slices: pl.DataFrame) -> pl.DataFrame:
    """The first moment at which each slice is the innermost of its thread, to which an arrow can be tied."""
    end = pl.col("start_ns") + pl.col("dur_ns")
    slices = slices.with_columns(moment_ns="start_ns")
    inner = slices.filter(pl.col("dur_ns") > 0).select("parent", "tid", moment_ns="start_ns", behind=end)
    inner = inner.drop_nulls("parent").unique(["parent", "tid", "moment_ns"], keep="first", maintain_order=True)
    while True:
        behind = slices.join(
            inner,
            left_on=["slice", "tid", "moment_ns"],
            right_on=["parent", "tid", "moment_ns"],
            how="left",
            maintain_order="left",
        )["behind"]
        moved = behind.is_not_null() & (behind < slices.select(end).to_series())
        if not moved.any():
            return slices
        slices = slices.with_columns(moment_ns=pl.when(moved).then(behind).otherwise(pl.col("moment_ns")))


def _metadata(rank: int, tracks: pl.DataFrame, pids: dict[str, int], slices: pl.DataFrame) -> Iterator[str]:
    for order, (process, pid) in enumerate(pids.items()):
        yield _event(ph="M", name="process_name", pid=pid, tid=0, args={"name": f"rank {rank}: {process}"})
        yield _event(ph="M", name="process_sort_index", pid=pid, tid=0, args={"sort_index": rank * 100 + order})
    names = {row["track"]: (pids[row["process"]], row["name"]) for row in tracks.iter_rows(named=True)}
    for tid, track, extra in slices.select("tid", "track", "extra_thread").unique().sort("tid").iter_rows():
        if track in names:
            pid, name = names[track]
            yield _event(
                ph="M", name="thread_name", pid=pid, tid=tid, args={"name": f"{name} +{extra}" if extra else name}
            )


def _slice_events(slices: pl.DataFrame, pid_of: dict[int, int], streams: set[int], shift: int) -> Iterator[str]:
    for row in slices.iter_rows(named=True):
        category = _category(row["kind"] or "annotation", row["name"] or "", row["track"] in streams)
        is_moment = row["kind"] == "mark" and not row["dur_ns"]
        phase, last = ("i", '"s":"t"') if is_moment else ("X", f'"dur":{_micro(row["dur_ns"])}')
        arguments = f',"args":{row["json"]}' if row["json"] else ""
        yield (
            f'{{"ph":"{phase}","cat":"{category}","name":{json.dumps(row["name"])},"pid":{pid_of[row["track"]]},'
            f'"tid":{row["tid"]},"ts":{_micro(row["start_ns"] + shift)},{last}{arguments}}}'
        )


@lru_cache(1 << 16)
def _category(kind: str, name: str, on_device: bool) -> str:
    """The category by which a slice of this name is read again as what it is."""
    if kind == "annotation":
        # On the host the reader looks at the names of annotations, and would see steps and collectives in some.
        return "gpu_user_annotation" if on_device else "trace" if _SPEAKING_NAME.match(name) else "user_annotation"
    if kind == "collective":
        if on_device:
            return "kernel" if communication_kernel().search(name) else "collective_comm"
        return "user_annotation" if _SPEAKING_NAME.match(name) else OWN_CATEGORY + kind
    if on_device:
        return _DEVICE_CATEGORIES.get(kind) or _CATEGORIES.get(kind) or OWN_CATEGORY + kind
    # Old writers give steps and the framework's ranges the category of operators.
    speaks = kind == "operator" and (_SPEAKING_NAME.match(name) or _RANGE_NAME.match(name))
    return OWN_CATEGORY + kind if speaks else _CATEGORIES.get(kind) or OWN_CATEGORY + kind


def _counter_events(counters: pl.DataFrame, tracks: pl.DataFrame, pid_of: dict[int, int], shift: int) -> Iterator[str]:
    names = {row["track"]: json.dumps(row["name"]) for row in tracks.iter_rows(named=True)}
    for row in counters.iter_rows(named=True):
        yield (
            f'{{"ph":"C","name":{names[row["track"]]},"pid":{pid_of[row["track"]]},'
            f'"ts":{_micro(row["time_ns"] + shift)},"args":{{"value":{json.dumps(row["value"])}}}}}'
        )


def _memory_events(
    store: RunStore, rank: int, slices: pl.DataFrame, tracks: pl.DataFrame, pid_of: dict[int, int], shift: int
) -> Iterator[str]:
    """On the first thread of the host, where operators allocate."""
    host = tracks.filter(pl.col("kind") == "host")["track"]
    threads = slices.filter((pl.col("track") == host.first()) & (pl.col("extra_thread") == 0))["tid"]
    if threads.is_empty():
        return
    where = f'"pid":{pid_of[host[0]]},"tid":{threads[0]}'
    for moment, arguments in memory_instants(store, rank):
        yield (
            f'{{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]",{where},'
            f'"ts":{_micro(moment + shift)},"args":{arguments}}}'
        )


def _flow_events(
    store: RunStore, rank: int, slices: pl.DataFrame, pid_of: dict[int, int], shift: int, first: int
) -> Iterator[str]:
    stated = pl.when(pl.col("json").str.contains('"correlation"', literal=True)).then("correlation")
    places = slices.select("slice", "track", "tid", "moment_ns", correlation=stated)
    links = (
        store.scan("links", [rank])
        .collect()
        .join(places, left_on="from_slice", right_on="slice", maintain_order="left")
        .join(places, left_on="to_slice", right_on="slice", suffix="_to", maintain_order="left")
        .with_columns(by_id=(pl.col("correlation") == pl.col("correlation_to")).fill_null(False))
    )
    for number, row in enumerate(links.iter_rows(named=True), first):
        kind = row["kind"]
        category = _LINK_CATEGORIES.get(kind, OWN_CATEGORY + kind)
        if kind == "launch" and row["by_id"]:
            category = _JOINED_BY_ID
        ends = (("s", "", ""), ("f", "_to", ',"bp":"e"'))
        for phase, suffix, more in ends:
            yield (
                f'{{"ph":"{phase}","cat":"{category}","name":"{kind}","id":{number},'
                f'"pid":{pid_of[row["track" + suffix]]},"tid":{row["tid" + suffix]},'
                f'"ts":{_micro(row["moment_ns" + suffix] + shift)}{more}}}'
            )


def _event(**fields: Any) -> str:
    return json.dumps(fields, separators=(",", ":"))


def _micro(nanoseconds: int) -> str:
    sign = "-" if nanoseconds < 0 else ""
    whole, rest = divmod(abs(nanoseconds), 1000)
    return f"{sign}{whole}.{rest:03d}"

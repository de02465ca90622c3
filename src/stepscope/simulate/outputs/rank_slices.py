"""The slices of one rank: on the device what ran, on the host what launched it, with links between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from stepscope.arrays import NONE, NULL, Bools, Int64s
from stepscope.facts.simulation import simulation_facts
from stepscope.simulate.outputs.capture import Capture, DeviceRows
from stepscope.simulate.outputs.kineto_arguments import kineto_details
from stepscope.simulate.outputs.stage_rows import FIRST_PLANE, MAIN
from stepscope.simulate.recording import END, HOST_END, HOST_START, READY, START
from stepscope.store.nesting import nest

_OPTIMIZER: Final = "Optimizer.step#AdamW.step"
# Where in an operator its parts lie, as shares of its length: what autograd puts around it, and the call that launches.
# What makes an operator longer than usual lies before its call.
_INNER: Final = (0.08, 0.98)
_CALL: Final = (0.5, 0.92)


@dataclass(frozen=True)
class RankSlices:
    """Tables of a rank, without its number."""

    slices: pl.DataFrame
    links: pl.DataFrame
    details: pl.DataFrame
    device: DeviceRows
    first_ns: int
    last_ns: int


def rank_slices(capture: Capture) -> RankSlices:
    """The slices of a rank, numbered as they would be written, sorted by track, row and start."""
    rows = capture.rows
    step, row = _device_places(capture)
    calls = np.flatnonzero((step >= capture.before) & rows.called[row])
    host = [_marks(capture), _optimizer(capture), *_host_only(capture), *_launching(capture, step[calls], row[calls])]
    first_on_device = sum(part.height for part in host)
    device = DeviceRows(step, row, first_on_device + np.arange(len(step)))
    planes = _planes(capture, step, row) if rows.device == "npu" and not capture.coarse else []
    parts = [*host, _device_part(capture, step, row), *planes]
    frame = pl.concat(parts, how="diagonal_relaxed").with_columns(slice=pl.int_range(pl.len(), dtype=pl.UInt32))
    described = rows.device == "gpu" and not capture.coarse
    start, end = frame["start_ns"].to_numpy(), (frame["start_ns"] + frame["dur_ns"]).to_numpy()
    return RankSlices(
        _nested(frame.drop("external", strict=False)),
        _links(capture, device, calls, first_on_device),
        kineto_details(frame, capture, device) if described else pl.DataFrame(),
        device,
        int(start.min()),
        int(end.max()),
    )


def _launching(capture: Capture, step: Int64s, row: Int64s) -> list[pl.DataFrame]:
    """What the host did to launch: autograd's nodes, operators, calls, the last for every launch and in its order."""
    node = capture.rows.with_node[row]
    nodes = _nodes(capture, step[node], row[node])
    if capture.rows.device == "cpu":
        return [] if capture.coarse else [nodes]
    calls = _runtime(capture, step, row)
    if capture.coarse:
        return [calls]
    within = [_within(capture, calls, row)] if capture.runtime_calls else []
    return [nodes, *within, _operators(capture, step, row, node), calls]


def _device_places(capture: Capture) -> tuple[Int64s, Int64s]:
    """Step and row of what the device did after the window opened, also where it was launched before."""
    rows, times = capture.rows, capture.times
    start, end = times[:, rows.on_device, START], times[:, rows.on_device, END]
    happened = (end > start) | ~rows.optional[rows.on_device]
    kept = happened & (end > capture.window_ns)
    if rows.device == "cpu":
        kept[: capture.before] = False
    step, column = np.nonzero(kept)
    return step, rows.on_device[column]


def _part(
    capture: Capture, step: Int64s, row: Int64s, columns: dict[str, str], start: Int64s, end: Int64s
) -> pl.DataFrame:
    """Slices with the texts of their rows; ``columns`` says which text becomes which column."""
    number = np.where(step >= capture.before, step, NULL)
    texts = capture.rows.texts.select(pl.col(text).alias(column) for column, text in columns.items())[row]
    return texts.with_columns(
        start_ns=pl.Series(start),
        dur_ns=pl.Series(end - start),
        step=pl.Series(number).replace(NULL, None) if (number == NULL).any() else pl.Series(number),
    )


def _marks(capture: Capture) -> pl.DataFrame:
    steps = np.arange(capture.before, capture.steps)
    start, end = capture.times[steps, 0, HOST_START], capture.times[steps, 0, HOST_END]
    return pl.DataFrame(
        {
            "name": [f"ProfilerStep#{number}" for number in steps],
            "kind": ["step"] * len(steps),
            "track": np.full(len(steps), MAIN),
            "start_ns": start,
            "dur_ns": end - start,
            "step": steps,
        }
    ).with_columns(pl.col("name", "kind").cast(pl.Categorical))


def _optimizer(capture: Capture) -> pl.DataFrame:
    """An annotation around the operators of each update."""
    rows = capture.rows
    own = [row for row in rows.on_device.tolist() if rows.instructions[row].phase == "optimizer"]
    if not own or capture.coarse:
        return _marks(capture).clear()
    steps = np.arange(capture.before, capture.steps)
    begin, done = capture.times[steps][:, own, HOST_START], capture.times[steps][:, own, HOST_END]
    start, end = begin.min(axis=1), done.max(axis=1)
    return pl.DataFrame(
        {
            "name": [_OPTIMIZER] * len(steps),
            "kind": ["annotation"] * len(steps),
            "phase": ["optimizer"] * len(steps),
            "track": np.full(len(steps), MAIN),
            "start_ns": start,
            "dur_ns": end - start,
            "step": steps,
        }
    ).with_columns(pl.col("name", "kind", "phase").cast(pl.Categorical))


def _host_only(capture: Capture) -> list[pl.DataFrame]:
    """What the host did besides launching: taking a batch, waiting for the device, collecting garbage."""
    rows, times = capture.rows, capture.times
    frames = []
    for own, in_operator in ((rows.host_only, False), (rows.syncs, True)):
        if not len(own):
            continue
        start, end = times[capture.before :, own, HOST_START], times[capture.before :, own, HOST_END]
        step, column = np.nonzero(end > start)
        start, end, step, row = start[step, column], end[step, column], step + capture.before, own[column]
        track = rows.host_track[row]
        if in_operator:
            operators = _part(capture, step, row, {"name": "operator", "phase": "phase"}, start, end)
            frames.append(operators.with_columns(track=pl.Series(track), kind=pl.lit("operator", pl.Categorical)))
            start, end = start + (end - start) // 50, end - (end - start) // 100
        texts = {"name": "slice_name", "phase": "phase", "kind": "slice_kind"} | (
            {"operator": "operator"} if in_operator else {}
        )
        calls = _part(capture, step, row, texts, start, end).with_columns(track=pl.Series(track))
        frames.append(calls)
        if capture.runtime_calls and in_operator:
            frames.append(_within(capture, calls, row))
    return frames


def _operators(capture: Capture, step: Int64s, row: Int64s, in_node: Bools) -> pl.DataFrame:
    """The framework's operator of each launch, within its autograd node where it has one."""
    begin, end = capture.times[step, row, HOST_START], capture.times[step, row, HOST_END]
    length = end - begin
    start = begin + np.where(in_node, (length * _INNER[0]).astype(np.int64), 0)
    stop = np.where(in_node, end - _behind(length, _INNER[1]), end)
    texts = {"name": "operator", "phase": "phase", "module": "module", "input_shapes": "shapes", "dtypes": "dtypes"}
    track = pl.Series(capture.rows.host_track[row])
    return _part(capture, step, row, texts, start, stop).with_columns(
        track=track,
        kind=pl.lit("operator", pl.Categorical),
        external=pl.Series(capture.correlation(step, row)),
    )


def _behind(length: Int64s, share: float) -> Int64s:
    """What of an operator lies behind a share of it; of a longer one than usual, as in one of the usual length."""
    usual_ns = round(simulation_facts().host.launch_call_us * 1000 / (_CALL[1] - _CALL[0]))
    shown = np.minimum(length, usual_ns)
    return shown - (shown * share).astype(np.int64)


def _nodes(capture: Capture, step: Int64s, row: Int64s) -> pl.DataFrame:
    """What autograd puts around an operator of the backward pass."""
    begin, done = (START, END) if capture.rows.device == "cpu" else (HOST_START, HOST_END)
    start, end = capture.times[step, row, begin], capture.times[step, row, done]
    frame = _part(capture, step, row, {"name": "node", "phase": "phase"}, start, end)
    return frame.with_columns(track=pl.Series(capture.rows.host_track[row]), kind=pl.lit("operator", pl.Categorical))


def _runtime(capture: Capture, step: Int64s, row: Int64s) -> pl.DataFrame:
    begin, end = capture.times[step, row, HOST_START], capture.times[step, row, HOST_END]
    length = end - begin
    start, stop = (begin, end) if capture.coarse else (end - _behind(length, share) for share in _CALL)
    texts = {"name": "call", "phase": "phase"} | (
        {} if capture.coarse else {"operator": "operator", "module": "module"}
    )
    return _part(capture, step, row, texts, start, stop).with_columns(
        track=pl.Series(capture.rows.host_track[row]),
        kind=pl.lit("runtime", pl.Categorical),
        correlation=pl.Series(capture.correlation(step, row)),
    )


def _within(capture: Capture, calls: pl.DataFrame, row: Int64s) -> pl.DataFrame:
    """The runtime's own calls, each within a call of the layer above."""
    begin, end = simulation_facts().host.runtime_call
    names = capture.rows.texts.select(name="runtime")[row]
    length = pl.col("dur_ns")
    shown = calls.drop("name", "correlation", "operator", strict=False).with_columns(
        names,
        start_ns=pl.col("start_ns") + (length * begin).cast(pl.Int64),
        dur_ns=(length * (end - begin)).cast(pl.Int64),
    )
    return shown.with_columns(kind=pl.lit("runtime", pl.Categorical)).filter(pl.col("name").is_not_null())


def _device_part(capture: Capture, step: Int64s, row: Int64s) -> pl.DataFrame:
    rows = capture.rows
    start, end = capture.times[step, row, START], capture.times[step, row, END]
    texts = {"name": "slice_name", "phase": "phase", "kind": "slice_kind"}
    if rows.device == "cpu":
        texts |= {"input_shapes": "shapes", "dtypes": "dtypes", "module": "module"}
        return _part(capture, step, row, texts, start, end).with_columns(track=pl.Series(rows.device_track[row]))
    texts |= {"operator": "operator", "type": "type", "core": "core"}
    if not capture.coarse:
        texts |= {"module": "module"}
    if rows.device == "npu" and not capture.coarse:
        texts |= {"input_shapes": "shapes", "dtypes": "dtypes"}
    called = rows.called[row]
    names = {}
    if rows.device == "npu":
        names["name"] = pl.Series(capture.slice_names(step, row)).cast(pl.Categorical)
    frame = _part(capture, step, row, texts, start, end).with_columns(
        track=pl.Series(rows.device_track[row]),
        stream=pl.Series(rows.stream[row]),
        correlation=pl.Series(np.where(called, capture.correlation(step, row), NULL)).replace(NULL, None),
        **names,
    )
    sized = np.array([each.slice_kind == "copy" or rows.device == "npu" for each in rows.instructions]) & (
        rows.bytes > 0
    )
    return frame.with_columns(bytes=pl.Series(np.where(sized[row], rows.bytes[row], NULL)).replace(NULL, None))


def _planes(capture: Capture, step: Int64s, row: Int64s) -> list[pl.DataFrame]:
    """What a collective of HCCL is made of: waiting for the last to arrive, then moving data."""
    rows = capture.rows
    own = rows.collective[row]
    step, row = step[own], row[own]
    start, ready, end = (capture.times[step, row, which] for which in (START, READY, END))
    frames = []
    for name, kind, low, high in (("Notify_Wait", "wait", start, ready), ("Memcpy", "comm_task", ready, end)):
        lasting = high > low
        track = FIRST_PLANE + rows.device_track[row[lasting]] % 10
        part = _part(capture, step[lasting], row[lasting], {"phase": "phase"}, low[lasting], high[lasting])
        frames.append(
            part.with_columns(
                name=pl.lit(name, pl.Categorical),
                kind=pl.lit(kind, pl.Categorical),
                track=pl.Series(track),
                stream=pl.Series(rows.stream[row[lasting]]),
                correlation=pl.Series(capture.correlation(step[lasting], row[lasting])),
            )
        )
    return frames


def _links(capture: Capture, device: DeviceRows, calls: Int64s, first_on_device: int) -> pl.DataFrame:
    """From each call to what it launched; in Ascend captures from the operator, too. Calls stand last on the host."""
    kind = capture.rows.device
    if kind == "cpu" or not len(calls):
        return pl.DataFrame()
    launched, number = device.slice[calls], np.arange(len(calls))
    first_call = first_on_device - len(calls)
    launch = pl.DataFrame({"from_slice": first_call + number, "to_slice": launched})
    links = [launch.with_columns(kind=pl.lit("launch"))]
    if kind == "npu" and not capture.coarse:
        operators = pl.DataFrame({"from_slice": first_call - len(calls) + number, "to_slice": launched})
        links.append(operators.with_columns(kind=pl.lit("operator_launch")))
    return pl.concat(links)


def _nested(frame: pl.DataFrame) -> pl.DataFrame:
    track, start, dur = (frame[name].to_numpy() for name in ("track", "start_ns", "dur_ns"))
    nesting = nest(track.astype(np.int32), start.astype(np.int64), dur.astype(np.int64))
    parent = pl.Series(np.where(nesting.parent == NONE, NULL, nesting.parent)).replace(NULL, None)
    return frame.with_columns(row=pl.Series(nesting.row), parent=parent)[nesting.by_row()]

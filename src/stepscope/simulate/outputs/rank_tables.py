"""The smaller tables of a rank: who it is, its steps, its communication."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from stepscope.arrays import NULL, Int64s
from stepscope.simulate.execution import Machine
from stepscope.simulate.instructions import STREAMS, Instruction
from stepscope.simulate.network import Link, collective_cost, sent_bytes
from stepscope.simulate.outputs.capture import Capture
from stepscope.simulate.outputs.naming import CALL_TYPES
from stepscope.simulate.outputs.rank_slices import RankSlices
from stepscope.simulate.outputs.stage_rows import (
    AUTOGRAD,
    COLLECTIVES_ON_HOST,
    FIRST_PLANE,
    FIRST_STREAM,
    FREQUENCY_TRACK,
    MAIN,
    stream_number,
)
from stepscope.simulate.recording import END, HOST_END, HOST_START, LAST, READY, START

_HOST_TRACKS: Final = {MAIN: ("thread 4100 (python)", "4100"), AUTOGRAD: ("thread 4101 (python)", "4101")}


@dataclass(frozen=True)
class RankTables:
    """What is needed to describe a rank."""

    machine: Machine
    capture: Capture
    slices: RankSlices
    switches: dict[str, Any]

    def ranks(self) -> pl.DataFrame:
        """The row of ``ranks``."""
        scenario, capture = self.machine.scenario, self.capture
        device = scenario.device
        on_device = device.kind != "cpu"
        coordinates = self.machine.layout.coordinates(capture.rank)
        plan = scenario.plan
        shown = {name: value for name, value in coordinates.items() if getattr(plan, name) > 1}
        row: dict[str, Any] = {
            "world_size": self.machine.layout.world,
            "host": f"host{self.machine.layout.host_of(capture.rank):03d}",
            "device_kind": device.kind,
            "device_name": device.name if on_device else None,
            "device_index": capture.device_index if on_device else None,
            "memory_capacity": int(device.memory_gib * 2**30) if on_device else None,
            "framework": scenario.framework,
            "versions": json.dumps({"simulated": scenario.name}),
            "level": scenario.level if device.kind == "npu" else None,
            "switches": json.dumps(self.switches),
            **shown,
            "clock_base_ns": 0,
            "first_ns": self.slices.first_ns,
            "last_ns": self.slices.last_ns,
            "source": f"simulated:{scenario.name}",
        }
        return pl.DataFrame([row])

    def tracks(self) -> pl.DataFrame:
        used = sorted(self.slices.slices["track"].unique().to_list())
        rows = [self._track(number, order) for order, number in enumerate(used)]
        if self.machine.scenario.device.kind == "npu":
            row = {"track": FREQUENCY_TRACK, "kind": "counter", "name": "AI Core Freq (MHz)", "process": "AI Core Freq"}
            rows.append({**row, "thread": "", "order": len(rows)})
        return pl.DataFrame(rows)

    def _track(self, number: int, order: int) -> dict[str, Any]:
        device = self.machine.scenario.device.kind
        if number in _HOST_TRACKS:
            name, thread = _HOST_TRACKS[number]
            return {
                "track": number,
                "kind": "host",
                "name": name,
                "process": "python CPU",
                "thread": thread,
                "order": order,
            }
        if number == COLLECTIVES_ON_HOST:
            name = "thread 4102 (pt_gloo_runloop)"
            return {
                "track": number,
                "kind": "host",
                "name": name,
                "process": "python CPU",
                "thread": "4102",
                "order": order,
            }
        plane = number >= FIRST_PLANE
        stream = STREAMS[number - (FIRST_PLANE if plane else FIRST_STREAM)]
        thread = str(stream_number(stream, device))
        process = (
            f"python GPU {self.capture.device_index}"
            if device == "gpu"
            else "Communication"
            if plane
            else "Ascend Hardware"
        )
        name = f"Plane {thread}" if plane else f"stream {thread} ({stream})"
        kind = "plane" if plane else "stream"
        return {"track": number, "kind": kind, "name": name, "process": process, "thread": thread, "order": order}

    def steps(self) -> pl.DataFrame:
        capture, device = self.capture, self.slices.device
        steps = np.arange(capture.before, capture.steps)
        instructions = capture.rows.instructions
        phases = np.array([each.phase for each in instructions])[device.row]
        # Transfers between stages are launched by the schedule, beside autograd.
        transfers = np.array([each.key is not None for each in instructions])[device.row]
        waits = np.array([each.slice_kind == "wait" for each in instructions])[device.row]
        operators = capture.rows.texts["operator"].cast(pl.String).to_list()
        rows = []
        for step in steps.tolist():
            own = np.flatnonzero((device.step == step) & ~waits)
            start, end = (capture.times[step, device.row[own], which] for which in (START, END))
            row: dict[str, Any] = {
                "step": step,
                "host_start_ns": int(capture.times[step, 0, HOST_START]),
                "host_end_ns": int(capture.times[step, 0, HOST_END]),
                "marks_from": "profiler_step",
            }
            if capture.rows.device != "cpu" and len(own):
                row |= {"device_start_ns": int(start.min()), "device_end_ns": int(end.max())}
                forward = np.flatnonzero(phases[own] == "forward")
                backward = np.flatnonzero((phases[own] == "backward") & ~transfers[own])
                if len(forward):
                    first = forward[start[forward].argmin()]
                    row |= {"forward_start_ns": int(start[first]), "first_operator": operators[device.row[own[first]]]}
                if len(backward):
                    last = backward[end[backward].argmax()]
                    row |= {"backward_end_ns": int(end[last]), "last_operator": operators[device.row[own[last]]]}
            rows.append(row)
        return pl.DataFrame(rows)

    def collectives(self) -> pl.DataFrame:
        capture, device = self.capture, self.slices.device
        own = capture.rows.collective[device.row]
        step, row, ids = device.step[own], device.row[own], device.slice[own]
        if not len(row):
            return pl.DataFrame()
        start, end, ready = (capture.times[step, row, which] for which in (START, END, READY))
        instructions = capture.rows.instructions
        by_row = pl.DataFrame(
            {
                "kind": [each.kind for each in instructions],
                "name": capture.rows.texts["slice_name"].cast(pl.String),
                "group": [capture.groups[each.dimension].name if each.kind else None for each in instructions],
                "bytes": [each.size for each in instructions],
                "dtype": [CALL_TYPES[each.dtype] if each.kind else None for each in instructions],
            },
            schema_overrides={"group": pl.String, "dtype": pl.String},
        )
        frame = by_row[row].with_columns(
            slice=pl.Series(ids),
            seq=_nullable(capture.sequence(step, row)),
            step=_nullable(np.where(step >= capture.before, step, NULL)),
            start_ns=pl.Series(start),
            end_ns=pl.Series(end),
            peer=_nullable(self._peers(row)),
        )
        if capture.rows.device == "cpu":
            return frame.with_columns(bytes=pl.lit(None, pl.Int64), dtype=pl.lit(None, pl.String))
        frame = frame.with_columns(stream=pl.Series(capture.rows.stream[row]))
        if capture.rows.device == "npu":
            wait = np.maximum(ready - start, 0)
            frame = frame.with_columns(
                name=pl.Series(capture.slice_names(step, row)),
                algorithm=pl.lit("MESH-RING"),
                transit_ns=pl.Series(end - np.maximum(ready, start)),
                wait_ns=pl.Series(wait),
                sync_ns=pl.Series(wait),
                idle_ns=pl.Series(np.zeros(len(row), np.int64)),
            )
        return frame

    def _peers(self, row: Int64s) -> Int64s:
        instructions = self.capture.rows.instructions
        peers = {
            number: self.capture.peer(instructions[number])
            for number in set(row.tolist())
            if instructions[number].key is not None
        }
        return np.array([peers.get(number, NULL) for number in row.tolist()], np.int64)

    def transfers(self) -> pl.DataFrame:
        """What moved to the next rank of each ring, and how long the last to arrive was waited for (Ascend only)."""
        capture, device = self.capture, self.slices.device
        own = capture.rows.collective[device.row] & (device.step >= capture.before)
        if capture.rows.device != "npu" or not own.any():
            return pl.DataFrame()
        step, row = device.step[own], device.row[own]
        start, end, ready, last = (capture.times[step, row, which] for which in (START, END, READY, LAST))
        names = capture.slice_names(step, row)
        peers, transports, sizes, packets, groups, own_share = [], [], [], [], [], []
        for number in row.tolist():
            instruction = capture.rows.instructions[number]
            group = capture.groups[instruction.dimension]
            members = group.ranks
            if instruction.key is not None:
                peer = capture.peer(instruction)
            else:
                peer = members[(members.index(capture.rank) + 1) % len(members)]
            peers.append(peer)
            link = self.machine.links.between(capture.rank, peer)
            transports.append(link.transport)
            own_share.append(self._share_of_link(instruction, members, link))
            sizes.append(sent_bytes(instruction.kind, instruction.size, len(members)))
            packets.append(instruction.packets)
            groups.append(group.name)
        common = {"group": groups, "call": names, "step": step}
        payload = pl.DataFrame(
            {
                **common,
                "peer": peers,
                "transport": transports,
                "bytes": sizes,
                "packets": packets,
                # A rank moves its data as fast as its own link can; then it waits for what a slower one brings.
                "time_ns": np.rint((end - np.maximum(ready, start)) * np.array(own_share)).astype(np.int64),
            }
        ).with_columns(kind=pl.lit("payload"), plane=pl.lit(0))
        waits = pl.DataFrame({**common, "peer": last, "time_ns": np.maximum(ready - start, 0)}).with_columns(
            kind=pl.lit("wait"), plane=pl.lit(0), transport=pl.lit("LOCAL"), bytes=pl.lit(0), packets=pl.lit(1)
        )
        waits = waits.filter((pl.col("time_ns") > 0) & (pl.col("peer") != capture.rank))
        received = np.array([capture.rows.instructions[number].kind != "receive" for number in row.tolist()])
        tables = pl.concat([payload.filter(pl.Series(received)), waits], how="diagonal_relaxed")
        if capture.coarse:
            return tables.group_by("group", "step", "peer", "kind", "plane", "transport", maintain_order=True).agg(
                pl.col("bytes", "packets", "time_ns").sum()
            )
        return tables

    def _share_of_link(self, instruction: Instruction, members: tuple[int, ...], link: Link) -> float:
        """How much of a call's time the link from a rank to the next needs: all of it where it is the slowest."""
        if instruction.key is not None:
            return 1.0
        kind, size, ring = instruction.kind, instruction.size, self.machine.links.ring(members)
        whole = collective_cost(kind, size, len(members), ring).nanoseconds
        return min(collective_cost(kind, size, len(members), [link]).nanoseconds / whole, 1.0) if whole else 1.0

    def counters(self) -> pl.DataFrame:
        """The device's frequency at the beginning of each step (Ascend only)."""
        from stepscope.facts.simulation import simulation_facts

        if self.machine.scenario.device.kind != "npu":
            return pl.DataFrame()
        capture = self.capture
        steps = np.arange(capture.before, capture.steps)
        usual = simulation_facts().device.npu_frequency_mhz
        value = usual * self.machine.conditions.frequency[capture.rank, steps]
        moments = capture.times[steps, 0, HOST_START]
        return pl.DataFrame({"track": np.full(len(steps), FREQUENCY_TRACK), "time_ns": moments, "value": value})


def _nullable(values: Int64s) -> pl.Series:
    return pl.Series(values).replace(NULL, None)

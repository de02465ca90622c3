"""Write a PyTorch profiler (Kineto) trace of any size that has the texture of a recorded one.

    python benchmarks/generate_kineto.py trace.json --megabytes 500

The step of `kineto_step.txt` is compiled once; every step then draws its times and fills the text. The
file is ordered by activity group as the profiler writes it, so the draws are replayed for each group:
memory stays at a few steps and nothing is spilled. Ranks of one seed and world size fit together: their
collectives match and end together, and the straggler of each step is known.
"""

from __future__ import annotations

import argparse
import gzip as gzip_format
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))  # also found when imported as benchmarks.generate_kineto

from kineto_record import GROUPS, Ints
from kineto_step import StepProgram, read_script
from kineto_text import ROOT_FRAMES, START_NS, Group, Setting, Tally, footer, header, root_frames

Floats = NDArray[np.float64]
Programs = tuple[StepProgram, StepProgram]  # an ordinary step, one that logs

FIRST_STEP, MAX_LAYERS = 12, 16
LOG_EVERY = 4  # steps; only these wait for the device, the others leak into the next one
LAUNCH_NS, SYNC_NS, STEP_GAP_NS = 2400, 1900, 25_000
FIRST_IDS = {
    "ext": 35841,
    "corr": 191996,
    "seq": 5968,
    "flow": 1,
    "comm 0": 901,
    "comm 1": 71,
    "step": FIRST_STEP,
}


class Step(NamedTuple):
    """One step in time, ns on this rank's clock."""

    program: StepProgram
    host: Ints  # per tick
    start: Ints  # per device work
    end: Ints
    straggler: int


class Sink:
    """The output file, counting what goes through before compression."""

    def __init__(self, path: Path, gzip: bool, layout: int) -> None:
        self.raw = path.open("wb")
        # No time stamp in the header: equal seeds give equal bytes.
        self.file = cast(BinaryIO, gzip_format.GzipFile("", "wb", 6, self.raw, 0)) if gzip else self.raw
        self.layout, self.size = layout, 0

    def write(self, text: str) -> None:
        if self.layout == 3:  # json.dump writes the shortest float
            text = re.sub(r'("(?:ts|dur)": \d+\.\d\d??)0+(?=[,}])', r"\1", text)
        data = text.encode("ascii")
        self.size += len(data)
        self.file.write(data)

    def close(self) -> None:
        self.file.close()
        self.raw.close()


def write_trace(
    path: str | Path,
    *,
    megabytes: float,
    seed: int = 7,
    layout: int = 1,
    gzip: bool = False,
    rank: int = 0,
    world_size: int = 8,
    stacks: bool = True,
    memory: bool = True,
) -> dict[str, Any]:
    """Write one trace and return what was counted while writing; `megabytes` is before compression."""
    if not 0 <= rank < world_size or layout not in (1, 2, 3):
        raise ValueError(f"rank {rank} of {world_size}, layout {layout}")
    setting = Setting(layout, rank, world_size, stacks, memory)
    layers, step_count = plan_size(setting, seed, megabytes * 1e6)
    programs = compile_steps(setting, layers)
    plan = [number % LOG_EVERY == 2 for number in range(step_count)]
    tally = Tally(Counter(), Counter())
    end_ns, ev_base, step_spans, stragglers = START_NS, 0, [], []
    sink = Sink(Path(path), gzip, layout)
    sink.write(header(setting))
    for name in GROUPS:
        if name == "python" and stacks:
            sink.write(root_frames(setting, end_ns, ev_base, tally))
            ev_base += len(ROOT_FRAMES)
        for step, values in replay(programs, plan, seed, setting):
            group = step.program.groups[name]
            values["ev"] = ev_base + np.arange(step.program.size["ev"])
            ev_base += group.indexed
            sink.write(step.program.render(group, values))
            count(group, values, tally)
            if name == "ops":
                end_ns = max(end_ns, int(step.host[-1]), int(step.end.max()))
                step_spans.append(int(values["host dur"][0]))
                stragglers.append(step.straggler)
    sink.write(footer(setting, end_ns, tally))
    sink.close()
    used = [programs[logging] for logging in plan]
    names = [
        {name for program in used for group in program.groups.values() for name in group.names.get(cat, ())}
        for cat in ("cpu_op", "kernel")
    ]
    return {
        "bytes": sink.size,
        "layout": layout,
        "seed": seed,
        "rank": rank,
        "world_size": world_size,
        "layers": layers,
        "total_events": tally.counts.total(),
        "complete_events": {key[2:]: n for key, n in sorted(tally.counts.items()) if key.startswith("X ")},
        "events": dict(sorted(tally.counts.items())),
        "duration_ns": dict(sorted(tally.duration_ns.items())),
        "steps": step_count,
        "first_step": FIRST_STEP,
        "step_duration_ns": step_spans,
        "straggler_of_step": stragglers,
        "launches_with_device_events": sum(program.launches for program in used),
        "graph_launches": sum(program.graph_launches for program in used),
        "device_events": sum(len(program.works) for program in used),
        "collectives": sum(program.size["comm 0"] + program.size["comm 1"] for program in used),
        "peak_allocated_bytes": max(program.heaps[0].peak for program in used) if memory else 0,
        "distinct_op_names": len(names[0]),
        "distinct_kernel_names": len(names[1]),
        "clock_offset_ns": clock_offset_ns(seed, rank),
    }


def compile_steps(setting: Setting, layers: int) -> Programs:
    script = read_script()
    return StepProgram(script, setting, layers, False), StepProgram(script, setting, layers, True)


def plan_size(setting: Setting, seed: int, target: float) -> tuple[int, int]:
    """Layers and steps that come near the size: the text of a step grows by the same amount per layer.

    Measured on rank 0, so that all ranks of a job get the same steps.
    """
    setting = replace(setting, rank=0)
    sizes = []
    for layers in (4, 8):
        steps = replay(compile_steps(setting, layers), [False, True], seed, setting)
        plain, logging = (sum(step_bytes(step, values)) for step, values in steps)
        sizes.append(plain + (logging - plain) / LOG_EVERY)
    per_layer = (sizes[1] - sizes[0]) / 4
    fixed = sizes[0] - 4 * per_layer
    steps_wanted = max(4, ceil(target / (fixed + per_layer * MAX_LAYERS)))
    layers = min(MAX_LAYERS, max(1, round((target / steps_wanted - fixed) / per_layer)))
    return layers, max(2, round(target / (fixed + per_layer * layers)))


def step_bytes(step: Step, values: dict[str, Ints]) -> Iterator[int]:
    values["ev"] = 10**6 + np.arange(step.program.size["ev"])
    for group in step.program.groups.values():
        yield len(step.program.render(group, values))


def count(group: Group, values: dict[str, Ints], tally: Tally) -> None:
    for (ph, cat), number in group.counts.items():
        tally.counts[f"{ph} {cat}"] += number
    for cat, (section, spans) in group.spans.items():
        tally.duration_ns[cat] += int(values[section][spans].sum())


def clock_offset_ns(seed: int, rank: int) -> int:
    """Hosts agree on the time only within tens of microseconds."""
    return int(np.random.default_rng([seed, rank]).integers(-40_000, 40_000)) if rank else 0


def replay(
    programs: Programs, plan: Sequence[bool], seed: int, setting: Setting
) -> Iterator[tuple[Step, dict[str, Ints]]]:
    """All steps in order with the numbers of their slots; the same draws at every call.

    The slowest rank of a step sets when its collectives end. Every other rank is faster in each gap and
    each kernel, so it can never arrive later than that, and needs no simulation of its peers.
    """
    ids = Counter(FIRST_IDS | {"py": len(ROOT_FRAMES) + 1})
    reserved = max(program.reserved for program in programs)
    offset = clock_offset_ns(seed, setting.rank)
    slow_free: dict[int, int] = {}
    own_free: dict[int, int] = {}
    begin = START_NS + STEP_GAP_NS
    for number, logging in enumerate(plan):
        program = programs[logging]
        draw = np.random.default_rng([seed, number, 0])
        gaps, work_ns, spacing = draw_times(program, draw)
        straggler = int(draw.integers(setting.world_size))
        own = np.random.default_rng([seed, number, 1, setting.rank])
        paces = (1.0, 1.0) if setting.rank == straggler else own.uniform((0.93, 0.97), (0.99, 1.0))
        host, _, ends = schedule(program, gaps, work_ns, spacing, begin, slow_free, {})
        late = own.integers(0, 400, len(program.comm_works)).tolist()  # the last chunk, not the same for all
        comm_ends = {i: int(ends[i]) + ns for i, ns in zip(program.comm_works, late, strict=True)}
        mine = schedule(program, gaps * paces[0], work_ns * paces[1], spacing, begin, own_free, comm_ends)
        mine[0][-2:] = np.maximum(mine[0][-2:], host[-2:])  # a faster rank waits for the others
        begin = int(host[-1]) + STEP_GAP_NS
        step = Step(program, mine[0] + offset, mine[1] + offset, mine[2] + offset, straggler)
        values = {name: ids[name] + np.arange(size) for name, size in program.size.items()}
        values |= clocks(step) | {"reserved": np.array([reserved])}
        ids.update(program.size)
        yield step, values


def draw_times(program: StepProgram, draw: np.random.Generator) -> tuple[Floats, Floats, Ints]:
    gaps = program.gap_ns * draw.lognormal(0, 0.35, len(program.gap_ns))
    gaps[draw.random(len(gaps)) < 0.0006] *= 15  # interrupts, page faults
    gaps = np.maximum(gaps, 2)  # 1 ns or more on every rank, so that no slice is empty
    gaps[program.touching_ticks[draw.random(len(program.touching_ticks)) < 0.02]] = 0
    work_ns = program.work_ns * draw.lognormal(0, 0.05, len(program.work_ns))
    spacing = draw.integers(700, 1600, len(work_ns))
    # Programmatic dependent launch: the next kernel starts before the previous one has ended.
    early = program.can_overlap & (draw.random(len(work_ns)) < 0.06)
    return gaps, work_ns, np.where(early, -spacing, spacing)


def schedule(
    program: StepProgram,
    gaps: Floats,
    work_ns: Floats,
    spacing: Ints,
    begin: int,
    free: dict[int, int],
    comm_ends: dict[int, int],
) -> tuple[Ints, Ints, Ints]:
    """Host ticks, starts and ends of the device work; `free` is when each stream ends its last work."""
    host = begin + np.cumsum(gaps.astype(np.int64))
    lengths, space = work_ns.astype(np.int64).tolist(), spacing.tolist()
    starts: list[int] = []
    ends: list[int] = []
    for launched, tick in (*program.syncs, (len(lengths), -1)):
        done = len(starts)
        for i, call in enumerate(host[program.work_ticks[done:launched]].tolist(), done):
            _, work, awaited = program.works[i]
            arrival = call + LAUNCH_NS + abs(space[i])
            start = max(arrival, free.get(work.stream, 0) + space[i], ends[awaited] if awaited >= 0 else 0)
            starts.append(start)
            ends.append(comm_ends.get(i, start + lengths[i]))
            free[work.stream] = ends[i]
        if tick >= 0:
            host[tick:] += max(0, max(free.values()) + SYNC_NS - int(host[tick]))
    return host, np.array(starts), np.array(ends)


def clocks(step: Step) -> dict[str, Ints]:
    program, host = step.program, step.host
    first, last = program.note_bounds
    return {
        "host": host[program.opens],
        "host dur": host[program.closes] - host[program.opens],
        "device": step.start,
        "device dur": step.end - step.start,
        "note": step.start[first] - 1,  # the writer widens annotations by 1 ns on both sides
        "note dur": step.end[last] - step.start[first] + 2,
        "bandwidth": program.work_bytes * 1000 // (step.end - step.start),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a synthetic Kineto trace and print what is in it.")
    parser.add_argument("path", type=Path, metavar="OUT.json")
    parser.add_argument("--megabytes", type=float, default=500, help="size before compression (default 500)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--layout", type=int, choices=(1, 2, 3), default=1)
    parser.add_argument("--gzip", action="store_true")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world-size", type=int, default=8)
    parser.add_argument("--stacks", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--memory", action=argparse.BooleanOptionalAction, default=True)
    options = vars(parser.parse_args())
    print(json.dumps(write_trace(options.pop("path"), **options), indent=2))


if __name__ == "__main__":
    main()

"""Memory of a rank: weights, gradients and optimizer state from before, activations from forward to backward."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from stepscope.arrays import Int64s
from stepscope.simulate.program import StageProgram
from stepscope.simulate.workload import Transformer

_ROUND: Final = 512  # a caching allocator gives out multiples of it
_SEGMENT: Final = 2 << 20


@dataclass(frozen=True)
class ExtraBlocks:
    """Blocks that something allocates at the end of a step: (ranks, steps) bytes, and how many steps each lives."""

    site: str
    operator: str
    bytes: Int64s
    lives_steps: int | None = None  # None: for ever


@dataclass(frozen=True)
class Failure:
    """A request that fails in a step; ``in_pieces`` where enough would be free, but not in one piece."""

    rank: int
    step: int
    in_pieces: bool


@dataclass
class MemoryPlan:
    """What faults add to the memory of a job."""

    extra: list[ExtraBlocks] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True)
class ActivationRows:
    """By kept activation: the row that allocates it, the row behind which it is freed, and its size."""

    allocates: Int64s
    frees: Int64s
    bytes: Int64s


def activation_rows(program: StageProgram) -> ActivationRows:
    """Activations live from their operator to the backward pass of the same module and micro-batch."""
    last: dict[tuple[int, int, str], int] = {}
    kept: list[tuple[int, tuple[int, int, str], int]] = []
    row = 0
    for block in program.blocks:
        for instruction in block.instructions:
            if block.turn is not None and instruction.module and instruction.slice_kind == "kernel":
                key = (block.turn.micro_batch, block.turn.chunk, instruction.module)
                if block.turn.direction == "backward":
                    last[key] = row
                elif instruction.keeps_bytes:
                    kept.append((row, key, instruction.keeps_bytes))
            row += 1
    kept = [entry for entry in kept if entry[1] in last]
    return ActivationRows(
        np.array([entry[0] for entry in kept], np.int64),
        np.array([last[entry[1]] for entry in kept], np.int64),
        np.array([_rounded(entry[2]) for entry in kept], np.int64),
    )


def fixed_blocks(model: Transformer, layers: int, outer: int) -> list[tuple[str, int]]:
    """Category and size of what was allocated before the window: one block per layer and category."""
    sizes = [model.layer_parameters()] * layers + [model.outer_parameters()] * outer
    bytes_by_category = {
        "weights": [size * model.element for size in sizes],
        "gradients": [size * 4 for size in sizes],
        "optimizer": [model.updated(size) * 12 for size in sizes],
    }
    return [(category, _rounded(size)) for category, own in bytes_by_category.items() for size in own]


def reserved(allocated: Int64s) -> Int64s:
    """What a caching allocator holds: whole segments, and never less than before."""
    whole = -(-allocated // _SEGMENT) * _SEGMENT
    return np.asarray(np.maximum.accumulate(whole), np.int64)


def at_end_of(step: int, extra: ExtraBlocks, rank: int) -> int:
    """Bytes that a site allocates on a rank in a step."""
    return _rounded(int(extra.bytes[rank, step])) if extra.bytes[rank, step] > 0 else 0


def _rounded(size: int) -> int:
    return -(-size // _ROUND) * _ROUND

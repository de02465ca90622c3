"""In which order a pipeline stage works on its micro-batches: GPipe, 1F1B, interleaved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["forward", "backward"]


@dataclass(frozen=True)
class Turn:
    """One pass of one micro-batch through one model chunk of a stage."""

    direction: Direction
    micro_batch: int
    chunk: int


def turns(schedule: str, stage: int, stages: int, micro_batches: int, chunks: int = 1) -> list[Turn]:
    """What a stage does in one step, in order.

    >>> [f"{turn.direction[0]}{turn.micro_batch}" for turn in turns("1f1b", stage=0, stages=2, micro_batches=3)]
    ['f0', 'f1', 'b0', 'f2', 'b1', 'b2']
    """
    if schedule == "gpipe":
        return [Turn("forward", number, 0) for number in range(micro_batches)] + [
            Turn("backward", number, 0) for number in range(micro_batches)
        ]
    total = micro_batches * chunks
    if chunks == 1:
        ahead = min(stages - stage - 1, total)
    else:
        ahead = min((stages - stage - 1) * 2 + (chunks - 1) * stages, total)
    forwards = [_numbered("forward", number, stages, chunks) for number in range(total)]
    backwards = [_numbered("backward", number, stages, chunks) for number in range(total)]
    order = forwards[:ahead]
    for number in range(total - ahead):
        order += [forwards[ahead + number], backwards[number]]
    return order + backwards[total - ahead :]


def _numbered(direction: Direction, number: int, stages: int, chunks: int) -> Turn:
    """The ``number``-th pass: rounds of ``stages`` micro-batches go through one chunk after another."""
    if chunks == 1:
        return Turn(direction, number, 0)
    group, rest = divmod(number, stages * chunks)
    chunk, within = divmod(rest, stages)
    if direction == "backward":
        chunk = chunks - 1 - chunk
    return Turn(direction, group * stages + within, chunk)

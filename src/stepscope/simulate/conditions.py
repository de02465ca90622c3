"""What the world does to a job, as arrays over ranks and steps; 1 is as usual. Faults change them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from stepscope.arrays import Float64s

#: Stands among the dimensions for collectives of any dimension that run beside computing.
BESIDE_COMPUTE: Final = "beside_compute"


@dataclass
class Conditions:
    """Factors on times. ``steps`` counts all simulated steps, those before the window included."""

    ranks: int
    steps: int
    micro_batches: int
    pipeline_stages: int = 0
    compute: Float64s = field(init=False)  # of kernels, by rank and step
    host: Float64s = field(init=False)  # of operators on the host, by rank and step
    length: Float64s = field(init=False)  # of sequences, by rank, step and micro-batch
    experts: Float64s = field(init=False)  # of tokens for the rank's experts, by rank and step
    frequency: Float64s = field(init=False)  # of the device's clock, by rank and step
    communication: dict[str, Float64s] = field(default_factory=dict)  # by dimension, then rank and step
    operators: dict[str, Float64s] = field(default_factory=dict)  # by kind of operator, then rank and step
    input: Float64s = field(init=False)  # of stages of the input pipeline, by stage, rank and step

    def __post_init__(self) -> None:
        shape = (self.ranks, self.steps)
        self.compute, self.host, self.experts, self.frequency = (np.ones(shape) for _ in range(4))
        self.length = np.ones((*shape, self.micro_batches))
        self.input = np.ones((self.pipeline_stages, *shape))

    @property
    def beside_compute(self) -> Float64s:
        """Of collectives that run beside computing."""
        return self.of_communication(BESIDE_COMPUTE)

    def of_operator(self, kind: str) -> Float64s:
        return self.operators.setdefault(kind, np.ones((self.ranks, self.steps)))

    def of_communication(self, dimension: str) -> Float64s:
        return self.communication.setdefault(dimension, np.ones((self.ranks, self.steps)))

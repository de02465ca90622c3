"""Clocks of hosts: each has an offset and a drift against true time, all ranks of a host the same."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stepscope.arrays import Float64s, Int64s
from stepscope.facts.simulation import simulation_facts
from stepscope.simulate.noise import CLOCK, Noise
from stepscope.simulate.plan import Layout
from stepscope.simulate.scenario import Scenario


@dataclass
class Clocks:
    """By host: what its clock shows beyond true time, and how much it gains per second. Faults may add to both."""

    layout: Layout
    offset_ns: Int64s
    drift_ppb: Int64s
    added_ns: dict[int, int] = field(default_factory=dict)

    def local(self, rank: int, moments: Int64s) -> Int64s:
        """True moments, in nanoseconds since the job began, as the rank's clock shows them."""
        host = self.layout.host_of(rank)
        epoch = simulation_facts().clocks.epoch_s * 10**9
        drift = moments * int(self.drift_ppb[host]) // 10**9
        return np.asarray(moments + drift + (epoch + self.offset_of(rank)), np.int64)

    def offset_of(self, rank: int) -> int:
        host = self.layout.host_of(rank)
        return int(self.offset_ns[host]) + self.added_ns.get(host, 0)


def clocks_of(scenario: Scenario, layout: Layout, noise: Noise) -> Clocks:
    """Clocks as they usually are: the first host's is right, the others are some milliseconds off."""
    usual = simulation_facts().clocks
    drawn: Float64s = noise.generator(CLOCK).uniform(-1, 1, (2, layout.hosts))
    apart = scenario.clocks == "apart"
    offset = np.rint(drawn[0] * usual.offset_ms * 1e6 * apart).astype(np.int64)
    drift = np.rint(drawn[1] * usual.drift_ppm * 1e3 * apart).astype(np.int64)
    offset[0] = drift[0] = 0
    return Clocks(layout, offset, drift)

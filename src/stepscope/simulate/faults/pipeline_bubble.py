"""``pipeline_bubble``: too few micro-batches for the number of pipeline stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec

from stepscope.simulate.faults.planted import Part, Planted
from stepscope.simulate.scenario import Scenario

if TYPE_CHECKING:
    pass


class PipelineBubble(Planted):
    """``amount``: how many times fewer micro-batches there are, each so much larger; the work stays the same."""

    kind: ClassVar[str] = "pipeline_bubble"
    places: ClassVar[frozenset[str]] = frozenset()  # it is everywhere

    @classmethod
    def needs(cls, cause: str) -> Part:
        return "stages"

    def alter(self, scenario: Scenario) -> Scenario:
        plan = scenario.plan
        unit = plan.pp if plan.chunks > 1 else 1
        counts = [count for count in range(unit, plan.micro_batches + 1, unit) if plan.micro_batches % count == 0]
        count = min(counts, key=lambda each: abs(plan.micro_batches / each - 1 - self.amount))
        replace = msgspec.structs.replace
        larger = scenario.workload.batch * plan.micro_batches // count
        return replace(
            scenario, plan=replace(plan, micro_batches=count), workload=replace(scenario.workload, batch=larger)
        )

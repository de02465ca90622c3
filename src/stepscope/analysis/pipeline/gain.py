"""How much faster the training could go without the stage that holds it up: until the next slower one does."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.analysis.pipeline.costs import Costs
from stepscope.analysis.pipeline.loop import Loop
from stepscope.analysis.pipeline.observed import Observed
from stepscope.analysis.pipeline.structure import Bound
from stepscope.facts.pipeline import pipeline_facts


@dataclass(frozen=True)
class Gain:
    """An upper bound, and what would be the limit then; None where the length of a step or the loss is unknown."""

    speedup: float | None = None
    limited_by: str | None = None


def potential(seen: Observed, loop: Loop, costs: Costs, bound: Bound, culprit: int | None) -> Gain:
    """The gain from removing what ``bound`` names."""
    lost = _lost_us(seen, loop, bound)
    period = loop.period_us
    if lost is None or not period:
        return Gain()
    transparent = pipeline_facts().kinds.transparent
    paces = [(period - lost, "training")]
    if bound == "pipeline" and seen.mode == "sink" and loop.push_us is not None:
        paces.append((loop.push_us, "transfer"))
    for op, cost in costs.us.items():
        # Workers cannot deliver batches faster than they make them, so the loop waits.
        stage = seen.stages.get(op)
        if stage is not None and op != culprit and stage.kind not in transparent:
            paces.append((cost / stage.workers, stage.name))
    slowest, name = max(paces)
    return Gain(max(period / slowest, 1.0), name) if slowest > 0 else Gain()


def _lost_us(seen: Observed, loop: Loop, bound: Bound) -> float | None:
    """How much of a step would be saved."""
    sink = seen.mode == "sink"
    starved = loop.wait_us if loop.wait_us is not None or not sink else loop.interval_us
    lost: dict[str, float | None] = {
        "pipeline": starved,
        "transfer": starved if sink else loop.copy_us,
        "user_code": loop.between_us,
        "getnext": loop.getnext_us if sink else loop.wait_us,
    }
    return lost.get(bound)

"""The times of a step: of one in ``steps``, of the mean one in ``summary`` (docs/metrics/steps.md)."""

from __future__ import annotations

import msgspec

from stepscope.analysis.foundation.idle import IdleByCause
from stepscope.analysis.foundation.units import Microseconds


class StepTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Null is what the capture cannot tell. Keyword only, so that these fields stand behind the heirs' own."""

    period_us: Microseconds
    idle_us: Microseconds | None
    idle_by_cause: IdleByCause | None
    overlap_us: Microseconds | None
    duration_us: Microseconds
    interval_us: Microseconds | None
    forward_backward_us: Microseconds | None
    tail_us: Microseconds | None
    device_span_us: Microseconds | None
    computing_us: Microseconds | None
    pure_computing_us: Microseconds | None
    communication_us: Microseconds | None
    overlapped_us: Microseconds | None
    exposed_communication_us: Microseconds | None
    receive_alone_us: Microseconds | None
    collective_alone_us: Microseconds | None
    exposed_copy_us: Microseconds | None
    free_us: Microseconds | None
    enclosing_us: Microseconds | None
    preparing_us: Microseconds | None
    bubble_us: Microseconds | None
    stage_us: Microseconds | None

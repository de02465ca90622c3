"""The mean times of a rank, and of a part of a job over its ranks."""

from __future__ import annotations

import msgspec

from stepscope.analysis.foundation.units import Microseconds


class MeanTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Per counted step; null is what the capture cannot tell."""

    period_us: Microseconds | None
    computing_us: Microseconds | None
    exposed_communication_us: Microseconds | None
    exposed_copy_us: Microseconds | None
    idle_us: Microseconds | None
    overlap_us: Microseconds | None
    interval_us: Microseconds | None
    forward_backward_us: Microseconds | None
    tail_us: Microseconds | None
    communication_us: Microseconds | None
    overlapped_us: Microseconds | None
    receive_alone_us: Microseconds | None
    collective_alone_us: Microseconds | None
    bubble_us: Microseconds | None
    stage_us: Microseconds | None
    wait_us: Microseconds | None
    pipeline_wait_us: Microseconds | None
    caused_wait_us: Microseconds | None
    delay_us: Microseconds | None

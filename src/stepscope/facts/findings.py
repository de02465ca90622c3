"""Kinds of findings and what something must cost to be one, typed."""

from __future__ import annotations

from typing import Literal

import msgspec

from stepscope import facts


class Strength(msgspec.Struct, frozen=True):
    """Shares of the mean step from which a loss is mild, clear, critical; which difference
    is none; how many steps must show it.
    """

    clear_share: float
    mild_share: float
    critical_share: float
    least_gain_share: float
    like_share: float
    least_steps: int


class Lists(msgspec.Struct, frozen=True):
    """How much a finding lists at most."""

    most_proofs: int
    most_kinds_named: int
    most_steps: int
    most_ranks_counted: int


class CaptureIncomplete(msgspec.Struct, frozen=True):
    """Codes of notes that tell of a cut or damaged capture."""

    notes: list[str]


class FirstUse(msgspec.Struct, frozen=True):
    """What calls of a runtime take only when a device is used for the first time."""

    least_call_ms: int


class ExposedCommunication(msgspec.Struct, frozen=True):
    """From which shares communication is held against a run, and called waiting."""

    least_share: float
    least_share_within_layers: float
    least_gradient_share: float
    mostly_waiting_from_share: float
    least_share_of_calls: float


class SlowRank(msgspec.Struct, frozen=True):
    """How much more than its peers a rank must need, how much of all waiting must be for it, and what it absorbs.

    ``apart_times``: how much longer it is idle where that is no habit of all.
    """

    least_excess_share: float
    least_excess_behind_calls_share: float
    least_share_of_waits: float
    apart_times: float
    absorbs: dict[str, tuple[str, ...]]

    def is_absorbed(self, kind: str, cause: str | None, slow_because: str | None) -> bool:
        """Whether a finding on a slow rank says once more why it is slow."""
        absorbed = self.absorbs.get(slow_because or "", ())
        return kind in absorbed or f"{kind}.{cause}" in absorbed


class BandwidthContentionLimits(msgspec.Struct, frozen=True):
    """How much slower calls must be, how far beside computing or alone, and how large."""

    least_ratio: float
    least_share_beside: float
    most_share_alone: float
    least_bytes: int


class MemoryLeakLimits(msgspec.Struct, frozen=True):
    """From how much kept in each step on a leak is a problem."""

    least_bytes_per_step: int


class MemoryPressureLimits(msgspec.Struct, frozen=True):
    """From which share of the device's memory on it is called tight."""

    least_share_of_capacity: float


class HostBoundLimits(msgspec.Struct, frozen=True):
    """How much longer a host must launch where its device waits longer, and how long to set the pace itself; when a
    place in the program is named as the one where it is busy; which gaps are the framework's own.
    """

    least_share_of_excess: float
    least_busy_share: float
    least_share_in_place: float
    most_share_of_step: float
    longest_way_us: float
    updates: str


class Recorder(msgspec.Struct, frozen=True):
    """What a framework's recorder adds to the host's time per event, and to which findings; when that is told."""

    us_per_event: float
    most_us_per_event: float
    framework: str
    lengthens: tuple[str, ...]
    least_share_of_gain: float


class GcPauseLimits(msgspec.Struct, frozen=True):
    """How long a rank must collect, of the longest, to collect alike."""

    least_share_of_longest: float


class UserCodeLimits(msgspec.Struct, frozen=True):
    """How much of the waiting for Python must lie behind a batch."""

    least_share_of_idle: float


class ExposedCopiesLimits(msgspec.Struct, frozen=True):
    """From which share copies are called those of pageable memory; how much less may come back of what went away."""

    mostly_share: float
    most_difference: float


class Outstanding(msgspec.Struct, frozen=True):
    """How sure one must be that a member of a group is unlike the others."""

    error_chance: float
    least_step_noise_multiple: float
    error_chance_of_steps: float
    least_times_of_others: float


class ClockSkew(msgspec.Struct, frozen=True):
    """How far off a clock must be, in milliseconds and in errors of its estimate."""

    least_ms: float
    least_error_multiple: float


class SlowHost(msgspec.Struct, frozen=True):
    """How much of its host's excess each rank must have."""

    least_share_of_excess: float


class PipelineBubble(msgspec.Struct, frozen=True):
    """How many micro-batches a stage has plenty of, and how many times more the gain assumes at least."""

    plenty_per_stage: int
    more_micro_batches: int


class SequenceImbalance(msgspec.Struct, frozen=True):
    """How much computing must vary over steps, and how alike forward and backward, to be a matter of lengths."""

    least_correlation: float
    least_variation: float
    least_steps: int


class StageImbalance(msgspec.Struct, frozen=True):
    """How many kernels with different names tell a loss head from more layers."""

    least_kernel_names: int


class SlowLink(msgspec.Struct, frozen=True):
    """How many times slower than others like it a link must be, and how many of these there must be."""

    least_ratio: float
    least_noise_multiple: float
    least_alike: int
    least_share_of_time: float
    least_bytes: int


class Redistribution(msgspec.Struct, frozen=True):
    """How often parameters are gathered, so that more is a matter of tensors between operators."""

    gathers_per_scatter: int
    least_gathers: int


class SmallPackets(msgspec.Struct, frozen=True):
    """Below which size packets are small, by transport."""

    least_bytes: dict[str, int]
    least_bytes_otherwise: int


class Retransmission(msgspec.Struct, frozen=True):
    """How much longer than usual transfers must take, and in how many steps."""

    least_ratio: float
    least_steps: int
    most_share_of_steps: float


class StepJitter(msgspec.Struct, frozen=True):
    """How many steps must be there and be long, and how much idle time must lie in them to be what makes them long."""

    least_steps: int
    least_long_steps: int
    least_share_of_idle: float


class Reachable(msgspec.Struct, frozen=True):
    """What kernels reach of a device's published rates, and how short they can be."""

    share_of_peak: float
    share_of_bandwidth: float
    least_kernel_us: float


class ComputeHotspot(msgspec.Struct, frozen=True):
    """How many times as long as it could an operator must take, and from when that is no accident of its size."""

    least_times_ideal: float
    sure_times_ideal: float


class KernelFusion(msgspec.Struct, frozen=True):
    """How many elementwise kernels must follow each other."""

    least_chain: int


class LayoutConversion(msgspec.Struct, frozen=True):
    """From which share of the step casts are too many."""

    least_cast_share: float


class CpuFallback(msgspec.Struct, frozen=True):
    """How long an operator must take on the host to be work and no launch."""

    least_operator_us: float


class FrequencyDrop(msgspec.Struct, frozen=True):
    """How far below the highest frequency a device must run."""

    least_drop_share: float


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of finding."""

    scope: Literal["rank", "cluster", "capture"]
    first: bool
    explains: list[str]
    page: Literal["timeline", "data", "memory", "operators", "cpu", "steps", "cluster", "communication"]
    questions: list[str]
    least_rest_share: float | None = None
    idle_cause: str | None = None
    symptoms: list[str] = []


class FindingFacts(msgspec.Struct, frozen=True):
    """The content of ``findings.toml``."""

    strength: Strength
    lists: Lists
    capture_incomplete: CaptureIncomplete
    first_use: FirstUse
    exposed_communication: ExposedCommunication
    outstanding: Outstanding
    clock_skew: ClockSkew
    slow_host: SlowHost
    pipeline_bubble: PipelineBubble
    stage_imbalance: StageImbalance
    slow_link: SlowLink
    redistribution: Redistribution
    small_packets: SmallPackets
    retransmission: Retransmission
    sequence_imbalance: SequenceImbalance
    slow_rank: SlowRank
    bandwidth_contention: BandwidthContentionLimits
    memory_leak: MemoryLeakLimits
    memory_pressure: MemoryPressureLimits
    host_bound: HostBoundLimits
    recorder: Recorder
    gc_pause: GcPauseLimits
    user_code: UserCodeLimits
    exposed_copies: ExposedCopiesLimits
    step_jitter: StepJitter
    reachable: Reachable
    compute_hotspot: ComputeHotspot
    kernel_fusion: KernelFusion
    layout_conversion: LayoutConversion
    cpu_fallback: CpuFallback
    frequency_drop: FrequencyDrop
    kinds: dict[str, Kind]


def finding_facts() -> FindingFacts:
    """The facts about findings."""
    return facts.load("findings", FindingFacts)

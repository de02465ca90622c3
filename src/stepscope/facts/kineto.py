"""Words of PyTorch traces: ``kineto.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class GraphNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Patterns of names: calls that capture, launch and fill a graph, and sizes of batches."""

    begins: str
    ends: str
    launches: str
    kernel_calls: str
    copy_calls: str
    copy_kernels: str
    captured_sizes: list[str]
    launched_sizes: list[str]
    capture_names: str


class KinetoFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    kinds: dict[str, str]
    device_events: dict[str, dict[str, str]]
    graphs: GraphNames
    device_types: dict[str, str]


def kineto_facts() -> KinetoFacts:
    """Words of PyTorch traces."""
    return load("kineto", KinetoFacts)

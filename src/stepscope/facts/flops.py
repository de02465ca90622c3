"""Formulas for FLOPs, element types and matrix units: ``flops.toml``, which says where each fact comes from, typed."""

from __future__ import annotations

import msgspec

from stepscope.facts import load


class FormulaEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Operators that cost this; ``again`` is what they compute a second time."""

    kind: str
    names: tuple[str, ...]
    inputs: tuple[str, ...]
    flops: str
    output: tuple[str, ...]
    causal: int | None = None
    again: str | None = None


class Causal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Values of the argument for causal attention."""

    values: tuple[str, ...]


class Recurrent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where weights may stand, and the mask of a backward pass."""

    weights: tuple[int, ...]
    mask: int | None = None


class TypedRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Types of kernels that one rule counts."""

    rule: str
    names: tuple[str, ...]


class DtypePrefixes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is cut from names of element types."""

    cut: tuple[str, ...]


class TensorCores(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names and counters that tell of matrix units."""

    pattern: str
    full_float32: str
    counters: tuple[str, ...]


class SplitFloat32(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """32-bit products computed as several of a shorter type."""

    pattern: str
    dtype: str
    unit: str
    products: int


class Counted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Counters of arithmetic."""

    metrics: tuple[str, ...]


class ShortFloat32(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """32-bit numbers cut by an NPU."""

    metric: str
    dtype: str


class Recomputation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names and marks of checkpoints."""

    pattern: str
    node: str
    recorded: tuple[str, ...]


class Coverage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much must be known of what kernels compute."""

    largest_unknown_share: float


class FlopsFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    formula: tuple[FormulaEntry, ...]
    causal: Causal
    convolutions: dict[str, dict[str, int]]
    recurrent: dict[str, Recurrent]
    typed: tuple[TypedRule, ...]
    dtypes: dict[str, str]
    dtype_bytes: dict[str, int]
    dtype_prefixes: DtypePrefixes
    tensor_cores: TensorCores
    split_float32: SplitFloat32
    counted: Counted
    short_float32: ShortFloat32
    recomputation: Recomputation
    coverage: Coverage


def flops_facts() -> FlopsFacts:
    """Formulas for FLOPs, element types and matrix units."""
    return load("flops", FlopsFacts)

"""The unit of a field, which its name tells: the agreement on names of fields, and its only home."""

from __future__ import annotations

from typing import Final

MICROSECONDS: Final = "us"
NANOSECONDS: Final = "ns"
BYTES: Final = "bytes"
SHARE: Final = "share"
FLOPS: Final = "flops"
FLOPS_PER_SECOND: Final = "flops_per_s"
GIGABYTES_PER_SECOND: Final = "gb_per_s"

_ENDINGS: Final = {
    "_us": MICROSECONDS,
    "_ns": NANOSECONDS,
    "_bytes": BYTES,
    "_share": SHARE,
    "_gb_per_s": GIGABYTES_PER_SECOND,
}
_NAMES: Final = {
    "share": SHARE,
    "bytes": BYTES,
    "bytes_per_step": BYTES,
    "bytes_at_end": BYTES,
    "gb_per_s": GIGABYTES_PER_SECOND,
    "flops": FLOPS,
    "flops_per_s": FLOPS_PER_SECOND,
    "model_flops": FLOPS,
    "model_flops_per_s": FLOPS_PER_SECOND,
}


def unit_of(field: str) -> str | None:
    """The unit of a field; None where it is a plain number or no number.

    >>> unit_of("idle_us"), unit_of("start_ns"), unit_of("peak_bytes"), unit_of("share"), unit_of("count")
    ('us', 'ns', 'bytes', 'share', None)
    """
    return _NAMES.get(field) or next((unit for ending, unit in _ENDINGS.items() if field.endswith(ending)), None)


def without_unit(field: str) -> str:
    """The name of a field less the unit at its end.

    >>> without_unit("idle_us"), without_unit("share"), without_unit("step")
    ('idle', 'share', 'step')
    """
    return field if field in _NAMES else field.removesuffix(next((end for end in _ENDINGS if field.endswith(end)), ""))

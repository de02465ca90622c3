"""Numbers as they stand in sentences, by the rule that the page follows too: four digits, and the unit that suits."""

from __future__ import annotations

from typing import Final

_UNKNOWN: Final = "?"
_DIGITS: Final = 4
_TIMES: Final = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns"))
_SIZES: Final = tuple(
    (float(1 << power), name) for power, name in ((50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB"))
)


def duration(time_us: float | None) -> str:
    """A time with the unit that suits it.

    >>> duration(1_472_203.4), duration(12_345.6), duration(87.314), duration(114_000), duration(0.25), duration(None)
    ('1.472 s', '12.35 ms', '87.31 µs', '114 ms', '250 ns', '?')
    """
    if time_us is None:
        return _UNKNOWN
    scale, unit = next(((scale, unit) for scale, unit in _TIMES if abs(time_us) >= scale), _TIMES[-1])
    return f"{plain(time_us / scale)} {unit}"


def byte_size(size: float | None) -> str:
    """A size with the unit that suits it.

    >>> byte_size(3 << 20), byte_size(17_599_299_584), byte_size(512), byte_size(None)
    ('3 MiB', '16.39 GiB', '512 B', '?')
    """
    if size is None:
        return _UNKNOWN
    scale, unit = next(((scale, unit) for scale, unit in _SIZES if abs(size) >= scale), (1.0, "B"))
    return f"{plain(size / scale)} {unit}"


def percent(share: float | None) -> str:
    """A share as a number of percent, with one decimal.

    >>> percent(0.1234), percent(None)
    ('12.3', '?')
    """
    return _UNKNOWN if share is None else f"{100 * share:.1f}"


def plain(value: float) -> str:
    """Any number, with four digits.

    >>> plain(1.6204), plain(25.8), plain(1234.5), plain(123_456.7), plain(0)
    ('1.62', '25.8', '1,234', '123,457', '0')
    """
    if abs(value) >= 10**_DIGITS:
        return f"{value:,.0f}"
    rounded = float(f"{value:.{_DIGITS}g}")
    return f"{rounded:,.{_DIGITS - 1}f}".rstrip("0").rstrip(".") if abs(rounded) >= 1 else f"{rounded:g}"

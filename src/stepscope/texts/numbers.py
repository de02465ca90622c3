"""Numbers as they stand in sentences, by the rule that the page follows too: four digits, and the unit that suits."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

_UNKNOWN: Final = "?"
_DIGITS: Final = 4
_LEAST_OF_RANGE: Final = 3
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

    >>> plain(1.6204), plain(78.125), plain(1234.5), plain(123_456.7), plain(0.000123456), plain(0)
    ('1.62', '78.13', '1,235', '123,457', '0.0001235', '0')
    """
    exact = Decimal(value)
    decimals = max(0, _DIGITS - 1 - exact.adjusted()) if exact else 0
    # As browsers do it: a half is rounded away from zero.
    rounded = exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    text = f"{rounded:,f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def ranges(numbers: Iterable[int], between: str = ", ") -> str:
    """Numbers of ranks or steps in their order, three or more consecutive ones as a range.

    >>> ranges([0, 1, 2, 5, 7, 8]), ranges(range(64)), ranges([3, 0, 1], between="、")
    ('0-2, 5, 7, 8', '0-63', '3、0、1')
    """
    return between.join(spans(numbers))


def spans(numbers: Iterable[int]) -> list[str]:
    """The pieces of such a list.

    >>> spans([0, 1, 2, 5])
    ['0-2', '5']
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [
        piece for run in runs for piece in ([f"{run[0]}-{run[-1]}"] if len(run) >= _LEAST_OF_RANGE else map(str, run))
    ]

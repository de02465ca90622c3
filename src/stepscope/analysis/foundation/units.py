"""The units of the fields of answers: a field says its unit in its type, ``idle_us: Microseconds | None``.

Every number of an answer has one of these types. They reach the JSON schemas as ``x-unit``; terminal, documentation
and page read them from there or from the type. Names of fields end in their unit too.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Final, get_args, get_origin

import msgspec
from msgspec import Meta

#: Where a JSON schema says the unit of a number.
SCHEMA_KEY: Final = "x-unit"


def _in(unit: str) -> Meta:
    return Meta(extra_json_schema={SCHEMA_KEY: unit})


Microseconds = Annotated[float, _in("us")]
Nanoseconds = Annotated[int, _in("ns")]
SquareMicroseconds = Annotated[float, _in("us2")]

Bytes = Annotated[int, _in("bytes")]
BytesPerStep = Annotated[float, _in("bytes_per_step")]
BytesPerSecond = Annotated[float, _in("bytes_per_s")]
GigabytesPerSecond = Annotated[float, _in("gb_per_s")]
ByteSeconds = Annotated[float, _in("byte_seconds")]

FlopCount = Annotated[int, _in("flops")]
FlopsPerSecond = Annotated[float, _in("flops_per_s")]
FlopsPerByte = Annotated[float, _in("flops_per_byte")]

#: Of processors, so much of whose time was used.
Cores = Annotated[float, _in("cores")]
PerSecond = Annotated[float, _in("per_s")]

#: Of a whole: 0 to 1.
Share = Annotated[float, _in("share")]
#: One number over another of the same kind: a speed-up, a slope.
Ratio = Annotated[float, _in("ratio")]
PartsPerMillion = Annotated[float, _in("ppm")]
Count = Annotated[int, _in("count")]
MeanCount = Annotated[float, _in("count")]
#: Which one it is: a rank, a step, a slice. Sums and means of it say nothing.
Identifier = Annotated[int, _in("id")]
#: In the unit that a field beside it names.
InUnitBeside = Annotated[float, _in("beside")]


def unit_of(kind: Any) -> str | None:
    """The unit of the numbers of a type; None where it has none.

    >>> unit_of(Microseconds), unit_of(list[Bytes] | None), unit_of(str)
    ('us', 'bytes', None)
    """
    if get_origin(kind) is Annotated:
        said = [each.extra_json_schema or {} for each in kind.__metadata__ if isinstance(each, Meta)]
        return next((each[SCHEMA_KEY] for each in said if SCHEMA_KEY in each), None)
    return next((unit for part in get_args(kind) if (unit := unit_of(part)) is not None), None)


@cache
def fields_in(unit: str, structure: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields of a structure that are in a unit."""
    return tuple(field.name for field in msgspec.structs.fields(structure) if unit_of(field.type) == unit)

"""Every number of every answer says in its type what it counts or in which unit it is."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
import pytest

from stepscope.analysis.foundation import units
from stepscope.analysis.foundation.units import Bytes, Identifier, Microseconds, unit_of
from stepscope.questions import QUESTIONS
from stepscope.questions.fields import unit
from stepscope.questions.units import structures

#: What a name ends with, and the unit that it promises; longer endings first.
_ENDINGS = {
    "bytes_per_step": "bytes_per_step",
    "bytes_per_s": "bytes_per_s",
    "flops_per_s": "flops_per_s",
    "gb_per_s": "gb_per_s",
    "per_s": "per_s",
    "us2": "us2",
    "us": "us",
    "ns": "ns",
    "bytes": "bytes",
    "share": "share",
    "flops": "flops",
}


class _Inner(msgspec.Struct):
    told: Identifier
    untold: dict[str, float | None]


class _Outer(msgspec.Struct):
    inner: list[_Inner] | None
    half_told: tuple[Microseconds, int]
    words: str
    flag: bool


def _numbers(kind: Any) -> Iterator[Any]:
    """The types of the numbers within a type: ``float`` where nothing says a unit, else what says it."""
    if kind in (int, float):
        yield kind
    elif get_origin(kind) is Annotated:
        yield from (kind if part in (int, float) else part for part in _numbers(get_args(kind)[0]))
    elif isinstance(kind, types.UnionType) or get_origin(kind) in (Union, list, dict, tuple):
        for part in get_args(kind):
            yield from _numbers(part)


def _without_unit(kind: Any) -> list[str]:
    return [
        f"{structure.__qualname__}.{field.name}"
        for structure in structures(kind)
        for field in msgspec.structs.fields(structure)
        for number in _numbers(field.type)
        if unit_of(number) is None
    ]


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_number_has_a_unit_or_says_that_it_is_a_count_or_an_identifier(name: str) -> None:
    question = QUESTIONS[name]
    kinds = (question.type, *question.beside.values())
    assert not [field for kind in kinds for field in _without_unit(kind)], (
        "give the field a type of analysis/foundation/units.py"
    )


def test_a_number_without_a_unit_is_seen_wherever_it_hides() -> None:
    assert _without_unit(list[_Outer]) == ["_Outer.half_told", "_Inner.untold"]


@pytest.mark.parametrize("name", QUESTIONS)
def test_names_promise_the_unit_that_the_type_has(name: str) -> None:
    question = QUESTIONS[name]
    for kind in (question.type, *question.beside.values()):
        for structure in structures(kind):
            for field in msgspec.structs.fields(structure):
                ending = next((end for end in _ENDINGS if f"_{field.name}".endswith(f"_{end}")), None)
                if ending is not None:
                    assert unit_of(field.type) == _ENDINGS[ending], f"{structure.__qualname__}.{field.name}"


def test_schemas_say_units() -> None:
    class Row(msgspec.Struct):
        peak_bytes: Bytes | None

    (row,) = msgspec.json.schema(Row)["$defs"].values()
    assert row["properties"]["peak_bytes"]["anyOf"][0] == {"type": "integer", units.SCHEMA_KEY: "bytes"}


def test_a_field_by_its_path_has_its_unit() -> None:
    assert unit(QUESTIONS["steps"], "idle_by_cause.data_us") == "us"
    assert unit(QUESTIONS["steps"], "statistics.counted") == "count"
    assert unit(QUESTIONS["steps"], "mode") is None

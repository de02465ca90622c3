"""What a key of a scenario may hold: found in the types of the scenario, and said in words."""

from __future__ import annotations

import re
from functools import reduce, singledispatch
from typing import Any, Final

from msgspec import inspect

from stepscope.simulate.scenario import Scenario
from stepscope.texts import text

_STEPS: Final = re.compile(r"[a-z_]+|\[")


def keys_at(place: str) -> list[str]:
    """Keys that the table at a place may have.

    >>> keys_at("input.stages[0]")
    ['name', 'kind', 'us', 'workers', 'capacity']
    """
    return [field.name for field in _type_at(place).fields]


def expected_at(place: str, lang: str) -> str:
    """What may stand at a place.

    >>> expected_at("plan.dp", "en")
    'an integer from 1 to 1,000,000'
    >>> expected_at("faults[0].strength", "en")
    'one of clear, mild; or a number above 0 and below 1'
    """
    return _words(_type_at(place), lang)


def _type_at(place: str) -> Any:
    at: Any = inspect.type_info(Scenario)
    for step in _STEPS.findall(place):
        if step != "[":
            at = next(field.type for field in at.fields if field.name == step)
        elif isinstance(at, inspect.TupleType):
            at = at.item_types[0]
        else:
            at = at.value_type if isinstance(at, inspect.DictType) else at.item_type
        if isinstance(at, inspect.UnionType):
            kinds = [each for each in at.types if not isinstance(each, inspect.NoneType)]
            at = kinds[0] if len(kinds) == 1 else at
    return at


@singledispatch
def _words(kind: Any, lang: str) -> str:
    return text("scenario_value.table", lang)  # structures, and tables of them


@_words.register
def _(kind: inspect.UnionType, lang: str) -> str:
    words = [_words(each, lang) for each in kind.types]
    return reduce(lambda one, other: text("scenario_value.either", lang, one=one, other=other), words)


@_words.register
def _(kind: inspect.LiteralType, lang: str) -> str:
    return text("scenario_value.choice", lang, names=", ".join(map(str, kind.values)))


@_words.register
def _(kind: inspect.BoolType, lang: str) -> str:
    return text("scenario_value.switch", lang)


@_words.register
def _(kind: inspect.StrType, lang: str) -> str:
    return text("scenario_value.text", lang)


@_words.register
def _(kind: inspect.VarTupleType, lang: str) -> str:
    return text("scenario_value.list", lang)


@_words.register
def _(kind: inspect.TupleType, lang: str) -> str:
    return text("scenario_value.values", lang, count=len(kind.item_types))


@_words.register
def _(kind: inspect.IntType, lang: str) -> str:
    return _limited(text("scenario_value.integer", lang), kind, lang)


@_words.register
def _(kind: inspect.FloatType, lang: str) -> str:
    return _limited(text("scenario_value.number", lang), kind, lang)


def _limited(words: str, kind: inspect.IntType | inspect.FloatType, lang: str) -> str:
    limits = {name: getattr(kind, name) for name in ("gt", "ge", "lt", "le") if getattr(kind, name) is not None}
    if not limits:
        return words
    said = {name: f"{limit:,.15g}" for name, limit in limits.items()}
    return text(f"scenario_limits.{'_'.join(limits)}", lang, kind=words, **said)

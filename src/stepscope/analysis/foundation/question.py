"""The declaration of a question: a decorator on the function that answers it::

    @question(rows=Step)
    def steps(store: RunStore, *, limit: Annotated[int, AtLeast(1)] = 20) -> Answer[pl.DataFrame]: ...

Everything else follows from the function: its name is the question's, its module is where the question is looked for,
its keywords are the parameters, its return type is the type of the answer. Sentences are in ``texts`` under the same
names: ``question.<name>``, ``option.<name>.<parameter>`` and ``field.<name>.<field>``.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin

import msgspec

from stepscope.analysis.answer import Answer
from stepscope.errors import UsageError
from stepscope.store.run_store import RunStore

Function = TypeVar("Function", bound=Callable[..., Answer[Any]])

#: Keywords that many questions take, and every face treats alike.
RANKS: Final = "ranks"
STEPS: Final = "steps"


class OneOf:
    """In the annotation of a parameter: the values it may have."""

    def __init__(self, *choices: str) -> None:
        self.choices = choices


@dataclass(frozen=True)
class AtLeast:
    """In the annotation of a parameter: the smallest value it may have."""

    least: int


@dataclass(frozen=True)
class Option:
    """In the annotation of a parameter: the name of its option on the command line, where that is another."""

    name: str


@dataclass(frozen=True)
class Words:
    """In the annotation of a parameter: any number of words, which stand behind the paths on the command line."""


@dataclass(frozen=True)
class Parameter:
    """Something to choose beside ranks and steps; ``option`` is its name on the command line."""

    name: str
    option: str
    type: type[str] | type[int] | type[float] | type[bool]
    default: Any
    choices: tuple[str, ...] = ()
    least: int | None = None
    words: bool = False

    def check(self, value: Any) -> None:
        """An error where a value is none of the choices."""
        if self.choices and value is not None and value not in self.choices:
            raise UsageError("no_such_choice", parameter=self.name, value=value, choices=", ".join(self.choices))


@dataclass(frozen=True)
class Question:
    """A question as its function declares it.

    ``rows`` is the type of a row where the data is a frame, ``beside`` what is told of the rows as a whole, by name.
    """

    name: str
    function: Callable[..., Answer[Any]]
    rows: type[msgspec.Struct] | None
    by_batch: bool  # steps may be numbers of batches
    beside: Mapping[str, Any]

    def ask(self, store: RunStore, **chosen: Any) -> Answer[Any]:
        """The answer in this run."""
        for parameter in self.parameters:
            parameter.check(chosen.get(parameter.name))
        if chosen.get(STEPS):
            from stepscope.analysis.foundation.asked_steps import refuse_unknown_steps  # needs arrays

            refuse_unknown_steps(store, chosen.get(RANKS), chosen[STEPS], batches=self.by_batch)
        return self.function(store, **chosen)

    @cached_property
    def signature(self) -> inspect.Signature:
        """The function's own, with its annotations as types."""
        return inspect.signature(self.function, eval_str=True)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """What can be chosen beside ranks and steps."""
        keywords = [each for each in self.signature.parameters.values() if each.kind is each.KEYWORD_ONLY]
        return tuple(_parameter(each) for each in keywords if each.name not in (RANKS, STEPS))

    @property
    def by_step(self) -> bool:
        """Whether steps can be chosen."""
        return STEPS in self.signature.parameters

    @cached_property
    def type(self) -> Any:
        """The type of the data: a structure, or a list of structures."""
        if self.rows is not None:
            return list.__class_getitem__(self.rows)
        (data,) = get_args(self.signature.return_annotation)
        return data

    @property
    def many(self) -> bool:
        """Whether the data is a list."""
        return get_origin(self.type) is list

    def schema(self) -> dict[str, Any]:
        """JSON schema of the data."""
        return msgspec.json.schema(self.type)


#: All questions whose modules were imported, by name.
DECLARED: Final[dict[str, Question]] = {}


def question(
    *, rows: type[msgspec.Struct] | None = None, by_batch: bool = False, beside: Mapping[str, Any] | None = None
) -> Callable[[Function], Function]:
    """Declare that a function answers the question of its name; the function stays as it is."""

    def declare(function: Function) -> Function:
        name = function.__name__.replace("_", "-")
        DECLARED[name] = Question(name, function, rows, by_batch, beside or {})
        return function

    return declare


def _parameter(keyword: inspect.Parameter) -> Parameter:
    said: Sequence[Any] = ()
    kind = keyword.annotation
    if get_origin(kind) is Annotated:
        kind, *said = get_args(kind)
    words = any(isinstance(each, Words) for each in said)
    if words:
        (kind,) = get_args(kind)
    if isinstance(kind, types.UnionType):
        kind = next(part for part in get_args(kind) if part is not types.NoneType)
    return Parameter(
        name=keyword.name,
        option=next((each.name for each in said if isinstance(each, Option)), keyword.name),
        type=kind,
        default=keyword.default,
        choices=next((each.choices for each in said if isinstance(each, OneOf)), ()),
        least=next((each.least for each in said if isinstance(each, AtLeast)), None),
        words=words,
    )

"""Every question as a route, with the document that its command prints with ``--json``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, get_origin

import msgspec
import polars as pl
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from stepscope.analysis.foundation.question import Parameter, Question
from stepscope.questions.explain import Explanation, explain
from stepscope.questions.faces import shaped
from stepscope.questions.fields import description, fields, unit
from stepscope.questions.registry import QUESTIONS
from stepscope.server.documentation import AnswerTypes
from stepscope.server.documents import document_type, encoded_document
from stepscope.server.library import Library
from stepscope.server.requests import Rank
from stepscope.texts import entries

Integers = Annotated[
    Literal["number", "text"], Query(description="text: integers beyond 2^53 come as decimal text, which is exact")
]
Ranks = Annotated[list[Rank] | None, Query(max_length=4_096)]
Steps = Annotated[list[Annotated[int, Query(ge=-(1 << 53), le=1 << 53)]] | None, Query(max_length=4_096)]
_KEYWORD: Final = inspect.Parameter.KEYWORD_ONLY


class FieldMeaning(msgspec.Struct, frozen=True):
    field: str
    unit: str | None
    en: str
    zh: str
    formula: str


class ParameterInfo(msgspec.Struct, frozen=True):
    """Something to choose; without choices any value of its type, from ``least`` on."""

    name: str
    type: str
    default: str | int | float | bool | list[str] | None
    choices: list[str]
    least: int | None
    en: str
    zh: str


class QuestionInfo(msgspec.Struct, frozen=True):
    """A question in one sentence, what can be chosen, and what its fields mean."""

    name: str
    en: str
    zh: str
    by_step: bool
    parameters: list[str]
    choices: list[ParameterInfo]
    fields: list[FieldMeaning]


def router(library: Library, answers: AnswerTypes) -> APIRouter:
    """The routes of this file."""
    routes = APIRouter(tags=["analyses"])

    @routes.get("/questions", responses=answers.json(list[QuestionInfo]))
    def questions(request: Request) -> Response:
        """All questions, and what each field of their answers means."""

        def encode() -> bytes:
            return msgspec.json.encode([_question_info(question) for question in QUESTIONS.values()])

        return library.sent.reply(request, [], encode)

    @routes.get("/run/{run_id}/explain/{question}", responses=answers.document(document_type("explain", Explanation)))
    def explain_field(
        request: Request,
        run_id: str,
        question: str,
        field: Annotated[str, Query(min_length=1, max_length=200)],
        rank: Ranks = None,
        step: Steps = None,
        integers: Integers = "number",
    ) -> Response:
        """A field's formula, where its data come from, and the vendor's value beside ours."""
        QUESTIONS.named(question)
        ready = run, _ = library.ready(run_id)

        def encode() -> bytes:
            explanation = explain(run.store, question, field, rank, step)
            return encoded_document(request, "explain", run.describe(), run.notes, explanation, integers)

        return library.sent.reply(request, [ready], encode)

    for question in QUESTIONS.values():
        responses = answers.document(document_type(question.name, question.type, question.beside))
        routes.get(f"/run/{{run_id}}/{question.name}", name=question.name, responses=responses)(
            _endpoint(library, question)
        )
    return routes


def _endpoint(library: Library, question: Question) -> Callable[..., Response]:
    def endpoint(
        *, request: Request, run_id: str, rank: Any, integers: str, without: Any = None, **chosen: Any
    ) -> Response:
        ready = run, _ = library.ready(run_id)
        wanted = {"ranks": rank, **{name: value for name, value in chosen.items() if value is not None}}
        if "step" in wanted:
            wanted["steps"] = wanted.pop("step")

        def encode() -> bytes:
            answer = run.ask(question.name, **wanted)
            notes = [*run.notes, *answer.notes]
            data: Any = answer.data.to_dicts() if isinstance(answer.data, pl.DataFrame) else answer.data
            if without:
                data = msgspec.structs.replace(data, **{name: [] for name in without})
            return encoded_document(request, question.name, run.describe(), notes, data, integers, **answer.beside)

        return library.sent.reply(request, [ready], encode)

    lists = _lists(question)
    parameters = [
        inspect.Parameter("request", _KEYWORD, annotation=Request),
        inspect.Parameter("run_id", _KEYWORD, annotation=str),
        inspect.Parameter("rank", _KEYWORD, annotation=Ranks, default=None),
        inspect.Parameter("integers", _KEYWORD, annotation=Integers, default="number"),
        *([inspect.Parameter("without", _KEYWORD, annotation=_some_of(lists), default=None)] if lists else []),
        *([inspect.Parameter("step", _KEYWORD, annotation=Steps, default=None)] if question.by_step else []),
        *(
            inspect.Parameter(each.name, _KEYWORD, annotation=_type(each), default=each.default)
            for each in question.parameters
        ),
    ]
    return shaped(endpoint, question.name, f"The document of `stepscope {question.name} --json`.", parameters)


def _lists(question: Question) -> tuple[str, ...]:
    """The lists that an answer is made of, where it is no list itself."""
    if question.many:
        return ()
    return tuple(field.name for field in msgspec.structs.fields(question.type) if get_origin(field.type) is list)


def _some_of(lists: tuple[str, ...]) -> Any:
    """Who needs a few numbers of a large job leaves out the rest."""
    told = Query(max_length=len(lists), description="Lists of the answer that come empty, to save their bytes.")
    return Annotated[list[Literal[lists]] | None, told]  # type: ignore[valid-type]


def _type(parameter: Parameter) -> Any:
    if parameter.words:
        return Annotated[list[Annotated[str, Query(max_length=1_000)]], Query(max_length=64)]
    if parameter.choices:
        kind: Any = Literal[parameter.choices]
    elif parameter.type is int:
        # Moments are nanoseconds since 1970; a query carries them as text, so they need not fit into a double.
        kind = Annotated[int, Query(ge=-(1 << 63) if parameter.least is None else parameter.least, lt=1 << 63)]
    elif parameter.type is float:
        kind = Annotated[float, Query(ge=parameter.least, allow_inf_nan=False)]
    elif parameter.type is str:
        kind = Annotated[str, Query(max_length=1_000)]
    else:
        kind = parameter.type
    return kind if parameter.default is not None else kind | None


def _question_info(question: Question) -> QuestionInfo:
    meanings = []
    for field in fields(question):
        entry = description(question, field)
        meanings.append(FieldMeaning(field, unit(question, field), entry["en"], entry["zh"], entry["formula"]))
    return QuestionInfo(
        name=question.name,
        **entries("question")[question.name],
        by_step=question.by_step,
        parameters=[each.name for each in question.parameters],
        choices=[_parameter_info(question, each) for each in question.parameters],
        fields=meanings,
    )


def _parameter_info(question: Question, parameter: Parameter) -> ParameterInfo:
    return ParameterInfo(
        name=parameter.name,
        type="words" if parameter.words else parameter.type.__name__,
        default=None if parameter.words else parameter.default,
        choices=list(parameter.choices),
        least=parameter.least,
        **entries("option")[f"{question.name}.{parameter.name}"],
    )

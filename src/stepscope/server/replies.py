"""Answers and errors as JSON, the same for all routes."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from stepscope.errors import NoAnswerError, StepscopeError, UnreadableInputError
from stepscope.facts.server import server_facts
from stepscope.texts import LANGUAGES, catalogue, text

_UNPROCESSABLE: Final = 422
_MOST_EXACT: Final = 1 << 53
_NO_ANSWER: Final = "stepscope-no-answer"
_FAULT: Final = "Stepscope-Fault"
_ENCODER: Final = msgspec.json.Encoder(enc_hook=str)


class Fault(msgspec.Struct, frozen=True):
    """What every error looks like. ``message`` and ``hint`` are in the language that was asked for."""

    code: str
    params: dict[str, Any]
    message: str
    hint: str | None


def json_reply(value: Any, status: int = 200) -> Response:
    """Any structure, dataclass or plain value as JSON. What is no number becomes null."""
    return Response(_ENCODER.encode(value), status, media_type="application/json")


def language_of(request: Request) -> str:
    """``lang`` of the query, else what the browser prefers, else English."""
    asked = request.query_params.get("lang")
    if asked in LANGUAGES:
        return str(asked)
    preferred = request.headers.get("accept-language", "").split(",")[0].strip().lower()
    return "zh" if preferred.startswith("zh") else "en"


def fault_of(error: StepscopeError, lang: str) -> Fault:
    """An error as the page gets it."""
    hint = text(f"hint.{error.code}", lang) if error.code in catalogue().get("hint", {}) else None
    return Fault(error.code, error.params, error.message(lang), hint)


def status_of(error: StepscopeError) -> int:
    """The HTTP status of an error, by its code, else by its kind."""
    known: dict[str, int] = server_facts().status
    if error.code in known:
        return known[error.code]
    return _UNPROCESSABLE if isinstance(error, (NoAnswerError, UnreadableInputError)) else 400


def error_reply(error: StepscopeError, request: Request) -> Response:
    """An error as an answer."""
    fault, status = fault_of(error, language_of(request)), status_of(error)
    if isinstance(error, NoAnswerError) and request.headers.get(_NO_ANSWER) == "ok":
        # A browser logs every refusal as an error of its page; what a capture cannot tell is none.
        reply = json_reply(fault)
        reply.headers[_FAULT] = str(status)
        return reply
    return json_reply(fault, status)


def exact_for_javascript(value: Any) -> Any:
    """Integers that JavaScript would round become text."""
    if isinstance(value, int):
        return str(value) if abs(value) > _MOST_EXACT else value
    if isinstance(value, dict):
        return {key: exact_for_javascript(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [exact_for_javascript(item) for item in value]
    return value

"""The OpenAPI document: requests come from the routes, answers from the types that the analyses declare."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from stepscope.analysis.foundation.units import SCHEMA_KEY
from stepscope.server.replies import Fault
from stepscope.version import __version__

_SHARED: Final = "#/components/schemas/"
_OURS: Final = "stepscope.analysis."
_DECIMAL: Final = {"type": "string", "pattern": "^-?[0-9]+$"}
_NUMBERED: Final = "#/answers/"
_FAULTS: Final = {
    "400": "a wrong question",
    "401": "the token is missing or wrong",
    "403": "a foreign host or origin, or a path outside the roots",
    "404": "no such run, rank or slice",
    "409": "the run is not ready, or its store is gone",
    "422": "no answer in this data, or a request of the wrong shape",
}


class AnswerTypes:
    """Collects the types that routes answer with. A route names its type by number until all of them are known."""

    def __init__(self) -> None:
        self._types: list[Any] = []
        self._documents: set[int] = set()

    def document(self, kind: Any) -> dict[int | str, dict[str, Any]]:
        """The ``responses`` of a route whose integers may come as text, on request."""
        responses = self.json(kind)
        self._documents.add(self._types.index(kind))
        return responses

    def json(self, kind: Any, status: int = 200) -> dict[int | str, dict[str, Any]]:
        """The ``responses`` of a route that answers with a type in JSON."""
        return self._responses(status, {"application/json": {"schema": self._numbered(kind)}})

    def binary(self, media: str = "application/octet-stream") -> dict[int | str, dict[str, Any]]:
        """The ``responses`` of a route that answers with bytes."""
        return self._responses(200, {media: {"schema": {"type": "string", "format": "binary"}}})

    def nothing(self) -> dict[int | str, dict[str, Any]]:
        """The ``responses`` of a route that answers with a status only."""
        return self._responses(204, None)

    def resolve(self, document: dict[str, Any]) -> dict[str, Any]:
        """Put schemas in the place of numbers, and shared ones among the components."""
        schemas, components = msgspec.json.schema_components(self._types, ref_template=f"{_SHARED}{{name}}")
        for number in self._documents:
            _allow_exact_text(schemas[number], components, set())
        plain = {name: _plain_name(name) for name in components}
        shared = document.setdefault("components", {}).setdefault("schemas", {})
        shared.update({plain[name]: component for name, component in components.items()})
        resolved: dict[str, Any] = _with_references(document, schemas, plain)
        return resolved

    def _responses(self, status: int, content: Any) -> dict[int | str, dict[str, Any]]:
        fault = {"application/json": {"schema": self._numbered(Fault)}}
        responses: dict[int | str, dict[str, Any]] = {
            code: {"description": reason, "content": fault} for code, reason in _FAULTS.items()
        }
        responses[status] = {"description": "the answer", **({"content": content} if content else {})}
        return responses

    def _numbered(self, kind: Any) -> dict[str, Any]:
        if kind not in self._types:
            self._types.append(kind)
        return {"$ref": f"{_NUMBERED}{self._types.index(kind)}"}


def _allow_exact_text(schema: Any, components: dict[str, Any], seen: set[str]) -> None:
    """Absolute nanoseconds are beyond what JavaScript reads exactly, so they may be decimal text."""
    if isinstance(schema, list):
        for item in schema:
            _allow_exact_text(item, components, seen)
    if not isinstance(schema, dict):
        return
    name = str(schema.get("$ref", "")).removeprefix(_SHARED)
    if name in components and name not in seen:
        seen.add(name)
        _allow_exact_text(components[name], components, seen)
    for field, part in schema.get("properties", {}).items():
        schema["properties"][field] = _or_text(part)
    for part in schema.values():
        _allow_exact_text(part, components, seen)


def _or_text(part: dict[str, Any]) -> dict[str, Any]:
    """The same with decimal text wherever it has nanoseconds, also in lists."""
    if "anyOf" in part:
        options = [_or_text(option) for option in part["anyOf"]]
        return {**part, "anyOf": [inner for option in options for inner in option.get("anyOf", [option])]}
    if part.get("type") == "array" and "items" in part:
        return {**part, "items": _or_text(part["items"])}
    return {"anyOf": [part, _DECIMAL]} if part.get(SCHEMA_KEY) == "ns" else part


def _plain_name(name: str) -> str:
    """Types of one name in several modules are told apart by dotted names, which generators of clients dislike.

    >>> _plain_name("stepscope.analysis.launches.types.Gap"), _plain_name("Gap")
    ('LaunchesTypesGap', 'Gap')
    """
    if "." not in name:
        return name
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[._]", name.removeprefix(_OURS)) if part)


def _with_references(value: Any, schemas: tuple[dict[str, Any], ...], plain: dict[str, str]) -> Any:
    """The same, with schemas for numbers, and with references to the plain names of shared ones."""
    if isinstance(value, list):
        return [_with_references(item, schemas, plain) for item in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    if isinstance(reference, str) and reference.startswith(_NUMBERED):
        return _with_references(schemas[int(reference.removeprefix(_NUMBERED))], schemas, plain)
    replaced = {key: _with_references(item, schemas, plain) for key, item in value.items()}
    if isinstance(reference, str):
        name = reference.removeprefix(_SHARED)
        replaced["$ref"] = _SHARED + plain.get(name, name)
    return replaced


def install(app: FastAPI, answers: AnswerTypes) -> None:
    """Make the application give this document."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            plain = get_openapi(title="Stepscope", version=__version__, routes=app.routes)
            app.openapi_schema = answers.resolve(plain)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]

"""Second chances for JSON that a strict decoder refuses, for the faults that are seen in the field.

Raw control characters and bytes that are not UTF-8, bare NaN, Infinity and N/A, Windows paths with single
backslashes, commas behind the last part, and names with quotes in them (generated code).
"""

from __future__ import annotations

import decimal
import json
import re
from typing import Any, Final

import msgspec


def _number(text: str) -> decimal.Decimal | float:
    """Exact; infinite or nothing where its exponent is past all bounds."""
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation:
        return float(text)


_LENIENT: Final = json.JSONDecoder(strict=False, parse_float=_number)
_ENCODE: Final = msgspec.json.Encoder(decimal_format="number")
_BAD_ESCAPE: Final = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_TRAILING_COMMA: Final = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")|,(?=\s*[}\]])', re.DOTALL)
_NOT_AVAILABLE: Final = re.compile(r"(?<=[:\[,\s])N/A(?=[\s,\]}])")
# A name ends before the next one begins: looking for its end costs no more than the text is long.
_QUOTED_NAME: Final = re.compile(
    r'("name"\s*:\s*")((?:(?!"name"\s*:).)*?)("\s*(?:,\s*"(?:ph|cat|pid|tid|ts|dur|args|id|id2|bp|bind_id|s|scope)"\s*:|\}))',
    re.DOTALL,
)
_UNESCAPED_QUOTE: Final = re.compile(r'(?<!\\)"')
_EVENT_TEXTS: Final = ("ph", "cat", "name")
_EVENT_IDS: Final = ("pid", "tid")
_EVENT_RAW: Final = ("ts", "dur", "args", "id", "id2", "scope", "bp", "bind_id", "flow_in", "flow_out", "sf")


def lenient(text: bytes) -> Any:
    """The value of a JSON text after as much repair as it needs, or None."""
    candidate = text.decode("utf-8", "replace")
    for fix in (_as_it_is, _escape_backslashes, _null_for_not_available, _no_trailing_commas, _escape_quotes_in_name):
        candidate = fix(candidate)
        try:
            return _without_surrogates(_LENIENT.decode(candidate))
        except (ValueError, RecursionError):
            continue
    return None


def event(text: bytes) -> dict[str, Any] | None:
    """The fields of one trace event, types made right where the meaning is plain, or None."""
    content = lenient(text)
    if not isinstance(content, dict):
        return None
    fields: dict[str, Any] = {}
    for key in _EVENT_TEXTS:
        if content.get(key) is not None:
            fields[key] = str(content[key])
    for key in _EVENT_IDS:
        value = content.get(key)
        if value is not None:
            fields[key] = value if isinstance(value, (int, str)) else str(value)
    for key in _EVENT_RAW:
        if key in content:
            try:
                fields[key] = msgspec.Raw(_ENCODE.encode(content[key]))
            except (TypeError, ValueError, RecursionError):
                return None
    return fields


def clean_text(text: str) -> str:
    """Text without lone surrogates, which no UTF-8 column can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value


def _as_it_is(text: str) -> str:
    return text


def _escape_backslashes(text: str) -> str:
    return _BAD_ESCAPE.sub(r"\\\\", text)


def _null_for_not_available(text: str) -> str:
    return _NOT_AVAILABLE.sub("null", text)


def _no_trailing_commas(text: str) -> str:
    return _TRAILING_COMMA.sub(lambda match: match[1] or "", text)


def _escape_quotes_in_name(text: str) -> str:
    return _QUOTED_NAME.sub(lambda match: match[1] + _UNESCAPED_QUOTE.sub(lambda _: '\\"', match[2]) + match[3], text)

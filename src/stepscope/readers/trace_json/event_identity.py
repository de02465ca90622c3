"""Which events belong to one operation: ``id``, ``id2`` and ``scope`` of asynchronous events, flows and counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from stepscope.readers.trace_json.trace_event import Event

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


def identities(events: Sequence[Event]) -> list[Any]:
    """What the events of one operation have in common besides their category, as something to look up.

    Local ids hold within a process only, all others in the whole file; a scope keeps equal ids apart.
    """
    return [
        bytes(event.id) if not event.id2 and not event.scope else _identity(event)  # nearly all
        for event in events
    ]


def counter_label(event: Event) -> str:
    """The id of a counter, which is part of its name; empty if it has none."""
    _, text = _id2(event)
    try:
        value = msgspec.json.decode(text or event.id or b"null")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return "" if value is None else str(value)


def _identity(event: Event) -> Any:
    where, text = _id2(event)
    if where == "local":
        return str(event.pid), bytes(event.scope), text
    plain = text or bytes(event.id)
    return (bytes(event.scope), plain) if event.scope else plain


def _id2(event: Event) -> tuple[str, bytes]:
    """Whether ``id2`` is local or global, and the id in it; two empty ones if there is none that can be read."""
    if event.id2:
        try:
            parts = _OBJECT.decode(event.id2)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return "", b""
        for where in ("local", "global"):
            if where in parts:
                return where, bytes(parts[where])
    return "", b""

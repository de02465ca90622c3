"""Call stacks that events refer to: ``sf`` of an event names an entry of the file's ``stackFrames``."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import polars as pl

from stepscope.arrays import NULL, Int64s
from stepscope.readers.trace_json.codes import Codes

_DEEPEST: Final = 500


def referred_stacks(entries: Any, references: dict[int, bytes], ids: Int64s) -> tuple[Int64s, pl.DataFrame, int]:
    """Stack number of each slice of ``ids``, the ``stacks`` table, and how many references lead nowhere.

    ``references`` are the ``sf`` of events, by event.
    """
    number = np.full(len(ids), NULL, np.int64)
    texts = Codes()
    unknown = 0
    stack_of_reference: dict[bytes, int] = {}
    known = entries if isinstance(entries, dict) else {}
    having = np.flatnonzero(np.isin(ids, np.fromiter(references, np.int64, len(references))))
    for row in having.tolist():
        reference = references[int(ids[row])]
        if reference not in stack_of_reference:
            text = _frames(known, reference)
            stack_of_reference[reference] = texts[text] if text else NULL
        number[row] = stack_of_reference[reference]
        unknown += stack_of_reference[reference] == NULL
    return number, pl.DataFrame({"stack": range(len(texts)), "frames": list(texts)}), unknown


def _frames(entries: dict[str, Any], reference: bytes) -> str:
    """Outermost first, one per line; empty if there is no such entry."""
    try:
        key = str(msgspec.json.decode(reference))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    names: list[str] = []
    # An entry may name itself as its parent in a damaged file.
    while len(names) < _DEEPEST and isinstance(entry := entries.get(key), dict):
        names.append(str(entry.get("name", "")).replace("\n", " "))
        key = str(entry.get("parent"))
    return "\n".join(reversed(names))

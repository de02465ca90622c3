"""What the events of a Chrome trace are: by the track they lie on, then by category and name."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from stepscope.arrays import Bools, Int8s, Int32s
from stepscope.facts.chrome import chrome_facts
from stepscope.facts.communication import communication_kernel
from stepscope.readers.chrome.processes import TrackRoles
from stepscope.readers.slices.slice_table import KIND
from stepscope.readers.trace_json.event_columns import EventColumns

_COPY: Final = re.compile(r"^(?:Mem|MEM)(?:cpy|set|CPY|SET)")
_PYTHON_CATEGORIES: Final = frozenset(("fee", "python", "py-spy"))


def kinds(
    columns: EventColumns, category: Int32s, name: Int32s, track: Int32s, roles: TrackRoles, *, only_python: bool
) -> Int8s:
    """The kind of each event; where a tracer knows ``only_python``, functions are the operators."""
    only_python |= set(columns.categories.texts()) == {"py-spy"}
    on_device = np.isin(track, list(roles.device))
    is_python = np.array([(text or "").lower() in _PYTHON_CATEGORIES for text in columns.categories.texts()] or [False])
    is_frame = np.array([(text or "").startswith("$") for text in columns.names.texts()] or [False])
    kind = np.full(len(category), KIND["annotation"], np.int8)
    kind[is_python[category] | is_frame[name]] = KIND["operator" if only_python else "python"]
    kind[on_device] = KIND["kernel"]
    if on_device.any():
        words = [text or "" for text in columns.names.texts()]
        communicates = np.array([bool(communication_kernel().search(word)) for word in words])
        is_copy = np.array([bool(_COPY.match(word)) for word in words])
        kind[on_device & communicates[name]] = KIND["collective"]
        kind[on_device & is_copy[name]] = KIND["copy"]
        _set_operations_of_xla(kind, name, words, on_device, np.isin(track, list(roles.beside)))
    kind[np.isin(track, list(roles.summary))] = KIND["reported"]
    kind[np.isin(track, list(roles.operators))] = KIND["operator"]
    return kind


def _set_operations_of_xla(kind: Int8s, name: Int32s, words: list[str], on_device: Bools, beside: Bools) -> None:
    """Operations that communicate or copy, by the compiler's names; what runs beside operations only copies."""
    known = chrome_facts().xla
    kind[beside] = KIND["copy"]
    for pattern, meant in ((known.copies, "copy"), (known.communicates, "collective")):
        fits = np.array([bool(re.match(pattern, word)) for word in words])
        kind[on_device & fits[name]] = KIND[meant]

"""What the user adds to a recording in words: the content of ``profiler_metadata.json`` of every window."""

from __future__ import annotations

import json
from typing import Any

from stepscope.profiler.foundation.messages import warn
from stepscope.profiler.foundation.own_faults import ours

_MOST_BYTES = 100 << 20


class Metadata:
    """Values by key; bad ones are left out, with a warning."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def add_text(self, key: str, value: str) -> None:
        """Take a text."""
        if _are_texts(key, value):
            self._add(key, value)

    def add_json(self, key: str, value: str) -> None:
        """Take what a JSON text means."""
        if not _are_texts(key, value):
            return
        try:
            meant = json.loads(value)
        except ours(ValueError) as error:
            warn("metadata_not_json", key=key, reason=str(error))
            return
        self._add(key, meant)

    def _add(self, key: str, value: Any) -> None:
        if key in self.values:
            warn("metadata_again", key=key)
        added = {**self.values, key: value}
        if len(json.dumps(added, ensure_ascii=False).encode("utf-8", "replace")) > _MOST_BYTES:
            warn("metadata_large", key=key, megabytes=_MOST_BYTES >> 20)
            return
        self.values = added


def _are_texts(key: Any, value: Any) -> bool:
    if isinstance(key, str) and isinstance(value, str):
        return True
    warn("metadata_not_text", key=repr(key)[:100])
    return False

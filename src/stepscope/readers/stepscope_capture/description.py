"""``stepscope.json``: who recorded a window, how, and whether it came to its end."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from stepscope.layout import names
from stepscope.readers.files.json_values import as_text
from stepscope.readers.kineto.identity import group_rows, integer, rank_list

_MOST_BYTES = 16 << 20


@dataclass(frozen=True)
class Description:
    """What the file states; anything may be missing."""

    content: dict[str, Any] = field(default_factory=dict)
    damaged: bool = False

    @property
    def known(self) -> bool:
        return str(self.content.get("schema", "")).startswith("stepscope.capture/")

    @property
    def rank(self) -> int | None:
        return integer(self.content.get("rank"), 31)

    @property
    def world_size(self) -> int | None:
        return integer(self.content.get("world_size"), 31)

    @property
    def backend(self) -> str:
        return str(self.content.get("backend") or "plain")

    @property
    def device_kind(self) -> str | None:
        return as_text(self._part("device").get("kind"))

    @property
    def cut_off(self) -> bool:
        """Whether the process ended before the window did."""
        return not self.damaged and self.content.get("state") != "complete"

    @property
    def backend_failed(self) -> bool:
        return self.content.get("backend_failed") is True

    @property
    def has_schedule(self) -> bool:
        return self._part("switches").get("is_set_schedule") is True

    @property
    def marks_only(self) -> bool:
        return self.content.get("level") == "LevelNone"

    def time_ns(self, name: str) -> int | None:
        """When the window was prepared, started or stopped."""
        return integer(self._part("times").get(f"{name}_ns"))

    @property
    def steady_offset_ns(self) -> int | None:
        """What to add to times of the machine's steady clock; None where the window does not state both clocks."""
        clock = self._part("clock")
        unix, steady = integer(clock.get("unix_ns")), integer(clock.get("monotonic_ns"))
        return None if unix is None or steady is None else unix - steady

    def rank_columns(self) -> dict[str, Any]:
        """Columns of ``ranks`` that are stated."""
        device = self._part("device")
        columns = {
            "world_size": self.world_size,
            "host": self._text("host"),
            "device_kind": as_text(device.get("kind")),
            "device_name": as_text(device.get("name")),
            "device_index": integer(device.get("index"), 31),
            "memory_capacity": integer(device.get("memory_capacity")),
            "compute_units": integer(device.get("compute_units"), 31),
            "framework": self._text("framework"),
            "versions": json.dumps(self._part("versions"), default=str),
            "level": self._text("level"),
            "switches": json.dumps(self._part("switches"), default=str),
            "unrecorded_step_ns": integer(self._part("unrecorded_steps").get("median_ns")),
        }
        return {name: value for name, value in columns.items() if value is not None}

    def groups(self) -> pl.DataFrame:
        """Rows of ``groups``."""
        stated = self.content.get("groups")
        rows = [
            {
                "group": str(one["group"]),
                "name": as_text(one.get("name")),
                "ranks": rank_list(one.get("ranks")),
                "origin": names.CAPTURE_FILE,
            }
            for one in (stated if isinstance(stated, list) else [])
            if isinstance(one, dict) and one.get("group") is not None
        ]
        return group_rows(rows)

    def _part(self, name: str) -> dict[str, Any]:
        part = self.content.get(name)
        return part if isinstance(part, dict) else {}

    def _text(self, name: str) -> str | None:
        return as_text(self.content.get(name))


def read_description(path: Path) -> Description:
    """The content of the file; nothing if it is missing, damaged, or another file of that name."""
    try:
        with path.open("rb") as file:
            content = json.loads(file.read(_MOST_BYTES))
    except OSError:
        return Description()
    except (ValueError, RecursionError):
        return Description(damaged=True)
    return Description(content) if isinstance(content, dict) else Description()

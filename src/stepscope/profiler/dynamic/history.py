"""What became of the windows of a running job: the part of the status file that stays when a window is over."""

from __future__ import annotations

import json
import re
from typing import Any

from stepscope.layout.names import CAPTURE_FILE
from stepscope.profiler.dynamic.agreement import AgreedWindow, Agreement
from stepscope.profiler.dynamic.board import BoardEntry
from stepscope.profiler.foundation.line_files import absolute, read_regular
from stepscope.profiler.foundation.own_faults import suppressed
from stepscope.profiler.foundation.paths import is_directory

_FOLDER = re.compile(r"rank(\d+)_start(\d+)_stop(\d+)")
_MOST_ENTRIES = 50
_MOST_BYTES = 1 << 20
#: What an entry may say; a window that is done is on the disk, and parsed where that was asked for.
AGREED, RECORDING, PARSING, DONE = "agreed", "recording", "parsing", "done"


class History:
    """The windows that were agreed since this rank leads, the newest last."""

    def __init__(self, output: str) -> None:
        self._output = output
        self._entries: dict[int, dict[str, Any]] = {}

    def entries(self, agreed: Agreement, places: list[BoardEntry], states: tuple[str, ...]) -> list[dict[str, Any]]:
        """Brought up to date; one list of directories per window, by rank."""
        for window in agreed.windows:
            about = {"request": window.mark, "agreed_ns": window.agreed_ns, "directories": []}
            entry = self._entries.setdefault(window.number, about)
            entry |= {"start": window.start, "stop": window.stop, "output": window.output or self._output}
        for number in sorted(self._entries)[:-_MOST_ENTRIES]:
            del self._entries[number]
        for entry in self._entries.values():
            if entry.get("state") != DONE:
                entry["state"] = _state(entry, places, states)
                entry["directories"] = _directories(entry)
        self._forget_replaced(agreed.windows)
        hidden = ("output",)
        return [{key: value for key, value in one.items() if key not in hidden} for one in self._entries.values()]

    def _forget_replaced(self, windows: list[AgreedWindow]) -> None:
        """A window that was taken back before it began is no history."""
        standing = {window.number for window in windows}
        for number, entry in list(self._entries.items()):
            if number not in standing and not entry["directories"] and entry["state"] != RECORDING:
                del self._entries[number]


def _state(entry: dict[str, Any], places: list[BoardEntry], states: tuple[str, ...]) -> str:
    known = {states[board_entry.state] for board_entry in places}
    if any(board_entry.step <= entry["stop"] for board_entry in places):
        return RECORDING if "recording" in known else AGREED
    for busy in (RECORDING, PARSING):
        if busy in known:
            return busy
    return DONE


def _directories(entry: dict[str, Any]) -> list[str]:
    """Windows on the disk that are whole and belong to this request: by their steps, and not from before it."""
    numbered = []
    output = absolute(entry["output"])  # who reads the status may be elsewhere
    for folder in output.iterdir() if is_directory(output) else ():
        parts = _FOLDER.fullmatch(folder.name)
        if parts is None or not entry["start"] <= int(parts[2]) <= int(parts[3]) <= entry["stop"] + 1:
            continue
        for path in folder.glob(f"*/{CAPTURE_FILE}"):
            with suppressed(OSError, ValueError, KeyError, TypeError):
                about = json.loads(read_regular(path, _MOST_BYTES)[0])
                if about["state"] == "complete" and about["times"]["started_ns"] >= entry["agreed_ns"]:
                    numbered.append((int(parts[1]), str(path.parent)))
    return [directory for _, directory in sorted(numbered)]

"""Call stacks of a snapshot: each stored once, outermost first, named by the user's line, else by the operator."""

from __future__ import annotations

import re
from typing import Any, Final

import polars as pl

from stepscope.readers.files.repair import clean_text

NO_STACK: Final = -1

_LONGEST_WORD: Final = 1000  # characters of a file or function name
_MOST_FRAMES: Final = 1000
_ALWAYS_ALLOWED: Final = 256 << 20  # characters of all stacks together
_MOST_CACHED: Final = 1 << 20

# The framework's own frames and those of the interpreter and of installed libraries.
_LIBRARY: Final = re.compile(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib(?:64)?[/\\]python\d|^<frozen |^<__"
    r"|[/\\]torch(?:_npu)?[/\\](?:_|nn[/\\]|optim[/\\]|autograd[/\\]|utils[/\\]|distributed[/\\]|npu[/\\]|cuda[/\\])"
)
_DISPATCHED: Final = re.compile(r"^at::_ops::(\w+?)(?:_\w*_overload)?::(?:call|redispatch)")
_FOLDERS: Final = re.compile(r"^.*[/\\]")
_NATIVE_FILE: Final = re.compile(r"^(?:\?\?)?$|\.(?:c|cc|cpp|cxx|cu|h|hpp|so(?:\.\d+)*)$")


class StackTexts:
    """Numbers for lists of frames; lists that the file shares are looked at once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.operators: list[str | None] = []
        self.native = False  # there are C++ frames
        self.on_npu = False
        self.cut = 0  # stacks too deep, or too much text in all
        self.graph_nodes = 0  # frames that also name a node of a compiled graph
        self._size = 0
        self._numbers: dict[str, int] = {}
        # Lists by identity, and by the identity of their frames; both hold the list so that the ids stay taken.
        self._seen: dict[int, tuple[list[Any], int]] = {}
        self._seen_frames: dict[tuple[int, ...], tuple[list[Any], int]] = {}

    def number(self, frames: Any) -> int:
        """The number of a stack whose innermost frame comes first, NO_STACK if it is empty."""
        if type(frames) is not list or not frames:
            return NO_STACK
        seen = self._seen.get(id(frames))
        if seen is not None:
            return seen[1]
        key = tuple(map(id, frames[: _MOST_FRAMES + 1]))
        seen = self._seen_frames.get(key)
        if seen is None:
            seen = self._seen_frames[key] = (frames, self._add(frames))
        if len(self._seen) + len(self._seen_frames) >= _MOST_CACHED:
            self._seen.clear()
            self._seen_frames.clear()
        if len(frames) > _MOST_FRAMES:  # only these are worth the memory
            self._seen[id(frames)] = seen
        return seen[1]

    def frame(self) -> pl.DataFrame:
        """Rows of ``stacks``."""
        return pl.DataFrame(
            {"stack": pl.int_range(len(self.texts), dtype=pl.UInt32, eager=True), "frames": self.texts},
            schema={"stack": pl.UInt32, "frames": pl.String},
        )

    def _add(self, frames: list[Any]) -> int:
        lines = []
        operator = own = None
        for frame in frames[:_MOST_FRAMES]:
            if type(frame) is not dict:
                continue
            file, name, line = _word(frame.get("filename")), _word(frame.get("name")), frame.get("line")
            location = f"{file}({line if type(line) is int else 0})"
            lines.append(f"{location}: {name}")
            if "fx_node_name" in frame:
                self.graph_nodes += 1
                lines[-1] += f" [{_word(frame.get('fx_node_op'))} {_word(frame['fx_node_name'])}]"
            if _NATIVE_FILE.search(file):
                self.native = True
                # The outermost is what was asked for; those inside it, such as aten::empty, are how it is done.
                dispatched = _DISPATCHED.match(name)
                operator = f"aten::{dispatched[1]}" if dispatched else operator
            elif own is None and not _LIBRARY.search(file):
                own = f"{_FOLDERS.sub('', location)}: {name}"
            self.on_npu = self.on_npu or "torch_npu" in file
        if not lines:
            return NO_STACK
        text = "\n".join(reversed(lines))
        number = self._numbers.get(text)
        if number is None:
            if self._size + len(text) > _ALWAYS_ALLOWED:
                self.cut += 1
                return NO_STACK
            self.cut += len(frames) > _MOST_FRAMES
            self._size += len(text)
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
            self.operators.append(own or operator)
        return number


def _word(value: Any) -> str:
    return clean_text(value[:_LONGEST_WORD]).replace("\n", " ") if isinstance(value, str) else "?"

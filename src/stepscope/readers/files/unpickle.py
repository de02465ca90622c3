"""A pickle reader that can execute nothing: lists, tuples, dictionaries with text keys, texts and numbers only.

Pickles are programs; this interpreter knows only the instructions that build plain data, so there is nothing to
call. What a file may cost is bounded by what it weighs: shared references stay shared, and a stack, a number or a
container beyond measure ends the reading.
"""

from __future__ import annotations

import pickletools
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from stepscope.errors import UnreadableInputError

_AHEAD: Final = 1 << 16  # bytes kept readable in front, so that most instructions need no check
_PADDING: Final = bytes(16)  # behind the last byte, for arguments that the file lacks
_LONGEST_TEXT: Final = 64 << 20
_LONGEST_INTEGER: Final = 64  # bytes or digits; an address has 9 bytes
_LARGEST_STACK: Final = 1 << 20  # picklers write 1000 elements at a time
_MOST_MARKS: Final = 1 << 12  # containers that are open at a time; a snapshot has 7
_FREE_CONTAINERS: Final = 1 << 16
_BYTES_PER_CONTAINER: Final = 6  # a snapshot spends 40
_BYTES_PER_REMEMBERED: Final = 3  # what is remembered was written, and that it is remembered too
_MEMO_GAP: Final = 64  # some picklers leave numbers out

_NAMES: Final = {ord(opcode.code): opcode.name for opcode in pickletools.opcodes}
_RELEASED: Final = object()
_NEVER_SET: Final = object()

_INT4: Final = struct.Struct("<i").unpack_from
_UINT4: Final = struct.Struct("<I").unpack_from
_DOUBLE: Final = struct.Struct(">d").unpack_from

Compact = Callable[[list[Any]], Any]


class _ReusedError(Exception):
    """The file refers again to something that was given away as compact."""


def load(open_blocks: Callable[[], Iterable[bytes]], path: str, compact: Compact | None = None) -> tuple[Any, int]:
    """The value of a pickle, and how many instructions made it.

    ``open_blocks`` gives the file's bytes, from the start at each call. ``compact`` may replace a run of list
    elements by one smaller thing (None: leave them); should the file refer to one of them again, all is read anew
    without it.

    >>> import pickle
    >>> load(lambda: [pickle.dumps({"size": [512, 1024]})], "a.pickle")[0]
    {'size': [512, 1024]}
    """
    try:
        return _Interpreter(open_blocks(), path, compact).run()
    except _ReusedError:
        return _Interpreter(open_blocks(), path, None).run()


class _Interpreter:
    def __init__(self, blocks: Iterable[bytes], path: str, compact: Compact | None) -> None:
        self.blocks: Iterator[bytes] = iter(blocks)
        self.path = path
        self.compact = compact
        self.data = b""
        self.dropped = 0  # bytes before ``data``
        self.ended = False  # ``data`` holds the last byte, and padding behind it
        self.memo: list[Any] = []
        self.stack: list[Any] = []
        self.marks: list[tuple[int, int]] = []  # height of the stack, length of the memo

    def run(self) -> tuple[Any, int]:
        """Execute the file to its end."""
        try:
            return self._run()
        except (IndexError, UnicodeDecodeError):
            # It takes from an empty stack, refers to what is not there, or its text is none.
            raise self._damaged() from None

    def _run(self) -> tuple[Any, int]:  # noqa: PLR0915 - one loop, for speed
        data, stack, memo, marks = self.data, self.stack, self.memo, self.marks
        push = stack.append
        position = limit = count = containers = 0
        affordable = _FREE_CONTAINERS
        while True:
            if position >= limit:
                data, limit = self._read_on(position)
                position = 0
            code = data[position]
            position += 1
            count += 1
            if code == 0x68:  # BINGET
                value = memo[data[position]]
                position += 1
                if value is _RELEASED or value is _NEVER_SET:
                    raise self._bad_reference(value)
                push(value)
            elif code == 0x94:  # MEMOIZE
                memo.append(stack[-1])
            elif code == 0x8A:  # LONG1
                length = data[position]
                if length > _LONGEST_INTEGER:
                    raise self._too_large("number")
                position += 1 + length
                push(int.from_bytes(data[position - length : position], "little", signed=True))
            elif code == 0x28:  # MARK
                if len(marks) > _MOST_MARKS:
                    raise self._too_large("nesting")
                marks.append((len(stack), len(memo)))
            elif code == 0x8C:  # SHORT_BINUNICODE
                length = data[position]
                position += 1 + length
                push(str(data[position - length : position], "utf-8", "surrogatepass"))
            elif code == 0x4B:  # BININT1
                push(data[position])
                position += 1
            elif code in b"}]":  # EMPTY_DICT, EMPTY_LIST
                containers += 1
                if containers > affordable:
                    affordable = self._afford(containers, position)
                push({} if code == 0x7D else [])
            elif code == 0x75:  # SETITEMS
                height, _ = marks.pop()
                keys, values = stack[height::2], stack[height + 1 :: 2]
                del stack[height:]
                self._set_items(stack[-1], keys, values)
            elif code == 0x6A:  # LONG_BINGET
                value = memo[_UINT4(data, position)[0]]
                position += 4
                if value is _RELEASED or value is _NEVER_SET:
                    raise self._bad_reference(value)
                push(value)
            elif code == 0x4A:  # BININT
                push(_INT4(data, position)[0])
                position += 4
            elif code == 0x65:  # APPENDS
                self._append(*marks.pop())
            elif code == 0x4D:  # BININT2
                push(data[position] | data[position + 1] << 8)
                position += 2
            elif code == 0x61:  # APPEND
                value = stack.pop()
                self._a_list(stack[-1]).append(value)
            elif code == 0x73:  # SETITEM
                value, key = stack.pop(), stack.pop()
                self._set_items(stack[-1], [key], [value])
            elif code == 0x2E:  # STOP
                return stack.pop(), count
            elif code == 0x95:  # FRAME: only groups what follows
                position += 8
            elif code == 0x80:  # PROTO
                position += 1
            elif code in _CONSTANTS:
                push(_CONSTANTS[code])
            elif code == 0x47:  # BINFLOAT
                push(_DOUBLE(data, position)[0])
                position += 8
            elif code in _TUPLES or code in b"tld":  # TUPLE and LIST and DICT take all above the mark
                height = len(stack) - _TUPLES[code] if code in _TUPLES else marks.pop()[0]
                if height < 0:
                    raise IndexError
                containers += 1
                if containers > affordable:
                    affordable = self._afford(containers, position)
                items = stack[height:]
                del stack[height:]
                if code == 0x64:
                    push({})
                    self._set_items(stack[-1], items[::2], items[1::2])
                else:
                    push(items if code == 0x6C else tuple(items))
            elif code in _COUNTED:
                width, errors = _COUNTED[code]
                length = int.from_bytes(data[position : position + width], "little")
                if length > _LONGEST_TEXT:
                    raise self._too_large("text")
                if position + width + length > limit and not self.ended:
                    data, limit = self._read_on(position, width + length)
                    position = 0
                position += width + length
                push(str(data[position - length : position], "utf-8", errors))
            elif code in b"qr":  # BINPUT, LONG_BINPUT
                wide = code == 0x72
                self._put(_UINT4(data, position)[0] if wide else data[position])
                position += 4 if wide else 1
            elif code == 0x8B:  # LONG4
                length = _UINT4(data, position)[0]
                if length > _LONGEST_INTEGER:
                    raise self._too_large("number")
                position += 4 + length
                push(int.from_bytes(data[position - length : position], "little", signed=True))
            elif code == 0x30:  # POP
                if marks and marks[-1][0] == len(stack):
                    marks.pop()
                else:
                    stack.pop()
            elif code == 0x31:  # POP_MARK
                del stack[marks.pop()[0] :]
            elif code == 0x32:  # DUP
                push(stack[-1])
            elif code in _LINES:
                end = data.find(b"\n", position)
                if end < 0 and not self.ended:
                    data, limit = self._read_on(position, _LONGEST_TEXT)
                    position = 0
                    end = data.find(b"\n")
                if end < 0:
                    raise self._truncated() if self.ended else self._too_large("text")
                self._line(code, data[position:end])
                position = end + 1
            else:
                raise self._forbidden(code, data, position)

    def _read_on(self, position: int, length: int = 0) -> tuple[bytes, int]:
        """Drop what was executed and read on, to ``length`` bytes at least; gives the bytes, and how far to go."""
        if self.ended:
            raise self._truncated()
        if len(self.stack) > _LARGEST_STACK:
            raise self._too_large("stack")
        if len(self.memo) > _FREE_CONTAINERS + (self.dropped + position) // _BYTES_PER_REMEMBERED:
            raise self._too_large("memo")
        self.dropped += position
        parts = [self.data[position:]]
        have = len(parts[0])
        wanted = length + 2 * _AHEAD
        while have < wanted:
            block = next(self.blocks, None)
            if block is None:
                self.ended = True
                break
            parts.append(block)
            have += len(block)
        if not have:
            raise self._truncated()
        self.data = b"".join([*parts, _PADDING] if self.ended else parts)
        return self.data, have if self.ended else have - _AHEAD

    def _afford(self, containers: int, position: int) -> int:
        """How many containers the bytes executed so far allow."""
        affordable = _FREE_CONTAINERS + (self.dropped + position) // _BYTES_PER_CONTAINER
        if containers > affordable:
            raise self._too_large("number of containers")
        return affordable

    def _append(self, height: int, remembered: int) -> None:
        """APPENDS: the elements, or their compact form, join the list below them."""
        stack, memo = self.stack, self.memo
        items = stack[height:]
        del stack[height:]
        target = self._a_list(stack[-1])
        packed = self.compact(items) if self.compact is not None and items else None
        if packed is None:
            target.extend(items)
            return
        target.append(packed)
        given = set(map(id, items))
        for slot in range(remembered, len(memo)):
            if id(memo[slot]) in given:
                memo[slot] = _RELEASED

    def _set_items(self, target: Any, keys: list[Any], values: list[Any]) -> None:
        if not isinstance(target, dict) or len(keys) != len(values):
            raise self._damaged()
        # Other keys may be costly to hash beyond all measure: tuples of tuples of the same tuple.
        other = set(map(type, keys)) - _KEY_TYPES
        if other:
            raise self._refusal("snapshot_pickle_forbidden", what=f"dict[{other.pop().__name__}]")
        target.update(zip(keys, values, strict=True))

    def _a_list(self, target: Any) -> list[Any]:
        if not isinstance(target, list):
            raise self._damaged()
        return target

    def _put(self, index: int) -> None:
        memo = self.memo
        if index > len(memo) + _MEMO_GAP:
            raise self._too_large("memo")
        memo.extend([_NEVER_SET] * (index + 1 - len(memo)))
        memo[index] = self.stack[-1]

    def _line(self, code: int, line: bytes) -> None:
        """Instructions of the text protocol, whose argument ends with the line."""
        if code in b"gp":
            if not line.isdigit() or len(line) > 10:
                raise IndexError
            if code == 0x70:
                self._put(int(line))
                return
            value = self.memo[int(line)]
            if value is _RELEASED or value is _NEVER_SET:
                raise self._bad_reference(value)
            self.stack.append(value)
        elif code == 0x49 and line in (b"00", b"01"):  # INT stands for booleans too
            self.stack.append(line == b"01")
        elif code in b"ILF":
            if len(line) > _LONGEST_INTEGER:
                raise self._too_large("number")
            try:
                self.stack.append(float(line) if code == 0x46 else int(line.removesuffix(b"L")))
            except ValueError:
                raise self._damaged() from None
        elif code == 0x56:
            self.stack.append(line.decode("raw-unicode-escape"))
        else:
            self.stack.append(line.strip(b"'\"").decode("utf-8", "replace"))

    def _bad_reference(self, value: object) -> Exception:
        return _ReusedError() if value is _RELEASED else IndexError()

    def _forbidden(self, code: int, data: bytes, position: int) -> UnreadableInputError:
        """What the file tried to do, in words."""
        name = _NAMES.get(code)
        if name is None:
            return self._damaged()
        what = name
        if name in ("GLOBAL", "INST"):
            lines = data[position : position + 1000].split(b"\n")
            what = ".".join(line.decode("utf-8", "replace") for line in lines[:2])
        elif name == "STACK_GLOBAL":
            what = ".".join(part[:200] for part in self.stack[-2:] if isinstance(part, str))
        elif name.startswith("EXT"):
            what = f"extension {int.from_bytes(data[position : position + int(name[3:])], 'little')}"
        elif name == "PERSID":
            what = "persistent object " + data[position : position + 200].split(b"\n")[0].decode("utf-8", "replace")
        return self._refusal("snapshot_pickle_forbidden", what=what[:200] or name)

    def _truncated(self) -> UnreadableInputError:
        return self._refusal("snapshot_pickle_truncated")

    def _damaged(self) -> UnreadableInputError:
        return self._refusal("snapshot_pickle_damaged")

    def _too_large(self, what: str) -> UnreadableInputError:
        return self._refusal("snapshot_pickle_too_large", what=what)

    def _refusal(self, code: str, **params: Any) -> UnreadableInputError:
        return UnreadableInputError(code, path=self.path, **params)


_KEY_TYPES: Final = {str}
_CONSTANTS: Final[dict[int, Any]] = {0x4E: None, 0x88: True, 0x89: False}
_TUPLES: Final = {0x29: 0, 0x85: 1, 0x86: 2, 0x87: 3}
# Width of the length, and what to do with bytes that are no text; Python 2 wrote texts as bytes.
_COUNTED: Final = {
    0x58: (4, "surrogatepass"),
    0x8D: (8, "surrogatepass"),
    0x54: (4, "replace"),
    0x55: (1, "replace"),
    0x42: (4, "replace"),
    0x43: (1, "replace"),
    0x8E: (8, "replace"),
}
_LINES: Final = frozenset(b"gpILFVS")

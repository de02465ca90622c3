"""What PyTorch's slices mean, on whatever device they ran: steps, phases, modules and call stacks."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.arrays import NONE, NULL, Int8s, Int32s, Int64s
from stepscope.facts.pytorch import pytorch_facts
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.readers.slices.step_names import spelling_of
from stepscope.readers.slices.steps import Steps
from stepscope.readers.trace_json.codes import Codes
from stepscope.store.ancestors import depths
from stepscope.store.nesting import nearest

Coded = npt.NDArray[np.signedinteger[Any]]

Values = TypeVar("Values", bound=Coded)

PHASES: Final = ("forward", "backward", "optimizer", "data", "capture")
FORWARD, BACKWARD, _OPTIMIZER, _DATA, CAPTURE = range(5)

MODULE_PREFIX: Final = "nn.Module: "
_DEEPEST: Final = 500


def marked_steps(slices: SliceTable) -> Steps:
    """Steps from slices that mark them, of the thread that carries most of these."""
    marks = np.flatnonzero(slices.is_kind("step"))
    if len(marks):
        tracks, counts = np.unique(slices.track[marks], return_counts=True)
        marks = marks[slices.track[marks] == tracks[np.argmax(counts)]]
        marks = marks[np.lexsort((-slices.end[marks], slices.start[marks]))]
        # One inside another is a part of it, as a batch is of a step; rounded to microseconds, neighbours may overlap.
        reached = np.maximum.accumulate(np.append(NULL, slices.end[marks]))[:-1]
        marks = marks[(slices.start[marks] >= reached) | (slices.end[marks] > reached)]
    words = list(slices.names)
    named = [str(words[code]) for code in slices.name[marks].tolist()]
    spelling = spelling_of(named[0] if named else "")
    number = np.array([spelling.number(word) for word in named], np.int64)
    if (number == NULL).any():
        number = np.arange(len(marks))
    return Steps(number, slices.start[marks], slices.end[marks], spelling.marks_from)


def phases(slices: SliceTable, launch: Int64s) -> Int8s:
    """Code of PHASES per slice, -1 where unknown. Host slices by what is around them, device ones by their launch."""
    by_name = np.full(max(len(slices.names), 1), -1, np.int8)
    can_mark = slices.is_kind("operator", "annotation")
    used = np.zeros(len(by_name), np.bool_)
    used[slices.name[can_mark]] = True
    names = pytorch_facts().phases
    patterns = {BACKWARD: names.backward, _OPTIMIZER: names.optimizer, _DATA: names.data}
    begins = {phase: re.compile("|".join(words)).match for phase, words in patterns.items()}
    for code, name in itertools.compress(enumerate(slices.names), used.tolist()):
        by_name[code] = next((phase for phase, matches in begins.items() if matches(str(name))), -1)
    marks = can_mark & (by_name[slices.name] >= 0)
    mark = nearest(slices.parent, marks)
    phase = np.full(len(slices), -1, np.int8)
    marked = np.flatnonzero(mark != NONE)
    phase[marked] = by_name[slices.name[mark[marked]]]
    # What the training loop's own thread computes besides is the forward pass.
    is_step = slices.is_kind("step")
    if is_step.any():
        in_step = nearest(slices.parent, is_step) != NONE  # so on the track of a step
        phase[in_step & (phase < 0) & slices.is_kind("operator", "runtime")] = FORWARD
    return _as_launched(phase, launch)


def modules(slices: SliceTable, launch: Int64s, stated: Int32s, stated_texts: Codes) -> tuple[Coded, list[str | None]]:
    """Path of network modules around each slice, as codes and texts; else what the operator itself states."""
    is_module = slices.is_kind("module")
    if not is_module.any():
        texts: list[str | None] = [_unquoted(text) for text in stated_texts]
        return _inherited(slices, launch, stated.astype(np.int64), -1), texts
    around = nearest(slices.parent, is_module)
    paths = Codes()
    words = list(slices.names)
    own: dict[int, str] = {}
    code = np.full(len(slices) + 1, -1, np.int32)  # the last entry stands for NONE
    positions = np.flatnonzero(is_module)
    for position in positions[np.argsort(slices.nesting.row[positions], kind="stable")].tolist():
        parent = int(slices.parent[position])
        outer = own.get(int(around[parent])) if parent != NONE else None
        word = str(words[slices.name[position]])[len(MODULE_PREFIX) :]
        deeper = outer is None or outer.count("/") < _DEEPEST
        own[position] = (f"{outer}/{word}" if deeper else outer) if outer else word
        code[position] = paths[own[position]]
    return _as_launched(code[around], launch), paths.texts()


def stacks(
    slices: SliceTable, launch: Int64s, stated: Int32s, stated_texts: Codes, *, of_frames: bool = False
) -> tuple[Int64s, pl.DataFrame]:
    """Stack number of each slice, and the ``stacks`` table: from the Python frames around it, else as stated.

    A frame has no number, or ``of_frames`` the one of the stack that it ends.
    """
    is_frame = slices.is_kind("python", "module")
    if not is_frame.any():
        frames = [_outermost_first(_unquoted(text)) for text in stated_texts]
        number = _inherited(slices, launch, np.where(stated < 0, NULL, stated.astype(np.int64)), NULL)
        return number, pl.DataFrame({"stack": range(len(frames)), "frames": frames})
    around = nearest(slices.parent, is_frame)
    order = slices.nesting.order[is_frame[slices.nesting.order]]  # parents come first
    position_in_order = np.full(len(slices) + 1, NONE, np.int64)  # the last entry stands for NONE
    position_in_order[order] = np.arange(len(order))
    outer = position_in_order[np.append(around, NONE)[slices.parent[order]]]
    stack_of, first = _distinct_stacks(outer, slices.name[order])
    words = slices.names.texts()
    frames = []
    for parent, name in zip(outer[first].tolist(), slices.name[order[first]].tolist(), strict=True):
        frames.append(f"{frames[stack_of[parent]]}\n{words[name]}" if parent != NONE else str(words[name]))
    own = position_in_order  # of each slice, the stack that it ends, if it is a frame
    own[order] = stack_of
    own[-1] = NULL
    number = _as_launched(own[around], launch)
    if not of_frames:
        number[is_frame] = NULL  # a frame's own stack is what lies around it
    return number, pl.DataFrame({"stack": range(len(frames)), "frames": frames})


def _outermost_first(stated: str) -> str:
    """A stack as an operator states it, with its innermost frame first, as ours.

    >>> _outermost_first("net.py(7): forward;train.py(3): main;").splitlines()
    ['train.py(3): main', 'net.py(7): forward']
    """
    frames = stated.replace("\r\n", "").split(";")
    return "\n".join(frame for frame in reversed(frames) if frame)


def _distinct_stacks(outer: Int64s, name: Int32s) -> tuple[Int64s, Int64s]:
    """Number of each frame's stack, and the first frame that has it; equal names around equal stacks are one stack.

    ``outer`` is the frame around each one, which comes before it. Numbers are in order of first appearance.

    >>> stack, first = _distinct_stacks(np.array([NONE, 0, NONE, 2, 2]), np.array([7, 8, 7, 8, 9], np.int32))
    >>> stack.tolist(), first.tolist()
    ([0, 1, 0, 1, 2], [0, 1, 4])
    """
    depth = depths(outer) + 1
    by_depth = np.argsort(depth, kind="stable")
    level_first = np.searchsorted(depth[by_depth], np.arange(1, min(int(depth.max()), _DEEPEST) + 2))
    stack = np.full(len(outer) + 1, NONE, np.int64)  # the last entry stands for NONE
    firsts = [np.empty(0, np.int64)]
    known = 0
    for low, high in itertools.pairwise(level_first.tolist()):
        here = by_depth[low:high]
        _, first, own = np.unique(stack[outer[here]] << 32 | name[here], return_index=True, return_inverse=True)
        stack[here] = known + own
        known += len(first)
        firsts.append(here[first])
    if level_first[-1] < len(outer):  # texts of a hostile depth would grow with its square
        stack[:-1] = stack[nearest(outer, depth <= _DEEPEST)]
    first_frames = np.concatenate(firsts)
    order = np.argsort(first_frames)
    renumbered = np.empty(known, np.int64)
    renumbered[order] = np.arange(known)
    return renumbered[stack[:-1]], first_frames[order]


def _inherited(slices: SliceTable, launch: Int64s, stated: Int64s, absent: int) -> Int64s:
    """Values that operators state, handed down to what lies inside and to what it launches."""
    if not (stated != absent).any():
        return np.full(len(slices), absent, np.int64)
    around = nearest(slices.parent, stated != absent)
    return _as_launched(np.append(stated, absent)[around], launch)


def _as_launched(values: Values, launch: Int64s) -> Values:
    """Values in which what was launched has taken that of its launch; the array itself is changed."""
    launched = np.flatnonzero(launch != NONE)
    values[launched] = values[launch[launched]]
    return values


def _unquoted(raw: bytes) -> str:
    try:
        value = json.loads(raw)
    except ValueError:
        value = raw.decode("utf-8", "replace")
    return value if isinstance(value, str) else json.dumps(value)

"""What blocks are for: weights, gradients, optimizer state, activations, workspace, inputs, or other.

What the recorder or the user said stands; else the phase of birth and the length of life tell (docs/metrics/memory.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from stepscope.analysis.memory.blocks import Blocks
from stepscope.analysis.memory.phases import BACKWARD, DATA, FORWARD, OPTIMIZER, Phases
from stepscope.analysis.memory.step_windows import OUTSIDE, StepWindows
from stepscope.arrays import Bools
from stepscope.facts.memory import memory_facts

BEFORE_WINDOW: Final = "before_window"
OTHER: Final = "other"
STATED, LIKELY, GUESS, UNKNOWN = "stated", "likely", "guess", "unknown"
_NEVER: Final = np.iinfo(np.int64).max
_CONFIDENCES: Final = (UNKNOWN, STATED, LIKELY, GUESS)


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    table = memory_facts().categories.stated
    return [(category, re.compile("|".join(words), re.IGNORECASE)) for category, words in table.items()]


def categorised(blocks: Blocks, phases: Phases, windows: StepWindows) -> pl.DataFrame:
    """category and confidence of each block."""
    count = len(blocks.frame)
    words = [OTHER]
    category, confidence = np.zeros(count, np.int8), np.zeros(count, np.int8)  # indices of the words

    def decide(which: Bools, word: str, how: str) -> None:
        if word not in words:
            words.append(word)
        which = which & (confidence == _CONFIDENCES.index(UNKNOWN))
        category[which], confidence[which] = words.index(word), _CONFIDENCES.index(how)

    for word, which in _stated(blocks.frame["category"]).items():
        decide(which, word, STATED)
    decide(_matches(blocks.frame, "workspace") | _library_workspace(blocks), "workspace", LIKELY)
    step, phase = phases.step, phases.phase
    in_step = step != OUTSIDE
    # Index -1 reads the appended last entry, for blocks outside of all steps.
    ends = np.append(windows.end, _NEVER)[step]
    backward, optimizer = (np.append(begin, _NEVER)[step] for begin in (phases.backward_start, phases.optimizer_start))
    leaves_step = in_step & (blocks.free_ns >= ends)
    reaches_backward = in_step & (blocks.free_ns >= backward)
    reaches_optimizer = in_step & (blocks.free_ns >= optimizer)
    decide((phase == OPTIMIZER) & leaves_step, "optimizer", LIKELY)
    decide((phase == DATA) & ~blocks.older, "inputs", LIKELY)
    decide(_matches(blocks.frame, "inputs") & (phase == FORWARD) & reaches_backward, "inputs", GUESS)
    # If gradients are freed each step, blocks from backward that live longer are not gradients.
    soon = np.append(windows.end, [_NEVER, _NEVER])[np.where(in_step, step + 1, -1)]
    replaced = (phase == BACKWARD) & leaves_step & (blocks.free_ns < soon)
    if replaced.any():
        decide((phase == BACKWARD) & leaves_step & (blocks.free_ns >= soon) & (soon < _NEVER), "workspace", GUESS)
    decide((phase == BACKWARD) & (leaves_step | reaches_optimizer), "gradients", LIKELY)
    decide((phase == FORWARD) & reaches_backward & ~leaves_step, "activations", LIKELY)
    decide(in_step & ~leaves_step, OTHER, LIKELY)
    through = blocks.older & blocks.stays & (len(windows) > 0)
    born_here = bool((category == words.index("optimizer")).any())
    # If the optimizer's state was allocated within the window, older blocks that stay are the weights it updates.
    decide(through, *(("weights", GUESS) if born_here else (BEFORE_WINDOW, UNKNOWN)))
    decide(blocks.older, BEFORE_WINDOW, UNKNOWN)
    return pl.DataFrame({"category": _texts(words, category), "confidence": _texts(_CONFIDENCES, confidence)})


def _texts(words: Sequence[str], codes: npt.NDArray[np.int8]) -> pl.Series:
    return pl.Series(words, dtype=pl.Enum(words))[codes]


def _stated(words: pl.Series) -> dict[str, Bools]:
    distinct = words.drop_nulls().unique().to_list()
    meaning = {word: next((name for name, pattern in _patterns() if pattern.search(word)), None) for word in distinct}
    return {
        name: words.is_in([word for word, known in meaning.items() if known == name]).fill_null(False).to_numpy()
        for name in {known for known in meaning.values() if known}
    }


def _matches(frame: pl.DataFrame, category: str) -> Bools:
    """Blocks whose pool or operator is known to serve a category."""
    pattern = "|".join(f"(?:{word})" for word in memory_facts().categories.inferred[category])
    matching = pl.Series([False]).new_from_index(0, len(frame))
    for name in ("pool", "operator"):
        words = frame[name].unique().drop_nulls()
        matching |= (
            frame[name].is_in(words.filter(words.cast(pl.String).str.contains(pattern)).implode()).fill_null(False)
        )
    return matching.to_numpy()


def _library_workspace(blocks: Blocks) -> Bools:
    """Blocks that stay, and have a size that matrix libraries take once per stream and handle."""
    sizes = memory_facts().categories.workspace_sizes
    asked = blocks.frame.select(pl.coalesce("requested_bytes", "bytes").is_in(sizes)).to_series().to_numpy()
    return np.asarray(asked & blocks.stays & ~blocks.older)

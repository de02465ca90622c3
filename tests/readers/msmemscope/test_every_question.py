"""Every question on dumps of memory alone: an answer, or a reason why there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

import stepscope
from readers.msmemscope_builder import Row, free, malloc, op, write_csv
from stepscope.errors import NoAnswerError
from stepscope.questions import QUESTIONS


def _step(number: int, start: int, end: int) -> list[Row]:
    return [
        Row(number + place, "MSTX", f"Range_{edge}", "step start", time)
        for place, (edge, time) in enumerate((("start", start), ("end", end)))
    ]


def _kernel(number: int, start: int, end: int) -> list[Row]:
    times = {"KERNEL_LAUNCH": start - 5, "KERNEL_EXECUTE_START": start, "KERNEL_EXECUTE_END": end}
    return [Row(number + place, "KERNEL_LAUNCH", kind, "k", time) for place, (kind, time) in enumerate(times.items())]


_BLOCK = [malloc(90, 50, 0x10, 512), free(91, 180, 0x10, 512)]
_STEPS = [*_step(1, 10, 100), *_step(3, 110, 200)]
_CASES = {
    "one block": _BLOCK[:1],
    "blocks and an operator": [*_BLOCK, op(5, 60, "aten::add"), op(6, 80, "aten::add", end=True)],
    "steps without work": [*_STEPS, *_BLOCK],
    "steps with launches alone": [*_STEPS, *_kernel(20, 60, 90)[:1], *_kernel(30, 160, 190)[:1]],
    "steps with kernels": [*_STEPS, *_BLOCK, *_kernel(20, 60, 90), *_kernel(30, 130, 190)],
    "an operator that lasts no time": [*_step(1, 10, 100), op(5, 50, "a"), op(6, 50, "a", end=True)],
    "an operator behind all steps": [*_step(1, 10, 100), op(5, 200, "a"), op(6, 300, "a", end=True)],
}


@pytest.mark.parametrize("case", _CASES)
def test_there_is_an_answer_or_a_reason(case: str, tmp_path: Path) -> None:
    rows = sorted(_CASES[case], key=lambda row: row.time)
    write_csv(tmp_path / "dump" / "memscope_dump_20251203120000.csv", rows)
    run = stepscope.load(tmp_path, progress=False)
    answered = set()
    for question in set(QUESTIONS) - {"drill"}:  # which needs the name of a row
        try:
            run.ask(question)
            answered.add(question)
        except NoAnswerError as reason:
            assert reason.message("en")
    assert "diagnose" in answered

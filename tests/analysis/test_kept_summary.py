"""The summary of many ranks is kept beside the run: the same answer, from one small file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import stepscope
from stepscope.analysis import summary as module
from stepscope.simulate.scenario import Plan
from stepscope.simulate.writing import simulate
from support.scenarios import NPU, small


def test_what_is_kept_is_what_was_worked_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = simulate(small(NPU, plan=Plan(dp=4, micro_batches=2), steps=2), tmp_path / "run").directory
    worked_out = stepscope.load(written, progress=False).ask("summary")
    monkeypatch.setattr(module, "_KEPT_FROM_RANKS", 4)
    first = stepscope.load(written, progress=False).ask("summary")

    def refuse(*_: Any) -> None:
        raise AssertionError("worked out again")

    monkeypatch.setattr(module, "_work_out", refuse)
    again = stepscope.load(written, progress=False).ask("summary")
    assert first.data == worked_out.data == again.data
    assert first.notes == worked_out.notes == again.notes
    with pytest.raises(AssertionError, match="worked out again"):
        stepscope.load(written, progress=False).ask("summary", ranks=[0])

"""What ``cluster`` says of a job as a whole: the numbers it divides, and nothing where there is nothing to tell."""

from __future__ import annotations

import pytest

from stepscope.analysis.cluster.slowdown.types import Slowdown
from stepscope.report.cluster import _sentence


def _slowdown(worst: float | None, last: float | None) -> Slowdown:
    return Slowdown(
        total=1.25,
        straggling=True,
        measured_us=101_000.0,
        replayed_us=100_000.0,
        ideal_us=80_000.0,
        replay_error_share=0.01,
        by_dimension=[],
        by_stage=[],
        by_rank=[],
        by_operation=[],
        worst_ranks=[2],
        worst_ranks_share=worst,
        last_stage_share=last,
    )


def test_the_numbers_of_a_sentence_fit_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    _sentence(_slowdown(0.5, None), "en")
    assert capsys.readouterr().out == (
        "In the replay a step takes 1.250 times as long as the ideal one (100.000 ms replayed, 80.000 ms ideal). "
        "The recorded step took 101.000 ms, so the replay is off by 1.0%. "
        "The worst rank (2) explains 50.0% of the loss.\n"
    )


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_share_that_is_not_known_is_not_told(lang: str, capsys: pytest.CaptureFixture[str]) -> None:
    _sentence(_slowdown(None, None), lang)
    assert " %" not in capsys.readouterr().out

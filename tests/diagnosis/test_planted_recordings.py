"""Real trainings with a planted fault, and their twins without it (benchmarks/planted): what is named, at what cost.

What the fault costs was measured without a profiler, in the same program with and without it.
"""

from __future__ import annotations

import json
import statistics
from typing import Any

import pytest

from stepscope.diagnosis.finding import Finding
from stepscope.report.diagnose import position_line
from support.samples import RECORDINGS, open_sample

TRUTH: dict[str, dict[str, Any]] = json.loads((RECORDINGS / "planted.truth.json").read_text("utf-8"))
TWINS = sorted(path.name for path in RECORDINGS.glob("planted_*_healthy.tar.xz"))


def _accused(file: str) -> list[Finding]:
    return [finding for finding in open_sample(RECORDINGS / file).diagnose().findings if finding.accuses]


@pytest.mark.parametrize("fault", TRUTH)
def test_the_fault_is_named_first(fault: str) -> None:
    assert _accused(f"planted_{fault}.tar.xz")[0].kind in TRUTH[fault]["kinds"]


@pytest.mark.parametrize("twin", TWINS)
def test_its_twin_is_not_accused(twin: str) -> None:
    assert _accused(twin) == []


def test_half_of_the_predicted_gains_are_within_a_quarter_of_the_measured_ones() -> None:
    errors = []
    for fault, truth in TRUTH.items():
        if truth["gains_time"]:
            (told, *_) = _accused(f"planted_{fault}.tar.xz")
            assert told.gain_share is not None
            errors.append(abs(told.gain_share - truth["gain_share"]) / truth["gain_share"])
    assert statistics.median(errors) <= 0.25


def test_python_that_holds_the_device_up_is_named_with_its_function() -> None:
    (told, *_) = _accused("planted_metrics_in_python.tar.xz")
    assert told.cause == "python"
    assert told.where.site is not None and "quantiles → sorted" in told.where.site
    assert told.where.site in told.title.en and told.where.site in told.title.zh


def test_workers_that_nobody_could_look_into_are_named_as_a_whole() -> None:
    """They were started before the recording; their time went into the data set, not into collating."""
    (told, *_) = _accused("planted_slow_loader.tar.xz")
    assert told.where.pipeline_op == "DataLoader"
    assert "num_workers" in told.advice.en


def test_a_finding_of_which_another_explains_the_most_says_so() -> None:
    fallback, host = _accused("planted_work_on_the_cpu.tar.xz")
    assert (fallback.kind, host.kind, host.comes_after) == ("cpu_fallback", "host_bound", [fallback.id])
    position = position_line(host, [fallback])
    assert position is not None and "not counted here" in position.en and "未计入" in position.zh
    assert position_line(fallback, []) is None

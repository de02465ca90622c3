"""What a gain leaves out because the recorder cost it: hand-made loops whose device idles for 40 of 100 us."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.launch_cases import Case
from diagnosis.cases import loop
from stepscope.diagnosis.diagnose import work_out
from stepscope.diagnosis.finding import Finding
from stepscope.facts.findings import finding_facts

_IDLE, _PERIOD = 40, 100
_OPERATORS = 9  # and the call that launches


def _dispatches(case: Case, step: int, begin: float) -> None:
    for number in range(_OPERATORS):
        case.slice("aten::add_", "operator", begin + 4 * number, begin + 4 * number + 4, step=step)


def _host_bound(directory: Path, framework: str, device_kind: str = "gpu") -> Finding:
    store = loop(_IDLE, _dispatches).store(directory, framework=framework, device_kind=device_kind)
    (finding,) = [finding for finding in work_out(store).findings if finding.kind == "host_bound"]
    return finding


def test_what_recording_took_while_the_device_waited_is_no_gain(tmp_path: Path) -> None:
    finding = _host_bound(tmp_path, "pytorch")
    recorder_us = (_OPERATORS + 1) * finding_facts().recorder.us_per_event
    assert finding.gain_us == pytest.approx(_IDLE - recorder_us, abs=0.5)
    assert finding.gain_share == pytest.approx((_IDLE - recorder_us) / (_PERIOD - recorder_us), abs=0.005)
    (told,) = [entry for entry in finding.evidence if entry.metric == "recorder_share"]
    assert told.value == pytest.approx(recorder_us / _IDLE, abs=0.005)
    # The idle time itself stays as it was recorded.
    assert finding.evidence[0].value == pytest.approx(_IDLE / _PERIOD, abs=0.005)


@pytest.mark.parametrize(("framework", "device_kind"), [("mindspore", "gpu"), ("pytorch", "npu")])
def test_a_recorder_of_unknown_cost_takes_nothing(tmp_path: Path, framework: str, device_kind: str) -> None:
    finding = _host_bound(tmp_path, framework, device_kind)
    assert finding.gain_us == pytest.approx(_IDLE, abs=0.5)
    assert all(entry.metric != "recorder_share" for entry in finding.evidence)

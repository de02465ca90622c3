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


def _found(directory: Path, **rank: object) -> list[Finding]:
    return work_out(loop(_IDLE, _dispatches).store(directory, **rank)).findings


def _host_bound(directory: Path, framework: str, device_kind: str = "gpu", **rank: object) -> Finding:
    found = _found(directory, framework=framework, device_kind=device_kind, **rank)
    (finding,) = [finding for finding in found if finding.kind == "host_bound"]
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


def test_where_steps_were_timed_without_recording_the_difference_is_no_gain(tmp_path: Path) -> None:
    finding = _host_bound(tmp_path, "pytorch", unrecorded_step_ns=80_000)
    # 100 us while recorded, 80 without: 20 us of the 40 are the recorder's, and 20 of 80 are left to gain.
    assert finding.gain_us == pytest.approx(20, abs=0.5)
    assert finding.gain_share == pytest.approx(20 / 80, abs=0.005)
    told = {entry.metric: entry.value for entry in finding.evidence}
    assert told["recorder_share_timed"] == pytest.approx(0.5, abs=0.005)
    assert told["unrecorded_step"] == 80


def test_a_host_that_is_late_only_while_it_is_recorded_is_not_accused(tmp_path: Path) -> None:
    found = _found(tmp_path, framework="pytorch", device_kind="gpu", unrecorded_step_ns=61_000)
    assert not [finding for finding in found if finding.accuses]


def test_more_than_events_can_cost_is_not_put_down_to_the_recorder(tmp_path: Path) -> None:
    """Whatever made the recorded steps so much longer, it was something else."""

    def one_operator(case: Case, step: int, begin: float) -> None:
        case.slice("aten::unique", "operator", begin, begin + 37, step=step)

    store = loop(_IDLE, one_operator).store(tmp_path, framework="pytorch", device_kind="gpu", unrecorded_step_ns=61_000)
    (finding,) = [finding for finding in work_out(store).findings if finding.kind == "host_bound"]
    two_events_us = 2 * finding_facts().recorder.most_us_per_event  # the operator, and the call that launches
    assert finding.gain_us == pytest.approx(_IDLE - two_events_us, abs=0.5)

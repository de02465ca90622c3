"""The same job gives the same findings from every format that carries their data; what it lacks is not checked."""

from __future__ import annotations

from pathlib import Path

import pytest

import stepscope
from stepscope.diagnosis.finding import Diagnosis
from stepscope.simulate.scenario import FaultEntry, Plan, Scenario
from stepscope.simulate.writing import simulate
from support.scenarios import GPU, NPU, small

_FORMS = {"kineto": GPU, "ndtimeline": GPU, "ascend-text": NPU, "ascend-db": NPU}


def _scenario(form: str) -> Scenario:
    slow = FaultEntry(kind="slow_rank", cause="compute", ranks=(2,), strength=0.25)
    leak = FaultEntry(kind="memory_leak", amount=64.0)
    return small(_FORMS[form], plan=Plan(dp=4), steps=12, faults=(slow, leak))


def _diagnosed(path: Path, store: Path) -> Diagnosis:
    return stepscope.load(path, store=store, progress=False).diagnose()


def _accused(diagnosis: Diagnosis) -> dict[str, set[tuple[str | None, tuple[int, ...]]]]:
    accused: dict[str, set[tuple[str | None, tuple[int, ...]]]] = {}
    for each in diagnosis.findings:
        if each.accuses:
            accused.setdefault(each.kind, set()).add((each.cause, tuple(each.ranks)))
    return accused


@pytest.mark.parametrize("form", _FORMS)
def test_what_a_format_carries_is_found_in_it_and_the_rest_is_not_checked(form: str, tmp_path: Path) -> None:
    scenario = _scenario(form)
    simulate(scenario, tmp_path / "direct")
    simulate(scenario, tmp_path / "files", form=form)
    direct = _diagnosed(tmp_path / "direct", tmp_path / "cache")
    read = _diagnosed(tmp_path / "files", tmp_path / "cache")
    assert {"slow_rank", "memory_leak"} == set(_accused(direct))
    checked, unchecked = set(read.verdict.checked), {each.kind for each in read.not_checked}
    assert _accused(read) == {kind: said for kind, said in _accused(direct).items() if kind in checked}
    assert set(direct.verdict.checked) <= checked | unchecked and not checked & unchecked
    assert ("memory_leak" in unchecked) == (form == "ndtimeline")


@pytest.mark.parametrize("form", ["ascend-text", "ascend-db"])
def test_every_format_of_a_device_tells_where_the_update_of_parameters_begins(form: str, tmp_path: Path) -> None:
    """The framework marks it with a range, without which work behind backward would look like a part of forward."""
    scenario = small(NPU, steps=6, faults=(FaultEntry(kind="tail_long", strength=0.2),))
    simulate(scenario, tmp_path / "direct")
    simulate(scenario, tmp_path / "files", form=form)
    direct = _diagnosed(tmp_path / "direct", tmp_path / "cache")
    assert set(_accused(direct)) == {"tail_long"}
    assert _accused(_diagnosed(tmp_path / "files", tmp_path / "cache")) == _accused(direct)

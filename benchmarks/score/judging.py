"""One case: simulated straight into a store, diagnosed, and compared with its truth."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final

import msgspec

from score.cases import Case
from score.culprit_units import Unit, accused_units, true_units
from stepscope.diagnosis.diagnose import work_out
from stepscope.diagnosis.finding import Finding
from stepscope.errors import UsageError
from stepscope.facts.findings import finding_facts
from stepscope.simulate.truth import FILE
from stepscope.simulate.writing import simulate
from stepscope.store.run_store import open_store

#: A fault of several that gains next to nothing alone, because others take as long.
HIDDEN: Final = "hidden"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a case. ``true_gain`` and ``told_gain`` are shares of the step, of cases with one fault."""

    name: str
    group: str
    cause: str
    strength: str
    topology: str
    when: str
    world: int
    possible: bool = True  # false where the simulator refuses: this fault costs nothing in this job
    truth: list[Unit] = []
    worth: list[
        str
    ] = []  # of several faults, the strength of each by what mending it alone gains; else that of the case
    accused: list[Unit] = []
    cause_right: bool | None = None
    true_gain: float | None = None
    told_gain: float | None = None
    told: list[str] = []

    @property
    def strengths(self) -> list[str]:
        """Those of its faults."""
        return sorted(set(self.worth)) or [self.strength]

    def units(self, strength: str) -> list[Unit]:
        """Planted culprits of one strength."""
        own = self.worth or [self.strength] * len(self.truth)
        return [unit for unit, its_own in zip(self.truth, own, strict=True) if its_own == strength]

    @property
    def missed(self) -> list[Unit]:
        return [unit for unit in self.truth if unit not in self.accused]

    @property
    def wrong(self) -> list[Unit]:
        return [unit for unit in self.accused if unit not in self.truth]


def judge(case: Case, directory: Path, *, keep: bool = False) -> Outcome:
    """Simulate a case into a directory of its own, unless it lies there, and compare."""
    about: dict[str, Any] = {
        name: getattr(case, name) for name in ("name", "group", "cause", "strength", "topology", "when")
    }
    about["world"] = case.scenario.world
    out = directory / case.name
    try:
        truth = _simulated(case, out)
        if truth is None:
            return Outcome(**about, possible=False)
        store = open_store(out)
        assert store is not None
        return compared(about, truth, work_out(store).findings)
    finally:
        if not keep:
            shutil.rmtree(out, ignore_errors=True)


def _simulated(case: Case, out: Path) -> dict[str, Any] | None:
    known = out / FILE
    if not known.exists():
        shutil.rmtree(out, ignore_errors=True)
        try:
            simulate(case.scenario, out, detail=case.detail)
        except UsageError:
            return None
    return msgspec.json.decode(known.read_bytes(), type=dict[str, Any])


def compared(about: dict[str, Any], truth: dict[str, Any], findings: list[Finding]) -> Outcome:
    """Findings that accuse, against the faults that were planted."""
    faults, told = truth["faults"], [finding for finding in findings if finding.accuses]
    planted = sorted({unit for fault in faults for unit in true_units(fault)})
    accused = sorted({unit for finding in told for unit in _units(finding, faults)})
    only = faults[0] if len(faults) == 1 else None
    worth = {unit: _strength(fault) for fault in faults for unit in true_units(fault)}
    named = [each for each in told if only and set(_units(each, faults)) & set(true_units(only))]
    return Outcome(
        **about,
        truth=planted,
        worth=[worth[unit] for unit in planted] if len({fault["kind"] for fault in faults}) > 1 else [],
        accused=accused,
        cause_right=all(only["cause"] in _causes(each) for each in named) if only and only["cause"] and named else None,
        true_gain=only["gain_share"] if only else None,
        told_gain=named[0].gain_share if named else None,
        told=[_line(finding) for finding in findings],
    )


def _strength(fault: dict[str, Any]) -> str:
    """By the gain of mending it alone. Faults that cost no time are as clear as any."""
    limits = finding_facts().strength
    if fault["strength"] is None or fault["gain_share"] >= limits.clear_share:
        return "clear"
    return "mild" if fault["gain_share"] >= limits.mild_share else HIDDEN


def _units(finding: Finding, faults: list[dict[str, Any]]) -> list[Unit]:
    """A slow link is also named by its group where nothing more was recorded, and a card by its only link in use."""
    if finding.kind == "slow_link":
        named = [
            fault for fault in faults if fault["kind"] == "slow_link" and set(fault["ranks"]) <= set(finding.ranks)
        ]
        return [unit for fault in named for unit in true_units(fault)] or accused_units(finding)
    return accused_units(finding)


def _causes(finding: Finding) -> tuple[str, ...]:
    """What a finding says the cause is; where a recording cannot tell a card from its only link, both."""
    return ("link", "card") if finding.cause == "link_or_card" else (str(finding.cause),)


def _line(finding: Finding) -> str:
    ranks = ",".join(map(str, finding.ranks[:6])) + ("…" if len(finding.ranks) > 6 else "")
    share = "-" if finding.gain_share is None else f"{100 * finding.gain_share:.1f}%"
    return f"{finding.severity} {finding.kind}/{finding.cause} [{ranks}] {share}"

"""Findings beside planted faults: what is named, what is missed, and who is accused of what nobody planted."""

from __future__ import annotations

from stepscope.diagnosis.planted import accused_beside, planted_faults
from support.findings import finding

_SLOW = {"kind": "slow_rank", "cause": "compute", "ranks": [3], "gain_share": 0.15}
_LINK = {"kind": "slow_link", "cause": "link", "ranks": [8, 10], "gain_share": 0.05}


def test_a_fault_is_named_by_a_finding_of_its_kind_that_accuses_its_ranks() -> None:
    named, elsewhere = finding("slow_rank", [3]), finding("slow_link", [1, 2])
    slow, link = planted_faults([_SLOW, _LINK], [elsewhere, named])
    assert slow.finding is named
    assert link.finding is None
    assert accused_beside([slow, link], [elsewhere, named]) == [elsewhere]


def test_a_group_with_both_ends_of_a_link_names_it() -> None:
    group = finding("slow_link", [8, 10, 12, 14])
    (link,) = planted_faults([_LINK], [group])
    assert link.finding is group


def test_what_is_only_worth_knowing_accuses_nobody() -> None:
    assert accused_beside([], [finding("compute_hotspot", [0], severity="info")]) == []

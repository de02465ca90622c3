"""Lines of ``diagnose`` at a terminal: numbers as people write them, remedies once."""

from __future__ import annotations

import pytest

from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.finding import Bilingual, NotChecked
from stepscope.report.diagnose import evidence_line, not_checked_lines


@pytest.mark.parametrize(
    ("metric", "value", "unit", "expected"),
    [
        ("conversion_kernels", 1168, "kernels", "conversions per step 1,168"),
        ("chain_length", 2.5, "kernels", "kernels in a row 2.5"),
        ("leak_blocks", 8, "blocks", "blocks not freed 8"),
        ("idle_share", 0.25, "share", "idle in total 25.0%"),
    ],
)
def test_what_is_counted_is_a_whole_number_after_its_label(metric: str, value: float, unit: str, expected: str) -> None:
    assert evidence_line(number(metric, value, unit)).en == expected


def test_kinds_with_the_same_remedy_share_a_line_and_so_do_those_without_any() -> None:
    ranks, plan = Bilingual("ranks", "多个 rank"), Bilingual("a plan", "并行策略")
    both, clock = Bilingual("record both", "一起采集"), Bilingual("watch it", "另行观察")
    entries = [
        NotChecked("slow_rank", ranks, both),
        NotChecked("frequency_drop", clock, clock, recordable=False),
        NotChecked("pipeline_bubble", plan, clock),
        NotChecked("slow_link", plan, both),
        NotChecked("hang", clock, clock, recordable=False),
    ]
    assert [(line.en, line.zh) for line in not_checked_lines(entries)] == [
        ("slow ranks, slow links: record both", "慢 rank、慢链路：请一起采集"),
        ("pipeline bubble: watch it", "流水线空泡：请另行观察"),
        (
            "not applicable to this job, or not recordable on its device: lowered clocks, hangs",
            "此类任务不涉及，或该设备无法采集：降频、任务挂起",
        ),
    ]


def test_of_a_job_with_one_rank_nothing_between_ranks_is_listed_by_name() -> None:
    alone = Bilingual.of("finding_needs.other_ranks")
    entries = [NotChecked(kind, alone, alone, recordable=False) for kind in ("slow_rank", "slow_host", "slow_link")]
    (line,) = not_checked_lines(entries)
    assert line.en == "not applicable to this job, or not recordable on its device: everything between ranks"

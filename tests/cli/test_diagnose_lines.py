"""Lines of ``diagnose`` at a terminal: numbers as people write them, remedies once."""

from __future__ import annotations

import pytest

from stepscope.diagnosis.evidence import number
from stepscope.diagnosis.finding import Bilingual, NotChecked
from stepscope.report.diagnose import evidence_line, not_checked_lines


@pytest.mark.parametrize(
    ("metric", "value", "unit", "expected"),
    [
        ("conversion_kernels", 1168, "kernels", "conversions per step 1,168"),
        ("chain_length", 2.5, "kernels", "kernels in a row 2.5"),
        ("leak_blocks", 8, "blocks", "blocks not freed 8"),
        ("idle_share", 0.25, "share", "device idle 25.0%"),
    ],
)
def test_what_is_counted_is_a_whole_number_after_its_label(metric: str, value: float, unit: str, expected: str) -> None:
    assert evidence_line(number(metric, value, unit)).en == expected


def test_kinds_with_the_same_remedy_share_a_line() -> None:
    ranks, plan = Bilingual("ranks", "多个 rank"), Bilingual("a plan", "并行策略")
    both = Bilingual("record both", "一起采集")
    entries = [
        NotChecked("slow_rank", ranks, both),
        NotChecked("pipeline_bubble", plan, both),
        NotChecked("slow_link", ranks, both),
    ]
    assert [(line.en, line.zh) for line in not_checked_lines(entries)] == [
        (
            "slow ranks, slow links: needs ranks. To check this, record both.",
            "慢 rank、慢链路：需要多个 rank。采集方法：一起采集。",
        ),
        (
            "pipeline bubble: needs a plan. To check this, record both.",
            "流水线空泡：需要并行策略。采集方法：一起采集。",
        ),
    ]

"""Jobs whose calls and events do not fit into memory at once are worked through in pieces, with the same answers."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from analysis.stores import make_store
from stepscope.analysis.cluster.calls import pieces, spilled_rows
from stepscope.analysis.cluster.calls.matched import matched_calls
from stepscope.analysis.cluster.calls.pieces import call_pieces
from stepscope.analysis.cluster.calls.spilled_rows import SpilledRows
from stepscope.analysis.cluster.job import Job, job_of
from stepscope.analysis.cluster.slowdown import call_replay, event_windows
from stepscope.diagnosis.diagnose import work_out
from stepscope.simulate.scenario import FaultEntry, Host, Plan, Workload
from stepscope.simulate.writing import simulate
from stepscope.store.run_store import RunStore, open_store
from support.scenarios import small


def _tiny_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, size in (
        (spilled_rows, "ROWS_AT_ONCE", 40),
        (pieces, "ROWS_AT_ONCE", 40),
        (event_windows, "_AT_ONCE", 40),
        (call_replay, "_EVENTS_AT_ONCE", 7),
        (call_replay, "_AT_ONCE", 2),
    ):
        monkeypatch.setattr(module, name, size)


def _opened(directory: Path) -> RunStore:
    store = open_store(directory)
    assert store is not None
    for kept in directory.glob("cluster.json"):
        kept.unlink()
    return store


@pytest.mark.parametrize(
    ("plan", "fault"),
    [
        (Plan(dp=4), FaultEntry(kind="slow_rank", cause="compute", ranks=(2,), strength="clear")),
        (Plan(dp=2, tp=2, pp=2, micro_batches=4), FaultEntry(kind="slow_link", links=((0, 4),), strength="clear")),
    ],
)
def test_pieces_change_no_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: Plan, fault: FaultEntry
) -> None:
    scenario = small(plan=plan, host=Host(ranks=4), workload=Workload(layers=4), steps=4, faults=(fault,))
    simulate(scenario, tmp_path / "run", detail="steps")
    at_once: Job = job_of(_opened(tmp_path / "run"))
    assert at_once.slowdown is not None
    _tiny_pieces(monkeypatch)
    store = _opened(tmp_path / "run")
    assert len(list(call_pieces(store))) >= 4
    assert job_of(store) == at_once


@pytest.mark.parametrize(
    ("plan", "fault"),
    [
        (Plan(dp=4), FaultEntry(kind="slow_rank", cause="compute", ranks=(2,), strength="clear")),
        (Plan(dp=2, tp=2, pp=2, micro_batches=4), FaultEntry(kind="slow_link", links=((0, 4),), strength="clear")),
    ],
)
def test_pieces_change_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: Plan, fault: FaultEntry
) -> None:
    scenario = small(plan=plan, host=Host(ranks=4), workload=Workload(layers=4), steps=4, faults=(fault,))
    simulate(scenario, tmp_path / "run", detail="steps")
    at_once = work_out(_opened(tmp_path / "run"))
    assert fault.kind in {finding.kind for finding in at_once.findings if finding.accuses}
    _tiny_pieces(monkeypatch)
    assert work_out(_opened(tmp_path / "run")) == at_once


def _calls(rows: list[tuple[int, int, int | None, int | None]]) -> list[dict[str, object]]:
    return [
        {
            "rank": rank,
            "slice": index,
            "group": "all",
            "kind": "all_reduce",
            "seq": seq,
            "step": step,
            "start_ns": 100 * start,
            "end_ns": 100 * start + 50,
        }
        for index, (rank, start, seq, step) in enumerate(rows)
    ]


@pytest.mark.parametrize(
    ("rows", "expected_pieces"),
    [
        ([(rank, step, step, step) for rank in (0, 1) for step in (1, 2, 3)], 3),
        # Rank 1 counts call 2 to another step, or to none: all are looked at together.
        ([(0, 1, 1, 1), (0, 2, 2, 2), (1, 1, 1, 1), (1, 2, 2, 1)], 1),
        ([(0, 1, 1, 1), (0, 2, 2, 2), (1, 1, 1, 1), (1, 2, 2, None)], 1),
        # One call has no number, so all of them are matched by their order, also where a step has numbers only.
        ([(0, 1, 7, 1), (0, 2, 8, 2), (1, 1, 9, 1), (1, 2, None, 2)], 2),
    ],
)
def test_the_members_of_a_call_are_in_one_piece(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows: list[tuple[int, int, int | None, int | None]],
    expected_pieces: int,
) -> None:
    store = make_store(tmp_path, ranks=[{"rank": 0}, {"rank": 1}], collectives=_calls(rows))
    whole = matched_calls(store).select("rank", "slice", "last_rank").sort("slice")
    monkeypatch.setattr(pieces, "ROWS_AT_ONCE", 2)
    parts = [matched_calls(store, piece) for piece in call_pieces(store)]
    assert len(parts) == expected_pieces
    assert pl.concat(parts).select("rank", "slice", "last_rank").sort("slice").equals(whole)


def test_rows_that_were_written_come_back_by_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled_rows, "ROWS_AT_ONCE", 4)
    rows = SpilledRows()
    for first in range(0, 30, 3):
        rows.add(pl.DataFrame({"rank": [2, 0, 1], "value": range(first, first + 3)}))
    assert len(rows) == 30
    assert list(rows.blocks([0, 1, 2])) == [[0], [1], [2]]
    assert rows.of_ranks([0, 2])["value"].sort().to_list() == [v for v in range(30) if v % 3 != 2]
    assert rows.of_ranks([1])["value"].sort().to_list() == list(range(2, 30, 3))

"""The score of the diagnosis counts what it says, and a handful of its cases has the answers that it must have."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from score.__main__ import evenly
from score.__main__ import main as run_score
from score.cases import HEALTHY, Case, read_cases
from score.judging import Outcome, judge
from score.report import misses, tables
from score.tally import Ratio, healthy_accused, kind_scores, overall

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SCORE = BENCHMARKS / "score" / "score.toml"
DEVELOPMENT = BENCHMARKS / "score" / "development.toml"
#: One case each whose answer is known; small jobs, so that they take seconds.
KNOWN = [
    "healthy-data_6-wide-15",
    "slow_rank-compute-clear-0",
    "slow_host-compute-clear-2",
    "expert_imbalance-clear-1",
    "slow_link-link-clear-0",
]


def _outcome(
    group: str, truth: str = "", accused: str = "", cause: str = "", gains: tuple[float, float] | None = None
) -> Outcome:
    """Culprits as ``kind culprit``, several with commas between."""
    units = [[tuple(each.split(" ", 1)) for each in text.split(", ") if each] for text in (truth, accused)]
    return Outcome(
        name="case",
        group=group,
        cause=cause,
        strength="clear",
        topology="job",
        when="",
        world=8,
        truth=units[0],  # type: ignore[arg-type]
        accused=units[1],  # type: ignore[arg-type]
        true_gain=gains and gains[0],
        told_gain=gains and gains[1],
    )


def _cases(file: Path) -> dict[str, Case]:
    return {case.name: case for case in read_cases(file)}


def test_wilson_intervals_are_those_of_the_textbook() -> None:
    # Agresti and Coull (1998): 0 of 10 gives 0 to 0.278.
    low, high = Ratio(0, 10).interval
    assert (round(low, 3), round(high, 3)) == (0.0, 0.278)


def test_hits_misses_and_wrong_accusations_are_counted_by_culprit() -> None:
    outcomes = [
        _outcome("slow_rank", "slow_rank rank 1, slow_rank rank 2", "slow_rank rank 1", gains=(0.2, 0.15)),
        _outcome("slow_rank", "slow_rank rank 3", "slow_rank rank 3, slow_rank rank 4", gains=(0.1, 0.1)),
        _outcome("slow_host", "slow_host host001", "slow_rank rank 7"),
    ]
    rank, host = kind_scores(outcomes)
    assert (rank.precision, rank.recall) == (Ratio(2, 4), Ratio(2, 3))
    assert rank.gain_error == pytest.approx(0.125)
    assert (host.precision, host.recall) == (Ratio(0, 0), Ratio(0, 1))
    assert overall(outcomes, "clear") == (Ratio(2, 4), Ratio(2, 4))


def test_faults_of_a_mixed_case_count_by_what_mending_each_alone_gains() -> None:
    """A hidden one that is not named is no miss of a clear fault, and one that is named is no wrong accusation."""
    mixed = _outcome("mixed", "slow_rank rank 1, slow_host host001, data_starved run", "slow_host host001, hang run")
    mixed = msgspec.structs.replace(mixed, worth=["hidden", "clear", "hidden"])
    clear, hidden = kind_scores([mixed])
    assert (clear.strength, clear.precision, clear.recall) == ("clear", Ratio(1, 2), Ratio(1, 1))
    assert (hidden.strength, hidden.precision, hidden.recall) == ("hidden", Ratio(0, 0), Ratio(0, 2))
    assert overall([mixed], "clear") == (Ratio(1, 2), Ratio(1, 1))


def test_a_healthy_run_that_is_accused_is_counted_once() -> None:
    calm = _outcome(HEALTHY, cause="quiet")
    accused = _outcome(HEALTHY, accused="slow_rank rank 0, host_bound run", cause="wide")
    assert healthy_accused([calm, accused]) == {"quiet": Ratio(0, 1), "wide": Ratio(1, 1)}
    assert "host_bound (run)" in misses([calm, accused])
    assert "0.000 (0/1;" in tables([calm, accused])


def test_score_and_development_have_no_topology_in_common() -> None:
    ours, theirs = (
        {(case.scenario.plan, case.scenario.host.ranks, case.scenario.device.kind) for case in read_cases(file)}
        for file in (SCORE, DEVELOPMENT)
    )
    assert {plan for plan, *_ in ours} - {plan for plan, *_ in theirs}
    assert not {case.scenario.seed for case in read_cases(SCORE)} & {
        case.scenario.seed for case in read_cases(DEVELOPMENT)
    }


def test_there_are_at_least_thirty_clear_cases_of_each_kind_and_cause_and_150_healthy_ones() -> None:
    counts: dict[tuple[str, str], int] = {}
    for case in read_cases(SCORE):
        if case.strength in ("clear", ""):
            key = (case.group, "" if case.group == HEALTHY else case.cause)
            counts[key] = counts.get(key, 0) + 1
    assert counts.pop((HEALTHY, "")) >= 150
    assert {key: count for key, count in counts.items() if count < 30} == {}


@pytest.mark.parametrize("name", KNOWN)
def test_known_answers(name: str, tmp_path: Path) -> None:
    outcome = judge(_cases(SCORE)[name], tmp_path)
    assert (outcome.missed, outcome.wrong) == ([], [])
    assert not list(tmp_path.iterdir()), "a simulated run was left behind"


def test_a_run_that_is_ended_early_has_looked_at_everything() -> None:
    cases = read_cases(SCORE)
    order = evenly(cases)
    assert sorted(case.name for case in order) == sorted(case.name for case in cases)
    small = [case for case in order if case.scenario.world <= 64]
    begun = {(case.group, case.cause) for case in small[: len(small) // 10]}
    assert begun >= {(case.group, case.cause) for case in small if case.strength == "clear"}
    assert max(case.scenario.world for case in order[: len(order) // 2]) <= 64


def test_half_a_line_of_a_killed_run_is_no_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results.jsonl"
    whole = msgspec.json.encode(msgspec.structs.replace(_outcome("slow_rank"), name="slow_rank-compute-clear-0"))
    results.write_bytes(whole + b"\n" + whole[:40])
    monkeypatch.setattr("sys.argv", ["score", "--tables", str(results)])
    run_score()
    assert "| `slow_rank` | clear | 1 |" in capsys.readouterr().out

"""Clocks of hosts from calls that end together: recovered where the data allow it, refused where they do not."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pytest

from stepscope.store import schema
from stepscope.store.clocks import with_clocks
from stepscope.store.clocks.alignment import align
from stepscope.store.clocks.anchors import anchors
from support.samples import RECORDINGS, open_sample

T0 = 1_767_225_600_000_000_000


@dataclass
class Job:
    """Two ranks per host; each call takes 30 us from its last arrival and ends for all within some microseconds."""

    offsets_us: list[float]
    calls: int = 60
    apart_ms: float = 20.0
    noise_us: float = 4.0
    size: int = 8
    kind: str = "all_reduce"
    drift_ppm: list[float] = field(default_factory=list)
    hosts_named: bool = True
    groups: list[list[int]] | None = None  # hosts of each group; all in one by default

    def tables(self) -> tuple[pl.DataFrame, pl.LazyFrame]:
        generator = np.random.default_rng(7)
        hosts = len(self.offsets_us)
        rows = []
        for number, members in enumerate(self.groups or [list(range(hosts))]):
            for call in range(self.calls):
                true_end = int((call + 1) * self.apart_ms * 1e6) + number * 1000
                for host in members:
                    for rank in (2 * host, 2 * host + 1):
                        end = true_end + int(abs(generator.normal()) * self.noise_us * 1000)
                        start = true_end - 30_000 - int(generator.uniform(0, 5e6))
                        rows.append(
                            {
                                "rank": rank,
                                "slice": call,
                                "group": f"g{number}",
                                "seq": call,
                                "kind": self.kind,
                                "start_ns": self.shown(host, start),
                                "end_ns": self.shown(host, end),
                                "bytes": self.size,
                            }
                        )
        ranks = [
            {
                "rank": rank,
                "host": f"node{rank // 2}" if self.hosts_named else None,
                "first_ns": self.shown(rank // 2, 0),
                "last_ns": self.shown(rank // 2, int(self.calls * self.apart_ms * 1e6)),
            }
            for rank in range(2 * hosts)
        ]
        return schema.conform("ranks", pl.DataFrame(ranks)), schema.conform("collectives", pl.DataFrame(rows)).lazy()

    def shown(self, host: int, true_ns: int) -> int:
        """What the clock of a host shows at a true moment."""
        drift = self.drift_ppm[host] if self.drift_ppm else 0.0
        return T0 + true_ns + round(self.offsets_us[host] * 1000 + true_ns * drift / 1e6)


def aligned(job: Job) -> tuple[pl.DataFrame, list[str]]:
    ranks, notes = with_clocks(*job.tables())
    return ranks.with_columns(state=pl.col("clock_state").cast(pl.String)), [note.code for note in notes]


def test_offsets_of_milliseconds_are_recovered_within_their_error() -> None:
    ranks, notes = aligned(Job([0, 2500, -1800, 11_560_000]))

    assert ranks["state"].to_list() == ["reference"] * 2 + ["aligned"] * 6
    for rank, true_us in zip(range(2, 8), [-2500] * 2 + [1800] * 2 + [-11_560_000] * 2, strict=True):
        off = abs(ranks["clock_offset_ns"][rank] - true_us * 1000)
        assert off <= ranks["clock_error_ns"][rank] <= 20_000
    assert notes == ["clocks_aligned"]


def test_a_few_small_calls_count_for_themselves_beside_many_large_ones() -> None:
    offsets = [0.0, 250.0, -120.0]
    ranks, small = Job(offsets, calls=8).tables()
    _, large = Job(offsets, calls=100, apart_ms=2.0, noise_us=300.0, size=1 << 28).tables()
    large = large.with_columns(group=pl.lit("large").cast(small.collect_schema()["group"]))
    found, _ = with_clocks(ranks, pl.concat([small, large]))
    assert found["clock_calls"].to_list() == [8] * 6
    for rank, true_us in zip(range(2, 6), [-250] * 2 + [120] * 2, strict=True):
        assert abs(found["clock_offset_ns"][rank] - true_us * 1000) <= found["clock_error_ns"][rank] <= 20_000


def test_a_drift_is_recovered_in_a_long_window() -> None:
    ranks, _ = aligned(Job([0, 300], apart_ms=500, drift_ppm=[0, 40]))

    assert ranks["clock_drift_ppb"][2] == pytest.approx(-40_000, abs=200)
    assert ranks["clock_offset_ns"][2] == pytest.approx(-300_000, abs=10_000)


def test_clocks_may_be_connected_over_others() -> None:
    chain = [[host, host + 1] for host in range(9)]
    ranks, _ = aligned(Job([500.0 * host for host in range(10)], groups=chain))

    assert ranks["clock_offset_ns"].to_list()[2:] == pytest.approx(
        [-500_000 * (rank // 2) for rank in range(2, 20)], abs=20_000
    )


def test_a_minority_of_wrongly_matched_calls_changes_nothing() -> None:
    job = Job([0, 1500])
    ranks, calls = job.tables()
    wrong = pl.when((pl.col("seq") % 4 == 0) & (pl.col("rank") >= 2)).then(300_000_000).otherwise(0)
    shifted = calls.with_columns(start_ns=pl.col("start_ns") - wrong, end_ns=pl.col("end_ns") - wrong)
    plain, _ = with_clocks(ranks, calls)

    clock_of = ranks.select("rank", domain=(pl.col("rank") // 2).cast(pl.Int64))
    estimate = align(anchors([shifted], clock_of), 2)
    assert -estimate.offset_ns[1] == pytest.approx(plain["clock_offset_ns"][2], abs=2000)
    assert estimate.contradicted[1] > 0.1  # they contradict what holds for the others, and that is told


def test_an_offset_below_its_error_is_not_applied() -> None:
    ranks, notes = aligned(Job([0, 1], calls=10))

    assert ranks["state"].to_list() == ["reference"] * 2 + ["agrees"] * 2
    assert ranks["clock_offset_ns"].to_list() == [None, None, 0, 0]
    assert notes == []


def test_an_offset_that_is_hardly_more_than_its_error_may_be_noise_and_is_not_applied() -> None:
    # Without noise the error is the usual distance between the ends of small calls: 4 us.
    states = {us: aligned(Job([0, us], noise_us=0))[0]["state"][2] for us in (-10, -6, 6, 10)}
    assert states == {-10: "aligned", -6: "agrees", 6: "agrees", 10: "aligned"}


def test_a_drift_that_no_clock_has_is_not_applied() -> None:
    ranks, _ = aligned(Job([0, 0], calls=20, drift_ppm=[0, 1500]))

    assert ranks["clock_drift_ppb"].to_list() == [None, None, 0, 0]


@pytest.mark.parametrize("name", ["healthy", "slow_compute"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_processes_of_one_machine_have_one_clock(name: str, device: str) -> None:
    run = open_sample(RECORDINGS / f"four_ranks_{device}_{name}.tar.xz")
    assert [note.code for note in run.notes if note.code.startswith("clocks_")] == []


def test_ranks_of_unknown_hosts_have_a_clock_each() -> None:
    ranks, _ = aligned(Job([0, 2500], hosts_named=False))

    assert ranks["state"].to_list() == ["reference", "agrees", "aligned", "aligned"]
    assert ranks["clock_offset_ns"].to_list()[2:] == pytest.approx([-2_500_000] * 2, abs=10_000)


def test_a_rank_with_a_clock_of_its_own_is_noticed() -> None:
    ranks, calls = Job([0, 1000]).tables()
    own = pl.when(pl.col("rank") == 3).then(700_000).otherwise(0)
    ranks, _ = with_clocks(ranks, calls.with_columns(start_ns=pl.col("start_ns") + own, end_ns=pl.col("end_ns") + own))

    assert ranks["clock_offset_ns"].to_list()[2:] == pytest.approx([-1_000_000, -1_700_000], abs=10_000)


def test_hosts_without_common_calls_are_not_aligned() -> None:
    ranks, notes = aligned(Job([0, 10, 5000, 5010], groups=[[0, 1], [2, 3]]))

    assert ranks["state"].to_list()[4:] == ["too_few_calls"] * 4
    assert ranks["clock_offset_ns"].to_list()[4:] == [None] * 4
    assert "clocks_too_few_calls" in notes


def test_too_few_calls_are_refused() -> None:
    ranks, notes = aligned(Job([0, 5000], calls=4))

    assert ranks["state"].to_list() == ["reference"] * 2 + ["too_few_calls"] * 2
    assert notes == ["clocks_too_few_calls"]


def test_transfers_between_two_ranks_are_no_evidence() -> None:
    ranks, _ = aligned(Job([0, 5000], kind="send"))

    assert set(ranks["state"]) == {"reference", "too_few_calls"}


def test_ends_that_scatter_by_milliseconds_are_refused() -> None:
    ranks, notes = aligned(Job([0, 5000], calls=8, noise_us=12_000))

    assert ranks["state"].to_list()[2:] == ["uncertain"] * 2
    assert ranks["clock_error_ns"].to_list()[2:] == [None] * 2
    assert notes == ["clocks_uncertain"]


def test_large_calls_alone_give_a_larger_error() -> None:
    small, _ = aligned(Job([0, 5000]))
    large, _ = aligned(Job([0, 5000], size=1 << 30))

    assert small["clock_error_ns"][2] < 10_000
    assert large["clock_error_ns"][2] >= 25_000


def test_one_host_has_nothing_to_be_compared_with() -> None:
    ranks, notes = aligned(Job([0]))

    assert ranks["clock_state"].is_null().all()
    assert notes == []


def test_offsets_that_a_file_states_stay() -> None:
    ranks, calls = Job([0, 5000]).tables()
    stated = ranks.with_columns(clock_offset_ns=pl.Series([0, 0, 123, 123], dtype=pl.Int64))

    assert with_clocks(stated, calls)[0].equals(stated)

"""Faults that hide each other: to mend one alone gains little, since another then sets the pace of the steps.

A rule sees what a fault costs where it lies; the replay of all ranks sees what mending it would save. Where that is
little, the replay is asked what else holds the steps up: another finding, the hosts of some ranks, or their loaders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
import numpy as np
import polars as pl

from stepscope.analysis.replay.changes import Change, parse_change
from stepscope.analysis.replay.estimate import counted_rows, estimate_from
from stepscope.analysis.replay.replay import Replay
from stepscope.arrays import Bools
from stepscope.diagnosis.context import RunContext
from stepscope.diagnosis.evidence.numbers import number
from stepscope.diagnosis.evidence.rank_names import rank_names
from stepscope.diagnosis.finding import TOGETHER, Bilingual, Finding, FindingEvidence, Proof, Where, finding_id
from stepscope.diagnosis.losses import severity_of
from stepscope.errors import StepscopeError
from stepscope.facts.findings import finding_facts
from stepscope.texts.numbers import duration, percent

#: Gains of faults that hide each other: of each alone, as the replay has it.
ALONE: Final = "replay_alone"
#: What can hold steps up without being seen: a host or a loader that is just as fast as the steps are now.
_LIMITS: Final[tuple[Literal["data", "host"], ...]] = ("data", "host")
#: As kinds and causes: of most ranks, and of some that their peers would wait for.
_OF_ALL: Final = {"data": ("data_starved", "processing"), "host": ("host_bound", "dispatch")}
_PACES: Final = {"data": "pace_of_data", "host": "pace_of_host"}
_TITLES: Final = {"data": "finding_title.hidden_data", "host": "finding_title.hidden_host"}
_ADVICE: Final = {"data": "finding_advice.slow_rank_data", "host": "finding_advice.slow_rank_host"}
_ADVICE_OF_ALL: Final = {"data": "finding_advice.data_starved", "host": "finding_advice.host_dispatch"}
#: In how many parts ranks are tried at most when it is looked for those that matter.
_MOST_PARTS: Final = 16


@dataclass(frozen=True)
class Alone:
    """The changes that mend a finding, and what a step saves by them alone."""

    changes: list[Change]
    gain_us: float
    share: float


@dataclass(frozen=True)
class _Both:
    """What a finding and something else cost together, each of them alone, and the step with only the first mended."""

    first: Alone
    second: Alone
    gain_us: float
    share: float
    pace_us: float


class _Replays:
    """Gains of sets of changes, from the replay of all ranks."""

    def __init__(self, run: RunContext, replay: Replay) -> None:
        self._run, self._replay = run, replay

    def saved(self, variants: Sequence[list[Change]]) -> list[Alone]:
        """What each set of changes saves; nothing where it finds nothing to change."""
        estimate = estimate_from(self._run.store, self._run.store.ranks, self._replay, variants)
        assert estimate is not None  # the replay is there
        saved = []
        for position, changes in enumerate(variants):
            try:
                steps, _ = estimate.changed(position)
            except StepscopeError:
                saved.append(Alone(changes, 0.0, 0.0))
                continue
            rows = counted_rows(steps) & _behind_first(steps)
            replayed, changed = (steps[name].to_numpy()[rows] for name in ("replayed_ns", "changed_ns"))
            gain = max(int(replayed.sum()) - int(changed.sum()), 0)
            saved.append(Alone(changes, gain / len(replayed) / 1000, gain / max(int(replayed.sum()), 1)))
        return saved


def _behind_first(steps: pl.DataFrame) -> Bools:
    """Rows of all steps but the first of each rank: what holds that up began before the window."""
    later: Bools = (steps["step"] > steps.select(pl.col("step").min().over("rank")).to_series()).to_numpy()
    return later if later.any() else np.ones(len(steps), np.bool_)


def with_hidden_faults(
    run: RunContext,
    replay: Replay,
    findings: list[Finding],
    estimated: dict[str, float | None],
    alone: dict[str, Alone],
) -> list[Finding]:
    """Findings that the replay gains little from, with what they hide behind; others as they are.

    ``estimated`` are the shares of the step that rules hold against them, ``alone`` what the replay says.
    """
    mild = finding_facts().strength.mild_share
    hidden = [
        one
        for one in findings
        if one.accuses and one.id in alone and alone[one.id].share < max(mild, (estimated[one.id] or 0.0) / 2)
    ]
    replays = _Replays(run, replay)
    again = replays.saved([alone[one.id].changes for one in hidden])
    alone |= {one.id: saved for one, saved in zip(hidden, again, strict=True)}
    hidden = [one for one in hidden if alone[one.id].share < mild]
    for finding in sorted(hidden, key=lambda one: -(one.gain_us or 0.0)):
        if finding in findings:  # else it was told together with another one
            findings = _told_with_its_partner(run, replays, finding, findings, alone)
    return findings


def _told_with_its_partner(
    run: RunContext, replays: _Replays, finding: Finding, findings: list[Finding], alone: dict[str, Alone]
) -> list[Finding]:
    mine = alone[finding.id]
    others = [one for one in findings if one.accuses and one.id in alone and one is not finding]
    limits = [[parse_change(f"{subject}=0")] for subject in _LIMITS]
    second = [*(alone[other.id].changes for other in others), *limits]
    answers = replays.saved([*second, *([*mine.changes, *changes] for changes in second)])
    by_itself, joint = answers[: len(second)], answers[len(second) :]
    mild = finding_facts().strength.mild_share
    beyond = [both.share - mine.share - one.share for one, both in zip(by_itself, joint, strict=True)]
    most = max(beyond)
    if most < mild:
        return findings  # two ways to look at it disagree, and nothing tells why
    # What was found comes before what is only a limit.
    chosen = next(index for index, more in enumerate(beyond) if more >= mild and more >= most / 2)
    if chosen < len(others) and not _of_few(run, others[chosen]):
        other = others[chosen]
        both = _Both(mine, by_itself[chosen], joint[chosen].gain_us, joint[chosen].share, 0.0)
        return [
            _hiding(one, both.first if one is finding else both.second, both, other if one is finding else finding)
            if one in (finding, other)
            else one
            for one in findings
        ]
    subject, ranks = _limit_of(run, replays, mine, others, chosen, joint[chosen].share)
    relief = parse_change(f"{subject}@{','.join(map(str, ranks))}=0")
    itself, together = replays.saved([[relief], [*mine.changes, relief]])
    pace = run.mean_period_us - mine.gain_us
    both = _Both(mine, itself, together.gain_us, together.share, pace)
    partner = _limit_as_finding(run, subject, ranks, both)
    kept = [one for one in findings if one is not finding and not _is_part_of(one, partner)]
    return [_hiding(finding, mine, both, partner), _hiding(partner, itself, both, finding), *kept]


def _of_few(run: RunContext, finding: Finding) -> bool:
    """Whether something of single ranks is meant that their peers have not: a slow rank, by its cause."""
    return finding.kind in ("host_bound", "data_starved") and _few(run, finding.ranks)


def _few(run: RunContext, ranks: Sequence[int]) -> bool:
    stages = {run.plan.stage_of(rank) for rank in ranks}
    peers = [rank for rank in run.ranks if run.plan.stage_of(rank) in stages]
    return 2 * len(ranks) < len(peers)


def _limit_of(
    run: RunContext, replays: _Replays, mine: Alone, others: list[Finding], chosen: int, share: float
) -> tuple[Literal["data", "host"], list[int]]:
    """What holds the steps up, and on which ranks."""
    if chosen < len(others):
        return ("data" if others[chosen].kind == "data_starved" else "host"), others[chosen].ranks
    subject = _LIMITS[chosen - len(others)]

    def shares(sets: list[list[int]]) -> list[float]:
        changes = [parse_change(f"{subject}@{','.join(map(str, ranks))}=0") for ranks in sets]
        return [saved.share for saved in replays.saved([[*mine.changes, change] for change in changes])]

    return subject, needed_ranks(run.ranks, share - (share - mine.share) / 10, shares)


def needed_ranks(ranks: list[int], enough: float, shares: Callable[[list[list[int]]], list[float]]) -> list[int]:
    """The ranks without which a set no longer saves enough; ``shares`` tells what sets of ranks save.

    >>> needed_ranks(list(range(12)), 0.5, lambda sets: [float(5 in ranks and 9 in ranks) for ranks in sets])
    [5, 9]
    """
    parts = 2
    while len(ranks) > 1 and parts <= _MOST_PARTS:
        chunks = [chunk.tolist() for chunk in np.array_split(ranks, min(parts, len(ranks)))]
        rests = [[rank for rank in ranks if rank not in chunk] for chunk in chunks]
        smaller = next((rest for rest, share in zip(rests, shares(rests), strict=True) if share >= enough), None)
        if smaller is not None:
            ranks, parts = smaller, max(parts - 1, 2)
        elif parts >= len(ranks):
            break
        else:
            parts *= 2
    return ranks


def _limit_as_finding(run: RunContext, subject: Literal["data", "host"], ranks: list[int], both: _Both) -> Finding:
    """A host or loader that nobody waits for yet, as a finding: of some ranks they are slow ranks."""
    few = _few(run, ranks)
    kind, cause = ("slow_rank", subject) if few else _OF_ALL[subject]
    words: dict[str, object] = {"ranks": rank_names(ranks, run.ranks), "pace": duration(both.pace_us)}
    return Finding(
        id=finding_id(kind, cause, ranks, Where()),
        kind=kind,
        severity=severity_of(both.share, "likely"),
        cause=cause,
        confidence="likely",
        title=Bilingual.of(_TITLES[subject], **words),
        ranks=ranks,
        steps=[],
        where=Where(),
        evidence=[number(_PACES[subject], both.pace_us, "us")],
        gain_us=both.second.gain_us,
        gain_share=both.second.share,
        gain_method=ALONE,
        advice=Bilingual.of((_ADVICE if few else _ADVICE_OF_ALL)[subject], **words),
        proof=[Proof(rank=rank, page="timeline") for rank in ranks[: finding_facts().lists.most_proofs]],
        validate_with="summary",
        next_commands=["pipeline" if subject == "data" else "launches"],
    )


def _is_part_of(finding: Finding, slow: Finding) -> bool:
    """Whether it is the same once more, told of the same ranks."""
    absorbed = finding_facts().slow_rank.is_absorbed(finding.kind, finding.cause, slow.cause)
    return (absorbed or finding.kind == slow.kind) and set(finding.ranks) <= set(slow.ranks)


def _hiding(finding: Finding, alone: Alone, both: _Both, other: Finding) -> Finding:
    """A finding with what mending it alone would gain, and what mending both would."""
    named = Bilingual.of(f"finding_kind.{other.kind}")
    label = Bilingual.of("finding_metric.gain_together", other=named)
    advice = Bilingual.of(
        "finding_advice.hidden",
        advice=finding.advice,
        other=named,
        alone=percent(alone.share),
        share=percent(both.share),
    )
    return msgspec.structs.replace(
        finding,
        gain_us=round(alone.gain_us, 6),
        gain_share=round(alone.share, 6),
        gain_method=ALONE,
        severity=severity_of(both.share, finding.confidence),
        advice=advice,
        evidence=[
            *finding.evidence,
            FindingEvidence(metric=TOGETHER, label=label, value=both.gain_us, unit="us"),
        ],
    )

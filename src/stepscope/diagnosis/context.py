"""What rules may ask about a run. Each answer is worked out when it is first asked for, and once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import polars as pl

from stepscope.analysis.cluster.delays import delays
from stepscope.diagnosis.computing import Computing, computing_of
from stepscope.diagnosis.measures import RankTime, rank_times
from stepscope.errors import NoAnswerError
from stepscope.facts.findings import finding_facts
from stepscope.questions.registry import QUESTIONS
from stepscope.store.notes import Note
from stepscope.store.run_store import RunStore


class RunContext:
    """An opened run and the answers that were already needed."""

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self._answers: dict[str, Any] = {}
        self._by_rank: dict[tuple[str, str], dict[int, list[Any]]] = {}

    def answer(self, question: str) -> Any | None:
        """The data of the answer to a question; None where this run has no answer to it."""
        if question not in self._answers:
            try:
                self._answers[question] = QUESTIONS[question].ask(self.store, ranks=None).data
            except NoAnswerError:
                self._answers[question] = None
        return self._answers[question]

    def entries(self, question: str, part: str, rank: int) -> list[Any]:
        """The entries of one rank in a list of an answer; none where there is no answer."""
        if (question, part) not in self._by_rank:
            index = self._by_rank[question, part] = {}
            for entry in getattr(self.answer(question), part, ()):
                index.setdefault(entry.rank, []).append(entry)
        return self._by_rank[question, part].get(rank, [])

    @cached_property
    def notes(self) -> list[Note]:
        """What was dropped, repaired or missing when the run was read."""
        return self.store.notes()

    @property
    def ranks(self) -> list[int]:
        """Numbers of the ranks that were captured."""
        return sorted(self.store.ranks)

    @cached_property
    def waits_name_peers(self) -> bool:
        """Whether it was recorded for whom a rank waits, so that others can be judged whose files are not here."""
        waits = self.store.scan("transfers").filter(
            (pl.col("kind").cast(pl.String) == "wait") & pl.col("peer").is_not_null()
        )
        return not waits.head(1).collect().is_empty()

    @cached_property
    def times(self) -> dict[int, RankTime]:
        """The mean step of each rank and how it divides; only ranks of which that is known."""
        return rank_times(self.answer("summary"), self.answer("steps"))

    @cached_property
    def computing(self) -> dict[int, Computing]:
        """What each rank computes in its counted steps; only ranks of which that was recorded."""
        every = {rank: computing_of(self.store, time) for rank, time in self.times.items()}
        return {rank: computing for rank, computing in every.items() if computing is not None}

    def judges_arithmetic_of(self, rank: int) -> bool:
        """Whether FLOPs are counted for this rank: of a large job some ranks stand for all, as that takes long."""
        return rank in sorted(self.computing)[: finding_facts().lists.most_ranks_counted]

    def device_kind(self, rank: int) -> str | None:
        """What kind of device a rank computes on."""
        return self._device_kinds.get(rank)

    @cached_property
    def _device_kinds(self) -> dict[int, str | None]:
        rows = self.store.scan("ranks").select("rank", pl.col("device_kind").cast(pl.String)).collect()
        return dict(rows.iter_rows())

    @cached_property
    def delays(self) -> dict[int, list[float]]:
        """Microseconds by which each rank held up its peers, in each of its counted steps; of matched calls only."""
        steps = {rank: set(time.steps) for rank, time in self.times.items()}
        by_rank: dict[int, list[float]] = {}
        for rank, step, delay_ns in delays(self.store).iter_rows():
            if step in steps.get(rank, ()):
                by_rank.setdefault(rank, []).append(delay_ns / 1000)
        return by_rank

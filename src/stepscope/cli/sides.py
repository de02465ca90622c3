"""The two sides of a comparison, as the options of a command choose them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepscope.cli.options import check_ranks, language, ranks_meant
from stepscope.errors import UsageError

if TYPE_CHECKING:
    from stepscope.compare.comparison import Comparison
    from stepscope.run import Run

RankA = Annotated[list[str] | None, typer.Option("--rank-a", metavar="RANKS", callback=check_ranks)]
RankB = Annotated[list[str] | None, typer.Option("--rank-b", metavar="RANKS", callback=check_ranks)]
StepA = Annotated[list[int] | None, typer.Option("--step-a")]
StepB = Annotated[list[int] | None, typer.Option("--step-b")]
WindowA = Annotated[str | None, typer.Option("--window-a")]
WindowB = Annotated[str | None, typer.Option("--window-b")]
Baseline = Annotated[str | None, typer.Option("--baseline", metavar="NAME")]

_Chosen = tuple[Sequence[int] | None, Sequence[int] | None]


@dataclass(frozen=True)
class Sides:
    """What to hold against each other: for A and for B ranks, steps and the window."""

    ranks: tuple[list[str] | None, list[str] | None] = (None, None)
    steps: _Chosen = (None, None)
    windows: tuple[str | None, str | None] = (None, None)
    baseline: str | None = None

    @property
    def differ(self) -> bool:
        """Whether they can be two parts of one run."""
        return any(a != b for a, b in (self.ranks, self.steps, self.windows))

    def load(self, paths: Sequence[Path], source: str | None, store: Path | None) -> list[Run]:
        """The runs in their order. A second window of one path is a run of its own."""
        from stepscope.run import load
        from stepscope.store.baselines import baseline as saved

        runs = []
        if self.baseline is not None:
            before = saved(self.baseline)
            runs.append(load(before.paths, window=before.window, source=source, store=store))
        for number, path in enumerate(paths):
            last = number == len(paths) - 1 and (len(paths) > 1 or self.baseline is not None)
            runs.append(load([path], window=self.windows[last], source=source, store=store))
        if len(runs) == 1 and self.windows[0] != self.windows[1]:
            runs.append(load(list(paths), window=self.windows[1], source=source, store=store))
        return runs

    def compare(self, runs: Sequence[Run], fail_if: Sequence[str] = ()) -> Comparison:
        """What changed from the first run to the last, or between two parts of the only one."""
        from stepscope.report.progress import working

        if len(runs) == 1 and not self.differ:
            raise UsageError("compare_needs_two")
        ranks = (ranks_meant(runs[0], self.ranks[0]), ranks_meant(runs[-1], self.ranks[1]))
        with working(language()):
            return runs[0].compare(*runs[1:], ranks=ranks, steps=self.steps, fail_if=fail_if)

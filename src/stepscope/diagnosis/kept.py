"""A diagnosis is worked out once and kept beside the stored run; it holds while run, rules, facts and texts stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from stepscope.analysis.foundation.kept import kept as kept_content
from stepscope.diagnosis.finding import Diagnosis
from stepscope.store.run_store import RunStore

#: What a diagnosis is made from, beside the run.
_MADE_FROM: Final = ("analysis", "diagnosis", "facts", "texts")


def kept(store: RunStore, work_out: Callable[[RunStore], Diagnosis]) -> Diagnosis:
    """The diagnosis of a run: the kept one if it still holds, else a new one, which is kept where that is possible."""
    return kept_content(store, "diagnosis", Diagnosis, _MADE_FROM, work_out)

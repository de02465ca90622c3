"""A diagnosis is worked out once and kept beside the stored run; it holds while run, rules, facts and texts stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from stepscope.analysis.foundation.kept import kept as kept_content
from stepscope.analysis.foundation.kept import kept_before, path_of
from stepscope.diagnosis.finding import Diagnosis
from stepscope.store.run_store import RunStore

_NAME: Final = "diagnosis"
#: What a diagnosis is made from, beside the run.
_MADE_FROM: Final = ("analysis", "diagnosis", "facts", "texts")


def kept(store: RunStore, work_out: Callable[[RunStore], Diagnosis]) -> Diagnosis:
    """The diagnosis of a run: the kept one if it still holds, else a new one, which is kept where that is possible."""
    return kept_content(store, _NAME, Diagnosis, _MADE_FROM, work_out)


def known_diagnosis(store: RunStore) -> Diagnosis | None:
    """The diagnosis of a run if one was worked out before and still holds."""
    return kept_before(store, _NAME, Diagnosis, _MADE_FROM)


def diagnosis_stamp(store: RunStore) -> str:
    """Changes whenever the kept diagnosis may have: cheap to ask, so that nobody reads the same one again."""
    try:
        state = path_of(store, _NAME).stat()
    except OSError:
        return ""
    plan = "" if store.workspace is None else store.workspace.stamp()
    return f"{state.st_mtime_ns} {state.st_size} {plan}"

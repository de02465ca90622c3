"""From a scenario to a directory: the run in some format, and the truth about it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from stepscope.errors import UnreadableInputError, UsageError
from stepscope.simulate.calibration import planted_faults
from stepscope.simulate.model import Model, Result, build
from stepscope.simulate.outputs.ascend import ascend
from stepscope.simulate.outputs.kineto import kineto
from stepscope.simulate.outputs.ndtimeline import ndtimeline
from stepscope.simulate.outputs.store import write_store
from stepscope.simulate.scenario import Scenario
from stepscope.simulate.truth import FILE, truth

DETAILS: Final = ("full", "steps")


@dataclass(frozen=True)
class Simulated:
    """What was written."""

    directory: Path
    truth: dict[str, Any]


def simulate(scenario: Scenario, out: Path, *, form: str = "store", detail: str = "full") -> Simulated:
    """Run a scenario and write it into a new directory, with ``truth.json`` beside the run."""
    if form not in FORMATS:
        raise UsageError("unknown_target", target=form, targets=", ".join(FORMATS))
    if detail not in DETAILS:
        raise UsageError("unknown_detail", detail=detail, details=", ".join(DETAILS))
    if detail != "full" and form not in ("store", "ndtimeline"):
        raise UsageError("detail_only_in_store", form=form)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError("out_exists", path=str(out))
    faults, look_alikes = planted_faults(scenario)
    model = build(scenario, [*faults, *look_alikes])
    draft = out.with_name(f".{out.name}.part")
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        result = FORMATS[form](model, draft, detail == "steps")
        told = truth(scenario, faults, look_alikes, result)
        (draft / FILE).write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
        if out.exists():
            out.rmdir()
        draft.replace(out)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        raise UnreadableInputError("cannot_write", path=str(out), reason=error.strerror or str(error)) from error
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return Simulated(out, told)


def _store(model: Model, directory: Path, coarse: bool) -> Result:
    return write_store(model, directory, coarse=coarse)[1]


FORMATS: Final[dict[str, Callable[[Model, Path, bool], Result]]] = {
    "store": _store,
    "kineto": kineto,
    "ascend-text": partial(ascend, form="text"),
    "ascend-db": partial(ascend, form="db"),
    "ndtimeline": ndtimeline,
}

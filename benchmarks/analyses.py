"""All analyses of one rank on the large trace, after it was read."""

from __future__ import annotations

from pathlib import Path

from generate_kineto import write_trace
from measure import measure
from results import Row

_QUESTIONS = (
    "summary",
    "steps",
    "operators",
    "launches",
    "critical-path",
    "flops",
    "pipeline",
    "memory",
    "leaks",
)
_SETUP = """
import stepscope
from stepscope.questions import QUESTIONS
run = stepscope.load({path!r}, store={store!r}, progress=False)
for name in {names!r}:
    QUESTIONS[name].type  # imports
"""
_ASK = "for name in {names!r}:\n    run.ask(name)"
# Not by the question, whose answer is kept with the store.
_SETUP_DIAGNOSE = "\nfrom stepscope.diagnosis.diagnose import work_out\n"
_DIAGNOSE = "work_out(run.store)"


def run(data: Path, megabytes: int) -> list[Row]:
    """CPU time of all questions together, and of each."""
    trace = data / f"kineto-{megabytes}.json"
    if not trace.exists():
        write_trace(trace, megabytes=megabytes, gzip=False)
    rows = []
    for what, names in (("all of them", _QUESTIONS), *((name, (name,)) for name in _QUESTIONS)):
        setup = _SETUP.format(path=str(trace), store=str(data / "store-plain"), names=names)
        taken = measure(_ASK.format(names=names), setup, repeat=3)
        budget = "≤ 1.5" if what == "all of them" else ""
        rows.append(Row(f"{what}, {megabytes} MB Kineto", taken.cpu_s, "CPU s", budget, peak_mb=taken.peak_mb))
    setup = _SETUP.format(path=str(trace), store=str(data / "store-plain"), names=_QUESTIONS)
    asked = _ASK.format(names=_QUESTIONS)
    taken = measure(_DIAGNOSE, setup + _SETUP_DIAGNOSE + asked, repeat=3)
    what = f"diagnose after all of them, {megabytes} MB Kineto"
    return [*rows, Row(what, taken.cpu_s, "CPU s", "≤ 1", peak_mb=taken.peak_mb)]

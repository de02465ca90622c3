"""The profiler goes to machines where nothing can be installed: standard library only, Python 3.9, cheap to import."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import stepscope

_PACKAGE = Path(stepscope.__file__).parent
_SHIPPED = [*sorted((_PACKAGE / "profiler").rglob("*.py")), *sorted((_PACKAGE / "layout").rglob("*.py"))]
_FRAMEWORKS = {"torch", "mindspore", "transformers", "lightning", "pytorch_lightning"}
OLD_PYTHON = next(
    (
        str(path)
        for path in [*Path("/root/.pyenv/versions").glob("3.9.*/bin/python"), shutil.which("python3.9")]
        if path is not None
    ),
    None,
)

EVERYTHING = """
import json, sys, time
from stepscope.profiler import (
    AicoreMetrics, ExperimentalConfig, ExportType, HostSystem, Profiler, ProfilerActivity, ProfilerLevel, mstx, profile,
    schedule, tensorboard_trace_handler, _ExperimentalConfig,
)
from stepscope.profiler.profiler import analyse
handler = tensorboard_trace_handler(sys.argv[1])
with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=handler) as prof:
    prof.add_metadata_json("a", "[1]")
    for _ in range(5):
        number = mstx.range_start("range")
        time.sleep(0.001)
        mstx.range_end(number)
        prof.step()
directory = prof.windows[0].directory
assert json.loads((directory / "stepscope.json").read_text())["state"] == "complete"
assert (directory / "STEPSCOPE" / "marks.jsonl").read_text().count("range") == 2
heavy = {"polars", "numpy", "torch", "mindspore", "duckdb", "stepscope.store", "stepscope.readers"} & set(sys.modules)
assert not heavy, heavy
"""


@pytest.mark.parametrize("path", _SHIPPED, ids=lambda path: str(path.relative_to(_PACKAGE)))
def test_a_shipped_file_is_python_39_and_imports_what_is_there(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"), feature_version=(3, 9))
    for node in ast.walk(tree):
        modules = []
        if isinstance(node, ast.Import):
            modules = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        for module in modules:
            top = module.partition(".")[0]
            allowed = top in sys.stdlib_module_names or top in _FRAMEWORKS
            ours = module.startswith(("stepscope.profiler", "stepscope.layout", "stepscope.version"))
            assert allowed or ours, f"{path} imports {module}"


@pytest.mark.skipif(OLD_PYTHON is None, reason="no Python 3.9 on this machine")
def test_it_records_on_python_39(job: Any, tmp_path: Path) -> None:
    assert OLD_PYTHON is not None
    code, _, errors = job.run(EVERYTHING, str(tmp_path / "out"), python=OLD_PYTHON)
    assert code == 0, errors
    assert "stepscope analyse" in errors, "it says where to parse what it cannot parse itself"
    assert stepscope.load(tmp_path / "out").table("steps").collect()["step"].to_list() == [2, 3]


def test_importing_it_is_cheap_and_brings_nothing_heavy() -> None:
    script = (
        "import sys, time; before = set(sys.modules); began = time.process_time(); import stepscope.profiler\n"
        "print((time.process_time() - began) * 1000, *(set(sys.modules) - before))"
    )
    best = 1e9
    for _ in range(3):
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        milliseconds, *modules = result.stdout.split()
        best = min(best, float(milliseconds))
        assert {name.partition(".")[0] for name in modules} <= {"stepscope", *sys.stdlib_module_names}
    assert best < 50

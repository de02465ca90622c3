"""The vendor's own tools open what we record: a real two-rank PyTorch job goes through msprof-analyze."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

import stepscope
from support.limits import HANGS_AFTER_S

_ROOT = Path(__file__).resolve().parents[2]
_TOOL = Path(os.environ.get("STEPSCOPE_MSPROF_ANALYZE", _ROOT / ".venv-vendor" / "bin" / "msprof-analyze"))

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not _TOOL.exists(), reason="needs msprof-analyze in .venv-vendor, which make test installs"),
]


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two capture directories with their documented files."""
    folder = tmp_path_factory.mktemp("job") / "captures"
    script = Path(__file__).with_name("two_ranks.py")
    environment = {**os.environ, "STEPSCOPE_CACHE": str(folder.parent / "cache"), "PYTHONWARNINGS": "ignore"}
    meeting = str(folder.parent / "rendezvous")
    subprocess.run(
        [sys.executable, str(script), str(folder), meeting], check=True, timeout=HANGS_AFTER_S, env=environment
    )
    subprocess.run(
        [sys.executable, "-m", "stepscope", "analyse", str(folder)], check=True, timeout=HANGS_AFTER_S, env=environment
    )
    return folder


def _tool(*arguments: object) -> str:
    done = subprocess.run(
        [str(_TOOL), *map(str, arguments)], capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False, cwd="/"
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "Traceback" not in said
    return said


def _ranks(captures: Path) -> list[Path]:
    found = sorted(captures.glob("*_ascend_pt"), key=lambda path: next(path.glob("profiler_info_*.json")).name)
    assert len(found) == 2
    return found


def test_the_cluster_analysis_shows_our_ranks_and_step_times(captures: Path, tmp_path: Path) -> None:
    _tool("cluster", "-m", "all", "-d", captures, "-o", tmp_path)
    with next(tmp_path.rglob("cluster_step_trace_time.csv")).open(encoding="utf-8") as lines:
        theirs = {(int(row["Index"]), row["Step"]): row for row in csv.DictReader(lines) if row["Type"] == "rank"}
    for rank, directory in enumerate(_ranks(captures)):
        with (directory / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv").open(encoding="utf-8") as lines:
            ours = list(csv.DictReader(lines))
        assert [row["Step"] for row in ours] == ["1", "2", "3"]
        for row in ours:
            for column in ("Computing", "Communication", "Free"):
                assert float(theirs[rank, row["Step"]][column]) == pytest.approx(float(row[column]), abs=0.001)
    run = stepscope.load(captures, progress=False)
    assert run.ranks == [0, 1]


def test_the_advisor_reads_a_rank(captures: Path, tmp_path: Path) -> None:
    _tool("advisor", "all", "-d", _ranks(captures)[0], "-o", tmp_path)
    assert list(tmp_path.rglob("mstt_advisor_*.html"))


def test_two_ranks_can_be_compared(captures: Path, tmp_path: Path) -> None:
    first, second = _ranks(captures)
    said = _tool("compare", "-d", first, "-bp", second, "-o", tmp_path)
    assert "Model Profiling Time Distribution" in said
    assert list(tmp_path.rglob("performance_comparison_result_*.xlsx"))

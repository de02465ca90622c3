"""A command below ``stepscope profile --`` ends as it does alone: its output, its exit code, its signal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.limits import HANGS_AFTER_S

pytest.importorskip("torch")

TRAINING = """
import os, signal, sys, torch
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    loss = model(torch.ones(4, 8)).pow(2).sum()
    loss.backward()
    optimizer.step()
    print(loss.item(), flush=True)
{ending}
"""
#: How the training ends, and where its captures are to go.
CASES = {
    "exception": ("raise ValueError('of the job')", "out"),
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", "out"),
    "a file in the way": ("sys.exit(7)", "train.py"),
    "directory gone": ("import shutil; shutil.rmtree('out'); sys.exit(7)", "out"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_command_ends_as_it_does_alone(case: str, tmp_path: Path) -> None:
    ending, out = CASES[case]
    (tmp_path / "train.py").write_text(TRAINING.format(ending=ending))
    launcher = [sys.executable, "-m", "stepscope", "profile", "--no-parse", "--active", "2", "-o", out, "--"]
    alone, below = _run([], tmp_path), _run(launcher, tmp_path)
    assert (below.returncode, below.stdout) == (alone.returncode, alone.stdout), below.stderr
    assert alone.returncode != 0
    assert ("of the job" in below.stderr) == (case == "exception")


def _run(launcher: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "out").mkdir(exist_ok=True)
    return subprocess.run(
        [*launcher, sys.executable, "train.py"],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )

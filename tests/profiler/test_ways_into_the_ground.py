"""Two ways in which a recording once ended a training with SIGSEGV: Kineto was still on when the interpreter ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

_BEGIN = """
import os, resource, shutil, sys, torch
from stepscope.profiler import profile, schedule
out = sys.argv[1]
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def train():
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
"""
_END = """
print("trained", flush=True)
"""

NO_INODE = """
import errno
original = os.open

def no_inode(path, *how, **further):
    if str(path).endswith(".jsonl"):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))
    return original(path, *how, **further)

os.open = no_inode
prof = profile(output_path=out)
for _ in range(3):
    train()
prof.stop()
"""

IN_WARM_UP = """
with profile(output_path=out, schedule=schedule(wait=0, warmup=1, active=2)) as prof:
    train()
    {strike}
    prof.step()
    train()
"""
STRIKES = {
    "directory gone": "shutil.rmtree(out)",
    "no handle left": "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
}


def test_no_inode_for_a_stream_file(tmp_path: Path, job: Any) -> None:
    code, output, errors = job.run(_BEGIN + NO_INODE + _END, str(tmp_path / "out"))
    assert (code, output) == (0, "trained\n"), errors
    assert errors.count("StepscopeWarning") == 1
    assert "no space left on the disk" in errors


@pytest.mark.parametrize("strike", STRIKES)
def test_in_the_warm_up(strike: str, tmp_path: Path, job: Any) -> None:
    script = _BEGIN + IN_WARM_UP.format(strike=STRIKES[strike]) + _END
    code, output, errors = job.run(script, str(tmp_path / "out"))
    assert (code, output) == (0, "trained\n"), errors
    assert "StepscopeWarning" in errors, "it is said"


def test_the_device_is_in_error_when_the_recording_ends(tmp_path: Path, job: Any) -> None:
    """PyTorch waits for the device before it switches Kineto off; that fails after a kernel's assertion."""
    script = f"""{_BEGIN}
prof = profile(output_path=out)
train()

def failing(*args):
    raise RuntimeError("CUDA error: device-side assert triggered")

torch.autograd.profiler.profile.__exit__ = failing
prof.stop()
{_END}"""
    code, output, errors = job.run(script, str(tmp_path / "out"))
    assert (code, output) == (0, "trained\n"), errors
    assert "device-side assert" in errors

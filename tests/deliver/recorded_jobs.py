"""Real trainings, recorded once for all tests of delivered files: PyTorch and MindSpore, one rank and two."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import stepscope
from stepscope.cli.analyse import parse_window
from support.limits import HANGS_AFTER_S

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
MINDSPORE: Final = Path(os.environ.get("STEPSCOPE_MINDSPORE_PYTHON", _ROOT / ".venv-mindspore" / "bin" / "python"))
FRAMEWORKS: Final = ("torch", "mindspore")
WORLDS: Final = (1, 2)
FORMS: Final = ("text", "db")


@dataclass(frozen=True)
class Recorded:
    """One recorded job: its captures with all their files, and beside them the same in one form only."""

    framework: str
    world: int
    folder: Path

    @property
    def captures(self) -> list[Path]:
        return captures_of(self.folder / "both")

    def form(self, form: str) -> Path:
        """The captures with the text files, or the databases, alone."""
        place = self.folder / form
        if not place.exists():
            shutil.copytree(self.folder / "both", place)
            for file in place.glob("*/ASCEND_PROFILER_OUTPUT/*"):
                if (file.suffix == ".db") != (form == "db"):
                    file.unlink()
        return place

    def run(self) -> stepscope.Run:
        return stepscope.load(self.folder / "both", progress=False, store=self.folder / "store")


def captures_of(folder: Path) -> list[Path]:
    """The windows below, in the order of their ranks."""
    return sorted(folder.glob("*_ascend_*"), key=lambda path: next(path.glob("profiler_info_*.json")).name)


def record(framework: str, world: int, folder: Path) -> Recorded:
    """Train, record, and write the documented files."""
    out = folder / "both"
    out.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    paths = (Path(stepscope.__file__).parents[1], _HERE.parent)
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONWARNINGS": "ignore"}
    if framework == "torch":
        script = [sys.executable, str(_HERE / "torch_training.py"), str(out), str(world), str(folder / "rendezvous")]
        subprocess.run(script, check=True, timeout=HANGS_AFTER_S, env=environment, capture_output=True)
    else:
        _train_mindspore(out, world, environment)
    for window in captures_of(out):
        assert parse_window(window, None, True, folder / "parsing")["error"] is None
    recorded = Recorded(framework, world, folder)
    assert len(recorded.captures) == world
    return recorded


def _train_mindspore(out: Path, world: int, environment: dict[str, str]) -> None:
    script = [str(_HERE / "mindspore_training.py"), str(out), str(world)]
    if world == 1:
        command = [str(MINDSPORE), *script]
        subprocess.run(command, check=True, timeout=HANGS_AFTER_S, env=environment, capture_output=True, cwd=out.parent)
        return
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    logs = out.parent / "logs"
    launcher = [str(MINDSPORE.with_name("msrun")), f"--worker_num={world}", f"--local_worker_num={world}"]
    launcher += [f"--master_port={port}", f"--log_dir={logs}", "--join=True"]
    environment |= {"PATH": f"{MINDSPORE.parent}{os.pathsep}{environment['PATH']}"}
    job = subprocess.Popen(
        [*launcher, *script],
        env=environment,
        cwd=out.parent,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        # Its scheduler needs most of a minute to notice that all workers are done, so the windows tell us.
        until = time.monotonic() + HANGS_AFTER_S
        while sum(map(_is_complete, out.glob("*_ascend_ms"))) < world and time.monotonic() < until:
            assert job.poll() is None or sum(map(_is_complete, out.glob("*_ascend_ms"))) == world, "the job failed"
            time.sleep(0.2)
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def _is_complete(capture: Path) -> bool:
    try:
        content = json.loads((capture / "stepscope.json").read_bytes())
    except (OSError, ValueError):
        return False
    return bool(content.get("state") == "complete") and any(capture.glob("profiler_info_*.json"))

"""Versions of what is installed, and whether they fit together; read from the packages' own descriptions."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Final

from stepscope.doctor.check import Check, Sentence, State
from stepscope.version import __version__

#: What the analysis side needs, as pyproject.toml states it.
_LEAST_PYTHON: Final = (3, 11)
#: Where CANN lies, by what its own script sets.
_CANN_HOMES: Final = ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH")
_CANN_FILES: Final = ("version.info", "compiler/version.info", "ascend_toolkit_install.info", "version.cfg")


def version_checks() -> list[Check]:
    """Python, this package, frameworks and the software below them."""
    return [_python(), _ours(), *_torch(), *_mindspore(), *_optional()]


def installed(package: str) -> str | None:
    """The version of a package; None where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def torch_cuda() -> str | None:
    """The CUDA version that PyTorch was built for, from its own file, without importing it."""
    spec = importlib.util.find_spec("torch") if installed("torch") else None
    if spec is None or spec.origin is None:
        return None
    try:
        content = (Path(spec.origin).parent / "version.py").read_text("utf-8")
    except OSError:
        return None
    stated = re.search(r"^cuda(?::[^=]*)?\s*=\s*['\"]([\d.]+)['\"]", content, re.MULTILINE)
    return stated[1] if stated else None


def cann() -> str | None:
    """The version of CANN, by the files that it installs; None where there is none."""
    for home in filter(None, map(os.environ.get, _CANN_HOMES)):
        for name in _CANN_FILES:
            try:
                content = (Path(home) / name).read_text("utf-8", errors="replace")
            except OSError:
                continue
            if stated := re.search(r"(?im)^\s*(?:version|toolkit_running_version)\s*=\s*\[?\"?([\w.]+)", content):
                return stated[1]
    return None


def _python() -> Check:
    fine = sys.version_info[:2] >= _LEAST_PYTHON
    return Check(
        section="versions",
        name="python",
        state="ok" if fine else "problem",
        value=platform.python_version(),
        remedy=None if fine else Sentence.of("doctor_remedy.python"),
    )


def _ours() -> Check:
    return Check(section="versions", name="stepscope", state="ok", value=__version__)


def _torch() -> list[Check]:
    torch, npu = installed("torch"), installed("torch-npu")
    checks = [Check(section="versions", name="torch", state="ok" if torch else "absent", value=torch)]
    if torch:
        cuda = torch_cuda()
        checks.append(Check(section="versions", name="cuda", state="ok" if cuda else "absent", value=cuda))
    if npu:
        fits = torch is not None and torch.split("+")[0].split(".")[:2] == npu.split(".")[:2]
        remedy = None if fits else Sentence.of("doctor_remedy.torch_npu", npu=npu, torch=torch or "–")
        checks.append(
            Check(section="versions", name="torch_npu", state="ok" if fits else "problem", value=npu, remedy=remedy)
        )
    return checks


def mindspore_wants(check_version: Path) -> list[str]:
    """The versions of CANN that MindSpore was tested with, as its own check at start-up lists them."""
    try:
        content = check_version.read_text("utf-8")
    except OSError:
        return []
    _, _, ascend = content.partition("class AscendEnvChecker")
    listed = re.search(r"self\.version\s*=\s*\[([^\]]*)\]", ascend)
    return re.findall(r"[\d.]+", listed[1]) if listed else []


def _mindspore() -> list[Check]:
    mindspore, software = installed("mindspore"), cann()
    checks = [Check(section="versions", name="mindspore", state="ok" if mindspore else "absent", value=mindspore)]
    remedy = None
    if mindspore and software is None and _has_npu():
        remedy = Sentence.of("doctor_remedy.cann", mindspore=mindspore)
    elif mindspore and software:
        spec = importlib.util.find_spec("mindspore")
        folder = Path(spec.origin).parent if spec is not None and spec.origin else Path()
        wanted = mindspore_wants(folder / "run_check" / "_check_version.py")
        if wanted and not any(f"{software}.".startswith(f"{each}.") for each in wanted):
            names = {"mindspore": mindspore, "wanted": ", ".join(wanted), "software": software}
            remedy = Sentence.of("doctor_remedy.cann_version", **names)
    state: State = "problem" if remedy else "ok" if software else "absent"
    checks.append(Check(section="versions", name="cann", state=state, value=software, remedy=remedy))
    return checks


def _has_npu() -> bool:
    return any(Path("/dev").glob("davinci[0-9]*"))


def _optional() -> list[Check]:
    """Parts that make something faster or larger, and without which all else works."""
    scanner = importlib.util.find_spec("stepscope.readers.trace_json.event_scanner") is not None
    page = (Path(__file__).parents[1] / "server" / "page" / "index.html").is_file()
    dask = installed("distributed")
    return [
        _part("scanner", scanner, None),
        _part("page", page, None),
        _part("dask", dask is not None, dask),
    ]


def _part(name: str, there: bool, value: str | None) -> Check:
    remedy = None if there else Sentence.of(f"doctor_remedy.{name}")
    return Check(section="versions", name=name, state="ok" if there else "absent", value=value, remedy=remedy)

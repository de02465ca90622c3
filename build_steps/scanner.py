"""Compiles the scanner of trace texts when the package is built; without it reading takes about twice as long.

The binary lies beside its source, where an editable install finds it, and is packed into the wheel of this Python.
Nothing is compiled where it is there already and not older than its source. Where it cannot be compiled, the package
is built without it. ``STEPSCOPE_SKIP_COMPILE=1`` builds without it, too, and removes one that was compiled before.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

MODULE = "stepscope.readers.trace_json.event_scanner"
SOURCE = "src/stepscope/readers/trace_json/event_scanner.pyx"
SKIP = "STEPSCOPE_SKIP_COMPILE"
LEFT_OUT = (
    f"Stepscope is built without its compiled scanner because {SKIP} is set: "
    "reading a trace will take about twice as long."
)
FAILED = (
    "Stepscope is built without its compiled scanner because it could not be compiled (the reason is above): reading "
    "a trace will take about twice as long; install a C compiler and the Python headers, and install Stepscope again."
)
# Debug information would make the binary five times as large, and name folders of the machine that built it.
OPTIONS = ["/O2"] if os.name == "nt" else ["-O3", "-g0"]


def add_scanner(root: Path, build_data: dict[str, Any], *, editable: bool) -> None:
    """Compile the scanner if it is missing or old, and add it to what is packed; or say that it is not there."""
    binary = binary_path(root)
    if os.environ.get(SKIP, "0") not in {"", "0"}:
        _leave_out(binary, LEFT_OUT)
    elif not is_fresh(root):
        try:
            compile_scanner(root)
        except Exception as error:  # compilers and their absence fail in many ways; none may stop an installation
            sys.stderr.write(f"{error}\n")
            _leave_out(binary, FAILED)
    if binary.is_file() and not editable:
        # The exact path: binaries for other Pythons may lie beside it, ignored by git as this one is.
        build_data["artifacts"].append(f"/{binary.relative_to(root).as_posix()}")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


def binary_path(root: Path) -> Path:
    """Where the running Python looks for the compiled scanner."""
    return (root / SOURCE).with_suffix(str(sysconfig.get_config_var("EXT_SUFFIX")))


def is_fresh(root: Path) -> bool:
    """Whether the scanner need not be compiled."""
    binary = binary_path(root)
    if not binary.is_file():
        return False
    built = binary.stat().st_mtime_ns
    sources = (root / SOURCE, *(root / SOURCE).parent.glob("*.pxd"), Path(__file__))
    return all(file.stat().st_mtime_ns <= built for file in sources)


def compile_scanner(root: Path) -> None:
    """Compile in a temporary folder, then put the binary beside its source."""
    setuptools = importlib.import_module("setuptools")
    cython = importlib.import_module("Cython.Build")
    # The C text names its source relative to the current folder, so that each machine builds the same.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(root):
        extension = setuptools.Extension(MODULE, [SOURCE], extra_compile_args=OPTIONS)
        modules = cython.cythonize([extension], include_path=["src"], build_dir=folder, quiet=True)
        command = setuptools.Distribution({"name": "stepscope", "ext_modules": modules}).get_command_obj("build_ext")
        command.build_lib = command.build_temp = folder
        command.ensure_finalized()
        command.run()
        _put(Path(command.get_ext_fullpath(MODULE)), binary_path(root))


def _put(built: Path, binary: Path) -> None:
    """Replace the binary in one go: a process may have the old one loaded, or another build write it as well."""
    arriving = binary.with_name(f"arriving-{os.getpid()}-{binary.name}")
    try:
        shutil.copy(built, arriving)
        arriving.replace(binary)
    finally:
        arriving.unlink(missing_ok=True)


def _leave_out(binary: Path, reason: str) -> None:
    """Remove what an earlier build left, since it would be used though its source has changed."""
    binary.unlink(missing_ok=True)
    sys.stderr.write(f"{reason}\n")

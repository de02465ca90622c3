"""Versions of what we depend on: the lock of a development environment, and the lowest that the package allows.

``python build_steps/versions.py lock`` asks pip what it would install now and prints each with its hash, without any
address. ``python build_steps/versions.py lowest`` prints the lower bound of each dependency as the version to install.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def project() -> dict[str, Any]:
    """The ``[project]`` table."""
    table: dict[str, Any] = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    return table


def lowest(requirements: list[str]) -> list[str]:
    """Each requirement at its lower bound.

    >>> lowest(["polars>=2.1,<3", "mypy==2.4.1"])
    ['polars==2.1', 'mypy==2.4.1']
    """
    return [re.sub(r"[>=]=([^,]+).*", r"==\1", requirement) for requirement in requirements]


def locked(report: dict[str, Any]) -> list[str]:
    """Lines of a lock from pip's report on what it would install."""
    lines = []
    for each in sorted(report["install"], key=lambda one: str(one["metadata"]["name"]).lower()):
        about, archive = each["metadata"], each["download_info"]["archive_info"]
        lines.append(f"{about['name']}=={about['version']} --hash=sha256:{archive['hashes']['sha256']}")
    return lines


def main(what: str) -> None:
    """Print the lock or the lowest versions."""
    declared = project()
    needed, testing = declared["dependencies"], declared["optional-dependencies"]["test"]
    if what == "lowest":
        print("\n".join(lowest(needed)))
        return
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        subprocess.run([*pip, "--only-binary", ":all:", "--report", report, *needed, *testing], check=True)
        print("# Made by `make lock`: Linux x86-64, CPython 3.11. Torch is not in it: its file differs by machine.")
        print("\n".join(locked(json.loads(report.read_text("utf-8")))))


if __name__ == "__main__":
    main(sys.argv[1])

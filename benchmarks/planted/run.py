"""Runs small trainings with a planted fault, and their twins without it; measures both and records both.

    python benchmarks/planted/run.py --device cuda|cpu --out DIR [--only FAULT …]

Needs PyTorch alone. DIR gets a folder for each fault: ``fault.tar.xz`` and ``none.tar.xz``, two captures of some steps,
and ``truth.json``, the mean period of both without a profiler. ``score.py`` holds a diagnosis to them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
#: What the programs import: each other, the profiler, and what makes recordings small and neutral.
IMPORTED = (HERE.parent, ROOT / "src", ROOT / "tests" / "recordings")
#: No program needs nearly as long; one that hangs must not take the others with it.
LONGEST_S = 180


def main() -> int:
    sys.path[:0] = [str(path) for path in IMPORTED]
    from planted.faults import FAULTS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=sorted(FAULTS), metavar="FAULT", help=", ".join(FAULTS))
    asked = parser.parse_args()
    names = [name for name in asked.only or FAULTS if asked.device in FAULTS[name].devices]
    failed = [name for name in names if not measured(name, asked.device, asked.out.absolute() / name)]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def measured(name: str, device: str, out: Path) -> bool:
    """One fault, in a process of its own; whether that went well."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, IMPORTED)), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "planted.measure", name, "--device", device, "--out", str(out)]
    began = time.monotonic()
    try:
        code = subprocess.run(command, env=environment, timeout=LONGEST_S, check=False).returncode
    except subprocess.TimeoutExpired:
        code = None
    print(f"  {time.monotonic() - began:.0f} s" + ("" if code == 0 else f", failed ({code})"), flush=True)
    return code == 0


if __name__ == "__main__":
    sys.exit(main())

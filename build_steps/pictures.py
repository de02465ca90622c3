"""``make pictures``: the pictures of the README, of recordings in ``tests/data`` and of a simulated cluster.

The pages are those of this checkout; the captures may be shown to anybody.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from stepscope.server.library import run_id
from stepscope.simulate.scenario_files import load_scenario, resized
from stepscope.simulate.writing import simulate

_ROOT = Path(__file__).resolve().parents[1]
_IMAGES = _ROOT / "docs" / "images"
_RECORDINGS = _ROOT / "tests" / "data"
#: What a README may carry; a larger picture has too much on it.
_MOST_BYTES = 300_000
_SIZE = {"width": 1280, "height": 800}
_PATIENCE_S = 300


def main() -> None:
    """Read the captures, serve their pages, and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--node", default="node", help="program that runs web/scripts/pictures.mjs")
    parser.add_argument("--out", type=Path, default=_IMAGES, help="folder for the pictures")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="stepscope-pictures-") as folder:
        captures = _captures(Path(folder))
        server = _server(list(captures.values()), Path(folder) / "store")
        try:
            assert server.stdout is not None
            address = _document(server)["data"]["address"]
            runs = {name: run_id(path, None) for name, path in captures.items()}
            for run in runs.values():
                _wait_for_verdict(address, run)
            shots = Path(folder) / "shots.json"
            shots.write_text(json.dumps(_shots(runs)))
            script = ["scripts/pictures.mjs", address, str(shots), str(options.out.resolve())]
            subprocess.run([options.node, *script], cwd=_ROOT / "web", check=True)
        finally:
            server.terminate()
            server.wait()
    large = [path.name for path in options.out.glob("*.png") if path.stat().st_size > _MOST_BYTES]
    if large:
        sys.exit(f"Larger than {_MOST_BYTES} bytes: {', '.join(large)}")


def _captures(folder: Path) -> dict[str, Path]:
    """Four processes on one H200 of which one is slow, a transformer on an H200 twice, and 256 ranks on paper."""
    cluster = folder / "256-ranks"
    simulate(resized(load_scenario("slow-rank"), ranks=256, steps=4, seed=None), cluster, detail="steps")
    slow = folder / "ddp-4-ranks"
    with tarfile.open(_RECORDINGS / "four_ranks_cuda_slow_compute.tar.xz") as archive:
        archive.extractall(slow, filter="data")
    captures = {"slow": slow, "cluster": cluster}
    for name in ("fp32", "bf16"):
        captures[name] = folder / f"transformer-{name}.json.gz"
        shutil.copy(_RECORDINGS / f"pair_{name}.json.gz", captures[name])
    return {name: path.resolve() for name, path in captures.items()}


def _server(captures: list[Path], store: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "stepscope", "view", *map(str, captures), "--store", str(store)]
    options = ["--json", "--port", "0", "--no-token", "--no-browser"]
    return subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def _document(server: subprocess.Popen[str]) -> dict[str, Any]:
    """The JSON document that the server prints once it serves."""
    assert server.stdout is not None
    lines = []
    for line in server.stdout:
        lines.append(line)
        if line.rstrip() == "}":
            break
    document: dict[str, Any] = json.loads("".join(lines))
    return document


def _wait_for_verdict(address: str, run: str) -> None:
    """So that no picture is taken of a page that still waits for its findings."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            with urllib.request.urlopen(f"{address}api/run/{run}/diagnose", timeout=_PATIENCE_S) as reply:
                reply.read()
            return
        except urllib.error.HTTPError:  # the capture is still being read
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


def _shots(runs: dict[str, str]) -> list[dict[str, Any]]:
    pages = {
        "overview": (f"/run/{runs['slow']}/overview", "main h1, main h2"),
        "timeline": (f"/run/{runs['fp32']}/timeline", "timeline"),
        "cluster": (f"/run/{runs['cluster']}/cluster", "main canvas, main svg"),
        "compare": (f"/run/{runs['fp32']}/compare?vs={runs['bf16']}", "main table"),
    }
    return [
        {
            "name": f"{page}-{language}",
            "hash": target,
            "language": language,
            "theme": "light",
            "ready": ready,
            **_SIZE,
        }
        for page, (target, ready) in pages.items()
        for language in ("en", "zh")
    ]


if __name__ == "__main__":
    main()

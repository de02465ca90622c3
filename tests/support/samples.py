"""Real captures, which lie beside the repository on some machines and are no part of it; each is read once."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import stepscope
from stepscope.run import Run

SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
#: Small real captures of our own, which are part of it.
RECORDINGS = Path(__file__).resolve().parents[1] / "data"
KINETO = SHARED_DATA / "kineto"

#: Every Kineto sample, by its name inside the directory.
KINETO_NAMES = sorted(str(path.relative_to(KINETO)) for path in KINETO.rglob("*.json*")) or ["none"]


@cache
def open_sample(path: Path, window: str | None = None) -> Run:
    """A capture that many tests look at, from a store of the whole test run: to be looked at, never to be changed."""
    return stepscope.load(path, window=window, store=_store(), progress=False)


@cache
def _store() -> Path:
    store = Path(tempfile.mkdtemp(prefix="stepscope-samples-"))
    atexit.register(shutil.rmtree, store, ignore_errors=True)
    return store

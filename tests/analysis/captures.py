"""Real captures, each read once for all tests of a run."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest

import stepscope
from stepscope.store.run_store import RunStore
from support.samples import SHARED_DATA


def opened(capture: str, window: str | None = None) -> RunStore:
    """The store of a capture below the shared data; skips the test where there is none."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"no real captures in {SHARED_DATA}")
    return _read(capture, window)


@cache
def _read(capture: str, window: str | None) -> RunStore:
    return stepscope.load(SHARED_DATA / capture, window=window, store=_place(), progress=False).store


@cache
def _place() -> Path:
    place = Path(tempfile.mkdtemp(prefix="stepscope-captures-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place

"""Real captures, each read once for all tests of a run."""

from __future__ import annotations

import pytest

from stepscope.store.run_store import RunStore
from support.samples import SHARED_DATA, open_sample


def opened(capture: str, window: str | None = None) -> RunStore:
    """The store of a capture below the shared data; skips the test where there is none."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"no real captures in {SHARED_DATA}")
    return open_sample(SHARED_DATA / capture, window).store

"""Captures by strangers, which lie beside the repository on some machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.run import Run
from support.samples import SHARED_DATA, open_sample

OUTSIDE = SHARED_DATA / "outside"


def outside(name: str) -> Path:
    """One of them by its name; the test is skipped where they are absent."""
    path = OUTSIDE / name
    if not path.exists():
        pytest.skip(f"no {path}")
    return path


def opened(name: str) -> Run:
    return open_sample(outside(name))

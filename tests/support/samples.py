"""Real captures, which lie beside the repository on some machines and are no part of it."""

from __future__ import annotations

from pathlib import Path

SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
KINETO = SHARED_DATA / "kineto"

#: Every Kineto sample, by its name inside the directory.
KINETO_NAMES = sorted(str(path.relative_to(KINETO)) for path in KINETO.rglob("*.json*")) or ["none"]

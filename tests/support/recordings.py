"""The recordings of ``tests/data``, and the clocks that the recorded loops kept by themselves."""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "data"


@dataclass(frozen=True)
class ClockedStep:
    """A step by the loop's own clock."""

    step: int
    began_ns: int
    ended_ns: int
    got_batch_ns: int | None

    @property
    def took_ns(self) -> int:
        return self.ended_ns - self.began_ns

    @property
    def waited_ns(self) -> int:
        """Time until the batch was there; 0 for a loop without one."""
        return 0 if self.got_batch_ns is None else self.got_batch_ns - self.began_ns


@cache
def facts_of(name: str) -> dict[str, Any]:
    """What the recording script wrote down beside its recording."""
    content: dict[str, Any] = json.loads((DATA / f"{name}.clock.json").read_text())
    return content


def recorded_steps(name: str) -> list[ClockedStep]:
    """The steps that were recorded, of all that the loop timed."""
    facts = facts_of(name)
    return [
        ClockedStep(step["step"], step["began_ns"], step["ended_ns"], step.get("got_batch_ns"))
        for step in facts["steps"]
        if step["step"] in facts["recorded"]
    ]


def capture_of(name: str, folder: Path) -> Path:
    """The recording as a user would have it: a trace as it is, a capture directory unpacked into a folder."""
    trace = DATA / f"{name}.json.gz"
    if trace.exists():
        return trace
    (packed,) = DATA.glob(f"{name}.tar.?z")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    return folder

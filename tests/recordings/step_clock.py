"""What a recorded loop says of itself: the independent truth that a recording is held to."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any


class StepClock:
    """Notes the system's clock as each step begins, has its batch and ends; written as JSON beside the recording."""

    def __init__(self, **facts: Any) -> None:
        self.facts = facts
        self.steps: list[dict[str, int]] = []

    def begin(self, step: int) -> None:
        self.steps.append({"step": step, "began_ns": time.time_ns()})

    def got_batch(self) -> None:
        self.steps[-1]["got_batch_ns"] = time.time_ns()

    def end(self, **facts: int) -> None:
        self.steps[-1].update(ended_ns=time.time_ns(), **facts)

    def write(self, path: Path) -> None:
        path.write_text(json.dumps({**self.facts, "steps": self.steps}, indent=1) + "\n")

"""Small runs with launches: a loop thread, streams, and calls that launch onto them. Times are in microseconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.stores import make_store
from stepscope.store.run_store import RunStore

US = 1000
LOOP, BACKWARD, HELPER, STREAM, OTHER_STREAM = range(5)
_TRACKS = {
    LOOP: ("host", "thread 1 (python)", "1"),
    BACKWARD: ("host", "thread 2 (pt_autograd_0)", "2"),
    HELPER: ("host", "thread 3", "3"),
    STREAM: ("stream", "stream 7", "7"),
    OTHER_STREAM: ("stream", "stream 8", "8"),
}


class Case:
    """Collects slices and links; ids are given in order."""

    def __init__(self) -> None:
        self.slices: list[dict[str, Any]] = []
        self.links: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []

    def slice(self, name: str, kind: str, start: float, end: float, track: int = LOOP, **more: Any) -> int:
        """A slice; its row is the number of slices of the track around it so far."""
        begin, lasts = round(start * US), round((end - start) * US)
        around = [
            other
            for other in self.slices
            if other["track"] == track
            and other["start_ns"] <= begin
            and other["start_ns"] + other["dur_ns"] >= begin + lasts
        ]
        row = {"slice": len(self.slices), "name": name, "kind": kind, "start_ns": begin, "dur_ns": lasts}
        self.slices.append(row | {"track": track, "row": len(around), "step": None} | more)
        return len(self.slices) - 1

    def step(self, number: int, start: float, end: float) -> None:
        """A step with its mark on the loop thread. Make it before what lies inside."""
        self.steps.append({"step": number, "host_start_ns": round(start * US), "host_end_ns": round(end * US)})
        self.slice(f"ProfilerStep#{number}", "step", start, end, step=number)

    def link(self, kind: str, source: int, target: int) -> None:
        """An arrow."""
        self.links.append({"kind": kind, "from_slice": source, "to_slice": target})

    def launch(
        self,
        call: tuple[float, float],
        *kernels: tuple[float, float],
        step: int = 1,
        thread: int = LOOP,
        stream: int = STREAM,
        name: str = "kernel",
        kind: str = "kernel",
        call_name: str = "cudaLaunchKernel",
    ) -> list[int]:
        """A call and what it launched; ids of the call and of the slices."""
        ids = [self.slice(call_name, "runtime", *call, track=thread, step=step)]
        for kernel in kernels:
            ids.append(self.slice(name, kind, *kernel, track=stream, step=step))
            self.link("launch", ids[0], ids[-1])
        return ids

    def store(self, directory: Path, **rank: Any) -> RunStore:
        """Written into a store, ordered as readers order slices; ``rank`` is what is known of its only rank."""
        ordered = sorted(self.slices, key=lambda row: (row["track"], row["row"], row["start_ns"]))
        tracks = [
            {"track": number, "kind": kind, "name": name, "thread": thread, "order": number}
            for number, (kind, name, thread) in _TRACKS.items()
        ]
        tables: dict[str, Any] = {"slices": ordered, "links": self.links, "steps": self.steps, "tracks": tracks}
        return make_store(directory, **tables, **({"ranks": [{"rank": 0, **rank}]} if rank else {}))

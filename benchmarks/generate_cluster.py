"""An Ascend capture of many ranks as cluster tools read it: what the profiler says of communication and steps, as text.

    python benchmarks/generate_cluster.py DIRECTORY --ranks 256 --calls 1000

Every rank has ``communication.json``, ``communication_matrix.json`` and ``step_trace_time.csv``. All ranks meet in
every call; one of them computes longer, so that the others wait.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

STEPS = 5
GROUP = "17522688603477080586"
TRANSPORTS = ("RDMA", "HCCS", "PCIE", "SDMA", "SIO")
T0_US = 1_767_225_600_000_000.0
SLOW_RANK = 3
COLUMNS = (
    "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
    "Communication(Not Overlapped and Exclude Receive),Preparing"
)


def write_cluster(directory: Path, ranks: int, calls: int) -> Path:
    """Write the capture unless it is there."""
    target = directory / f"cluster-{ranks}x{calls}"
    if not target.exists():
        for rank in range(ranks):
            _write_rank(target / f"host{rank // 8:03d}_{4100 + rank}_20260101000000000_ascend_pt", rank, ranks, calls)
    return target


def _write_rank(capture: Path, rank: int, ranks: int, calls: int) -> None:
    output = capture / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (capture / f"profiler_info_{rank}.json").write_text(json.dumps({"rank_id": rank}), "utf-8")
    noise = random.Random(rank)
    communication: dict[str, Any] = {}
    matrix: dict[str, Any] = {}
    lines = [COLUMNS]
    for step in range(1, STEPS + 1):
        own = {
            f"hcom_allReduce__{GROUP[-3:]}_{step * calls + number}_1@{GROUP}": _call(rank, step, number, calls, noise)
            for number in range(calls // STEPS)
        }
        communication[f"step{step}"] = {"p2p": {}, "collective": own}
        link = {"Transport Type": "HCCS", "Transit Size(MB)": 33.5, "Transit Time(ms)": 1.7, "Bandwidth(GB/s)": 19.7}
        links = {f"{rank}-{(rank + 1) % ranks}": link, f"{rank}-{rank}": link | {"Transport Type": "LOCAL"}}
        kinds = ("top1", "middle", "bottom1", "bottom2", "bottom3", "total")
        matrix[f"step{step}"] = {"p2p": {}, "collective": {f"allreduce-{kind}@{GROUP}": links for kind in kinds}}
        lines.append(f"{step},9000.1,1500.2,300.3,1800.5,100.1,10600.4,0,1500.2,50.5")
    (output / "communication.json").write_text(json.dumps(communication), "utf-8")
    (output / "communication_matrix.json").write_text(json.dumps(matrix), "utf-8")
    (output / "step_trace_time.csv").write_text("\n".join(lines) + "\n", "utf-8")


def _call(rank: int, step: int, number: int, calls: int, noise: random.Random) -> dict[str, Any]:
    wait = 0.0 if rank == SLOW_RANK else 0.8 + noise.random() / 10
    transit = 1.7 + noise.random() / 100
    start = T0_US + (step * calls + number) * 5000.0 - wait * 1000
    band: dict[str, Any] = {"Transit Size(MB)": 0, "Transit Time(ms)": 0, "Bandwidth(GB/s)": 0, "Large Packet Ratio": 0}
    bands: dict[str, dict[str, Any]] = {name: band | {"Size Distribution": {}} for name in TRANSPORTS}
    moved: dict[str, Any] = {
        "Transit Size(MB)": 33.5,
        "Transit Time(ms)": transit,
        "Bandwidth(GB/s)": round(33.5 / transit, 4),
    }
    bands["HCCS"] = bands["HCCS"] | moved | {"Large Packet Ratio": 1.0, "Size Distribution": {"33.5": [1, transit]}}
    bands["SDMA"] = bands["SDMA"] | moved
    return {
        "Communication Time Info": {
            "Start Timestamp(us)": round(start, 3),
            "Elapse Time(ms)": wait + transit,
            "Transit Time(ms)": transit,
            "Wait Time(ms)": wait,
            "Synchronization Time(ms)": wait,
            "Idle Time(ms)": 0.0,
            "Wait Time Ratio": round(wait / (wait + transit), 4),
            "Synchronization Time Ratio": round(wait / (wait + transit), 4),
        },
        "Communication Bandwidth Info": bands,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--calls", type=int, default=1000)
    options = parser.parse_args()
    print(write_cluster(options.directory, options.ranks, options.calls))


if __name__ == "__main__":
    main()

"""Every page of a job of 1,024 ranks, and the Overview of a 500 MB trace, opened in a real Chromium.

All answers were asked for before, by an earlier visit: what is measured is a page that somebody comes back to.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import simulated_jobs
from generate_kineto import write_trace
from page_server import address_of, page_script, serving
from results import Row

RANKS: Final = 1024
MEGABYTES: Final = 500
_ROWS: Final = "main [role=grid] [role=row] [role=gridcell]"
#: What each page is opened for, as a CSS selector; ``timeline`` is one that has drawn all that it shows.
CONTENT: Final = {
    "overview": "main section[data-severity]",
    "advice": "main [data-finding]",
    "timeline": "timeline",
    "steps": _ROWS,
    "operators": _ROWS,
    "cluster": "main .heat canvas",
    "communication": _ROWS,
    "sql": "main textarea",
}


@dataclass(frozen=True)
class Visit:
    """One page as it was measured; for each of its requests the server's CPU milliseconds and the answer's bytes."""

    name: str
    measured: dict[str, Any]
    costs: list[float]
    sizes: list[int]

    @property
    def cpu_ms(self) -> float:
        """What server and page worked."""
        return sum(self.costs) + float(self.measured["task_cpu_ms"])

    @property
    def kilobytes(self) -> float:
        return sum(self.sizes) / 1000


def run(data: Path, ranks: int = RANKS, megabytes: int = MEGABYTES) -> list[Row]:
    """Rows of all pages; job and trace are made in ``data`` if they are not there."""
    rows = []
    for visit in visits(data, ranks, megabytes):
        name, measured = visit.name, visit.measured
        rows.append(Row(f"{name}: until its content is there", measured["content_ms"] / 1000, "s", "≤ 1"))
        rows.append(Row(f"{name}: server and page", visit.cpu_ms, "CPU ms"))
        rows.append(Row(f"{name}: of it the server", sum(visit.costs), "CPU ms"))
        rows.append(Row(f"{name}: answers", visit.kilobytes, "kB"))
        if name.startswith("overview") and "MB" in name:
            rows.append(Row(f"{name}: first paint", measured["paint_ms"] / 1000, "s", "≤ 1"))
    return rows


def visits(data: Path, ranks: int = RANKS, megabytes: int = MEGABYTES) -> Iterator[Visit]:
    """Each page, one after the other."""
    job, trace = simulated_jobs.simulated_job(data, ranks), data / f"kineto-{megabytes}.json"
    if not trace.exists():
        write_trace(trace, megabytes=megabytes, gzip=False)
    wanted = [
        {"name": f"{page} of {ranks:,} ranks", "hash": address_of(job, page), "ready": ready}
        for page, ready in CONTENT.items()
    ]
    wanted.append(
        {
            "name": f"overview of {megabytes} MB",
            "hash": address_of(trace, "overview"),
            "ready": CONTENT["overview"],
        }
    )
    with serving([job, trace], data / "store-pages") as server, tempfile.TemporaryDirectory() as folder:
        for capture in (job, trace):
            server.ask(f"api{address_of(capture, 'diagnose')}")
        plan = Path(folder) / "visits.json"
        plan.write_text(json.dumps(wanted), "utf-8")
        for measured in page_script("measure-pages.mjs", server.address, str(plan)):
            asked = [server.cost_of(each) for each in measured["requests"]]
            yield Visit(measured["name"], measured, [cost for cost, _ in asked], [size for _, size in asked])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=RANKS)
    parser.add_argument("--megabytes", type=int, default=MEGABYTES)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parent / "data")
    options = parser.parse_args()
    for visit in visits(options.data, options.ranks, options.megabytes):
        _print(visit)


def _print(visit: Visit) -> None:
    """All that was measured, request by request."""
    seen = visit.measured
    print(
        f"{visit.name}: content {seen['content_ms']:.0f} ms (first visit {seen['first_content_ms']:.0f}), "
        f"settled {seen['settled_ms']:.0f} ms, paint {seen['paint_ms'] or 0:.0f} ms; CPU ms: server "
        f"{sum(visit.costs):.0f}, page {seen['task_cpu_ms']:.0f} (script {seen['script_cpu_ms']:.0f}, layout "
        f"{seen['layout_cpu_ms']:.0f}); {visit.kilobytes:,.0f} kB, {seen['nodes']} nodes {seen['faults'] or ''}"
    )
    for request, cost, size in zip(seen["requests"], visit.costs, visit.sizes, strict=True):
        path = request["url"].split("/api/", 1)[1]
        print(f"    {cost:8.1f} CPU ms {size / 1000:10,.1f} kB  {path[:110]}", flush=True)


if __name__ == "__main__":
    main()

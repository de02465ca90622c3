"""``make bench``: all measurements, recorded in RESULTS.md."""

from __future__ import annotations

import argparse
from pathlib import Path

import analyses
import capture
import cluster
import comparison
import ingest
import pages
import peers
import results
import simulated_jobs
import timeline_frames
import timeline_tiles

HERE = Path(__file__).resolve().parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500, help="size of the large trace")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="where traces are made")
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    sections = {
        "Reading traces": ingest.run(options.data, options.megabytes),
        "Analyses of one rank": analyses.run(options.data, options.megabytes),
        "Beside other tools": peers.run(options.data),
        "Comparing": comparison.run(options.data),
        "Many ranks": [*cluster.run(options.data), *simulated_jobs.run(options.data)],
        "Timeline": [*timeline_tiles.run(options.data), *timeline_frames.run(options.data)],
        "Pages": pages.run(options.data, megabytes=options.megabytes),
        "Recording": capture.run(),
    }
    results.write(HERE / "RESULTS.md", sections)
    print((HERE / "RESULTS.md").read_text("utf-8"))


if __name__ == "__main__":
    main()

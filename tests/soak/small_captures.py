"""One small capture of each format, as files that a soak can damage."""

from __future__ import annotations

import gzip
from pathlib import Path

from readers import (
    ascend_builder,
    ascend_db_builder,
    memory_snapshot_builder,
    mindinsight_builder,
    msmemscope_builder,
    test_cluster_analysis,
    test_mindspore_cpu,
)
from support.traces import LAYOUTS, document, training_steps, write


def small_captures(root: Path) -> list[Path]:
    """Files and directories, each a capture of its own."""
    events = document(training_steps(3), distributedInfo={"rank": 0, "world_size": 2})
    traces = [write(root / f"kineto{number}.json", layout(events)) for number, layout in enumerate(LAYOUTS.values())]
    zipped = root / "kineto.json.gz"
    zipped.write_bytes(gzip.compress(LAYOUTS["layout 1"](events).encode(), 1, mtime=0))
    chrome = write(root / "chrome.json", [{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}] * 20)
    rows = [msmemscope_builder.malloc(n, n * 10, n * 4096, 512) for n in range(1, 9)]
    rows += [msmemscope_builder.free(n + 8, 100 + n * 10, n * 4096, 512) for n in range(1, 9)]
    allocator = memory_snapshot_builder.Allocator(1)
    allocator.run(60)
    snapshot = {"segments": [], "device_traces": [allocator.trace]}
    (root / "snapshot").mkdir()
    return [
        *traces,
        zipped,
        chrome,
        ascend_builder.write_rank(root / "ascend_text", ascend_builder.full_capture()),
        ascend_db_builder.rank_directory(root / "ascend_db", ascend_db_builder.small_run()),
        mindinsight_builder.write(root / "mindinsight", mindinsight_builder.contents()),
        mindinsight_builder.write(root / "mindinsight_gpu", mindinsight_builder.gpu_contents()),
        test_mindspore_cpu.write_run(root / "mindspore_cpu"),
        test_cluster_analysis.text_files(root / "cluster_analysis"),
        msmemscope_builder.write_csv(root / "msmemscope" / "memscope_dump_1.csv", rows),
        memory_snapshot_builder.write(root / "snapshot", snapshot),
    ]

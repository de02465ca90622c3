"""One small capture of each format, as files that a soak can damage."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

from readers import (
    ascend_builder,
    ascend_db_builder,
    memory_snapshot_builder,
    minddata_files,
    mindinsight_builder,
    msmemscope_builder,
    test_cluster_analysis,
    test_mindspore_cpu,
    test_trace_and_snapshot,
)
from readers.ndtimeline.test_records import write_records
from readers.nsight.test_export import write_export
from readers.rocprof.test_records import write_document, write_tables
from support.samples import RECORDINGS
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
    allocator.recording = True
    allocator.run(60)
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
        msmemscope_builder.write_db(root / "msmemscope" / "memscope_dump_1.db", rows),
        memory_snapshot_builder.write(root / "snapshot", allocator.snapshot()),
        _trace_and_snapshot(root / "trace_and_snapshot"),
        minddata_files.write_all(root / "minddata"),
        _expert_load(root / "expert_load"),
        write_export(root / "nsight.sqlite"),
        write_tables(root / "rocprof"),
        write_document(root / "rocprof_results.json"),
        write_records(_folder(root / "ndtimeline")).parent,
        _recording(root / "stepscope_torch", "gpu_stepscope"),
        _recording(root / "stepscope_mindspore", "mindspore_cpu"),
    ]


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def _trace_and_snapshot(folder: Path) -> Path:
    folder.mkdir()
    test_trace_and_snapshot.trace(folder / "rank0_trace.json")
    test_trace_and_snapshot.snapshot(folder / "rank0_snapshot.pickle")
    return folder


def _expert_load(folder: Path) -> Path:
    folder.mkdir()
    (folder / "model_gen_config.json").write_text('{"num_moe_layers": 3, "num_of_experts": 4}')
    for phase in ("prefill", "decode"):
        (folder / f"{phase}_0.csv").write_text("12,40,7,99\n1000,2,30,4\n5,6,70,8\n")
    return folder


def _recording(folder: Path, name: str) -> Path:
    """What the profiler itself wrote."""
    with tarfile.open(RECORDINGS / f"{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder

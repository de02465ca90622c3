"""Real MindSpore data sets with one slow stage each, recorded by MindSpore. Run by an interpreter that has it:

``python mindspore_datasets.py DIRECTORY`` writes MindSpore's files, and its own summary of them, to DIRECTORY/CASE.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

SAMPLES, BATCH = 640, 16
SLEEP_SECONDS = {"read": 0.002, "map": 0.002, "batch": 0.03, "train": 0.03}
CASES = tuple(SLEEP_SECONDS)


def record(directory: Path, slow: str) -> None:
    """Iterate over a data set whose stage ``slow`` takes its time."""
    import mindspore.dataset as ds
    import numpy as np
    from mindspore import _c_dataengine as engine

    def pause(stage: str) -> None:
        if stage == slow:
            time.sleep(SLEEP_SECONDS[stage])

    class Source:
        def __len__(self) -> int:
            return SAMPLES

        def __getitem__(self, number: int) -> Any:
            pause("read")
            return np.full((16, 16), number, np.float32)

    def change(sample: Any) -> Any:
        pause("map")
        return sample

    def gather(samples: Any, _: Any) -> Any:
        pause("batch")
        return (samples,)

    ds.config.set_monitor_sampling_interval(10)
    manager = engine.GlobalContext.profiling_manager()
    manager.init()
    manager.start()
    rows = ds.GeneratorDataset(Source(), ["x"], shuffle=False, num_parallel_workers=1)
    rows = rows.map(change, ["x"], num_parallel_workers=1)
    rows = rows.batch(BATCH, num_parallel_workers=1, per_batch_map=gather)
    for _ in rows.create_tuple_iterator(num_epochs=1):
        time.sleep(0.005)
        pause("train")
    manager.stop()
    directory.mkdir(parents=True)
    manager.save(str(directory))
    summarise(directory)


def summarise(directory: Path) -> None:
    """What MindSpore's own analysis makes of the files."""
    from mindspore.profiler.analysis.parser.ms_minddata_parser import MindDataParser
    from mindspore.profiler.analysis.viewer.ms_minddata_viewer import MindDataPiplineSummaryViewer

    place = {
        "activities": [],
        "device_id": "0",
        "framework_path": str(directory),
        "ascend_ms_dir": str(directory.parent / "logs"),
        "ascend_profiler_output_path": str(directory),
    }
    MindDataPiplineSummaryViewer(**place).save(MindDataParser(**place)._parse())


if __name__ == "__main__":
    for case in CASES:
        record(Path(sys.argv[1]) / case, case)

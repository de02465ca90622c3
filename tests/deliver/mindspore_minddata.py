"""Runs under an interpreter with MindSpore: its own parser and viewers of the data pipeline, on FRAMEWORK files.

mindspore_minddata.py CAPTURE OUT [CAPTURE OUT …] writes minddata_pipeline_raw_0.csv and …_summary_0.json into each OUT.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    analysis = "mindspore.profiler.analysis"
    log: Any = importlib.import_module("mindspore.profiler.common.log")
    parser: Any = importlib.import_module(f"{analysis}.parser.ms_minddata_parser")
    viewer: Any = importlib.import_module(f"{analysis}.viewer.ms_minddata_viewer")
    log.ProfilerLogger.init(sys.argv[2])
    for capture, out in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        Path(out).mkdir(exist_ok=True)
        given = {"rank_id": 0, "device_id": 0, "activities": ["CPU"], "framework_path": f"{capture}/FRAMEWORK"}
        given |= {"ascend_ms_dir": out, "ascend_profiler_output_path": out}
        for show in (viewer.MindDataPipelineRawViewer, viewer.MindDataPiplineSummaryViewer):
            show(**given).save(parser.MindDataParser(**given)._parse({}))  # a viewer changes what it is given


if __name__ == "__main__":
    main()

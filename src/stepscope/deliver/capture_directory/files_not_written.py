"""Documented files that a window lacks, each with its reason: a switch, the device, or what the job did not do."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final, NamedTuple

from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.layout import names

#: Files that need a switch, in the words of code; a file whose switch was on lacks something else.
_SWITCH_OF_FILE: Final = {
    "operator_details.csv": "record_shapes",
    "memory_record.csv": "profile_memory",
    "operator_memory.csv": "profile_memory",
}
#: The input pipeline is recorded with the host, whatever ``data_process`` says.
_OF_THE_PIPELINE: Final = (
    "dataset.csv",
    "minddata_pipeline_raw_{rank}.csv",
    "minddata_pipeline_summary_{rank}.json",
    "minddata_pipeline_summary_{rank}.csv",
)
_HOST_ACTIVITY: Final = "CPU"
#: Files of the NPU's own counters; they are missed only where their switch was on.
_OF_AN_NPU: Final = {
    "npu_module_mem.csv": "profile_memory",
    "l2_cache.csv": "l2_cache",
    "nic.csv": "sys_io",
    "roce.csv": "sys_io",
    "pcie.csv": "sys_interconnection",
    "hccs.csv": "sys_interconnection",
    "hbm.csv": "hbm_ddr",
}
_OF_SEVERAL_RANKS: Final = ("communication.json", "communication_matrix.json")
_ALWAYS: Final = ("trace_view.json", "kernel_details.csv", "step_trace_time.csv", "op_statistic.csv")
#: What no switch brings, where it was on.
_REASONS: Final = {
    "operator_details.csv": "no_shapes",
    "operator_memory.csv": "no_blocks",
    "communication_matrix.json": "no_links",
    "api_statistic.csv": "no_runtime",
}


class MissingFile(NamedTuple):
    """A file and the key of its reason in the texts; ``needs`` is the switch that it lacks."""

    file: str
    reason: str
    needs: str = ""


def files_not_written(data: RankData, written: Collection[str]) -> list[MissingFile]:
    """Files that the documents list for such a capture and that are not in ``written``."""
    if "text" not in (data.switches.get("export_type") or ["text"]):
        return []
    wanted = [*_ALWAYS, "api_statistic.csv", *_OF_SEVERAL_RANKS, *_SWITCH_OF_FILE, *_OF_THE_PIPELINE]
    missing = [
        MissingFile(file, *_reason(data, pattern))
        for pattern in wanted
        if (file := pattern.format(rank=data.rank)) not in written
    ]
    npu = [MissingFile(file, "npu") for file, switch in _OF_AN_NPU.items() if data.switches.get(switch)]
    return missing + [one for one in npu if one.file not in written]


def _reason(data: RankData, pattern: str) -> tuple[str, str]:
    switch = _SWITCH_OF_FILE.get(pattern)
    if switch and not data.switches.get(switch):
        return "switch", f"{switch}=True"
    if pattern in _OF_SEVERAL_RANKS and (data.about.get("world_size") or 1) < 2:
        return "one_process", ""
    if pattern in _OF_THE_PIPELINE:
        asked = data.switches.get("activities") or [_HOST_ACTIVITY]
        return ("no_pipeline", "") if _HOST_ACTIVITY in asked else ("switch", f"ProfilerActivity.{_HOST_ACTIVITY}")
    return _REASONS.get(pattern, "nothing_recorded"), ""


def state(directory: Path, missing: list[MissingFile]) -> None:
    """Write them into the window's description, where there is one; a reader tells them from there."""
    path = directory / names.CAPTURE_FILE
    try:
        content: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return
    listed = [{name: value for name, value in one._asdict().items() if value} for one in missing]
    if isinstance(content, dict) and content.get(names.NOT_WRITTEN) != listed:
        content[names.NOT_WRITTEN] = listed
        draft = path.with_name(f".{path.name}.part")
        try:
            draft.write_text(json.dumps(content, ensure_ascii=False, indent=4), encoding="utf-8")
            draft.chmod(path.stat().st_mode)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)

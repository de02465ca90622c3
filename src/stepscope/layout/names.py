"""What the files and folders of a capture directory are called."""

from __future__ import annotations

import re
import time
from typing import NamedTuple

OUTPUT_FOLDER = "ASCEND_PROFILER_OUTPUT"
FRAMEWORK_FOLDER = "FRAMEWORK"
LOG_FOLDER = "logs"
METADATA_FILE = "profiler_metadata.json"

#: Ours, beside the documented ones: what the window is, and the data as they were recorded.
CAPTURE_FILE = "stepscope.json"
CAPTURE_SCHEMA = "stepscope.capture/1"
#: Its list of documented files that could not be written, each with its reason.
NOT_WRITTEN = "files_not_written"
RAW_FOLDER = "STEPSCOPE"
TRACE_FILE = "trace.json"

#: Line files of the raw folder: one JSON object per line, appended as things happen.
STEPS_FILE = "steps.jsonl"
MARKS_FILE = "marks.jsonl"
CPU_FILE = "cpu.jsonl"
MEMORY_FILE = "memory.jsonl"
LOADERS_FILE = "loaders.jsonl"
BATCHES_FILE = "batches.jsonl"
STAGES_FILE = "stages.jsonl"

#: The end of a directory's name tells the framework; vendor tools know these two and no other.
SUFFIXES: dict[str, str] = {"torch": "ascend_pt", "plain": "ascend_pt", "mindspore": "ascend_ms"}

#: Groups of PyTorch are called 0, 1, …; a hash has some 20 digits.
_RANKS_DIGITS = 12

_DIRECTORY = re.compile(r"(?P<worker>.+)_(?P<timestamp>\d{14,20})_(?P<suffix>ascend_(?:pt|ms))")


class CaptureName(NamedTuple):
    """The parts of a capture directory's name."""

    worker: str
    timestamp: str
    suffix: str


def timestamp(time_ns: int) -> str:
    """A moment as in directory names: UTC to the millisecond.

    >>> timestamp(1_700_000_000_123_456_789)
    '20231114221320123'
    """
    seconds, rest = divmod(time_ns, 10**9)
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(seconds)) + f"{rest // 10**6:03d}"


def capture_name(worker: str, stamp: str, backend: str) -> str:
    """The name of one window's directory.

    >>> capture_name("host_77", "20231114221320123", "torch")
    'host_77_20231114221320123_ascend_pt'
    """
    return f"{worker}_{stamp}_{SUFFIXES[backend]}"


def parse_capture_name(name: str) -> CaptureName | None:
    """The parts of a capture directory's name, None if it is not one.

    >>> parse_capture_name("host_77_20231114221320123_ascend_ms")
    CaptureName(worker='host_77', timestamp='20231114221320123', suffix='ascend_ms')
    """
    match = _DIRECTORY.fullmatch(name)
    return CaptureName(**match.groupdict()) if match else None


def dynamic_name(rank: int, start: int, stop: int) -> str:
    """The folder of one window of dynamic profiling.

    >>> dynamic_name(0, 2, 5)
    'rank0_start2_stop5'
    """
    return f"rank{rank}_start{start}_stop{stop}"


def info_file(rank: int) -> str:
    """The file that says with which parameters a rank was recorded.

    >>> info_file(3)
    'profiler_info_3.json'
    """
    return f"profiler_info_{rank}.json"


def database_file(backend: str, rank: int) -> str:
    """The unified database of a rank.

    >>> database_file("mindspore", 0)
    'ascend_mindspore_profiler_0.db'
    """
    return f"ascend_{'mindspore' if backend == 'mindspore' else 'pytorch'}_profiler_{rank}.db"


def communication_database_file(backend: str) -> str:
    """The database of communication and, for PyTorch, of the step trace.

    >>> communication_database_file("mindspore"), communication_database_file("torch")
    ('communication_analyzer.db', 'analysis.db')
    """
    return "communication_analyzer.db" if backend == "mindspore" else "analysis.db"


def group_hash(group: str) -> str:
    """The number by which calls name their group; vendor tools work it out anew to find the group's members.

    >>> group_hash("mccl_world_group"), group_hash("17522688603477080586")
    ('8746799418296304986', '17522688603477080586')
    """
    if group.isdecimal() and len(group) > _RANKS_DIGITS:
        return group  # it is one
    high = low = 0
    for letter in group:
        high = (high * 29 + ord(letter)) % 2**32
        low = (low * 131 + ord(letter)) % 2**32
    return str(high << 32 | low)


def log_file(stamp: str, pid: int) -> str:
    """The log of a window."""
    return f"profiler_{stamp[:14]}_{pid}.log"

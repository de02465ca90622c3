"""Notes on what a directory lacks, with the switch that records it, and on what it holds without our reading it."""

from __future__ import annotations

import re
from typing import Final

from stepscope.facts.mindinsight import mindinsight_facts
from stepscope.readers.discovery.source import Source
from stepscope.readers.mindinsight.identity import RankIdentity
from stepscope.readers.mindinsight.layout import RankFiles, named
from stepscope.store.notes import Notes

_RAW: Final = re.compile(r"PROF_\d+_.*")
_MOST_NAMES: Final = 20


def note_what_is_missing(source: Source, files: RankFiles, identity: RankIdentity, notes: Notes) -> None:
    """Note absent data, raw captures beside the files, and files of unknown names."""
    switches = mindinsight_facts().switches
    wanted = {
        "step_trace": {"step_trace", "gpu_step_trace"},
        "pipeline": {"pipeline"},
        "memory": {"object:memory", "memory_plan", "operator_memory", "cpu_memory"},
    }
    if (identity.world or 1) > 1:
        wanted["communication"] = {"communication"}
    for what, subjects in wanted.items():
        if not subjects & files.subjects:
            notes.add("mindinsight_data_missing", file=source.path.name, what=what, switch=switches[what])
    if not source.path.is_dir():
        return
    entries = sorted(entry.name for entry in source.path.iterdir())
    if any(_RAW.fullmatch(name) for name in entries):
        notes.add("raw_capture_not_read", file=source.path.name)
    unknown = [name for name in entries if (source.path / name).is_file() and named(name) is None]
    if unknown and identity.device == identity.first_device(entries):
        listed = ", ".join(unknown[:_MOST_NAMES]) + (", …" if len(unknown) > _MOST_NAMES else "")
        notes.add("mindinsight_files_not_read", file=source.path.name, count=len(unknown), names=listed)

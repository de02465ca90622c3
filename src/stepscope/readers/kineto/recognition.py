"""Recognises the files of the PyTorch profiler, and which rank and capture they are of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from stepscope.readers.discovery.source import Source, named_rank
from stepscope.readers.files import repair
from stepscope.readers.files.raw_bytes import HEAD_BYTES, tail
from stepscope.readers.files.raw_bytes import head as beginning
from stepscope.readers.kineto.categories import kind_of_category
from stepscope.readers.kineto.identity import integer
from stepscope.readers.trace_json.trace_text import looks_like_trace, value_end

_METADATA: Final = re.compile(
    rb'"(?:schemaVersion|deviceProperties|distributedInfo|baseTimeNanoseconds|cupti_version)"\s*:'
)
_OTHER_WRITER: Final = b'"viztracer_metadata"'  # states its clock as PyTorch does
_CATEGORY: Final = re.compile(rb'"cat"\s*:\s*"(\w+)"')
_DISTRIBUTED: Final = re.compile(rb'"distributedInfo"\s*:\s*(?=\{)')
_LONGEST_HEADER_BYTES: Final = 16 << 20
_WORKER: Final = re.compile(r"^(.*?)(?:\.(\d{1,20}))?\.pt\.trace\.json(?:\.gz)?$")


def claim_file(path: Path, head: bytes) -> Source | None:
    """The file as a source if the PyTorch profiler wrote it, with the rank that it states or that its name tells."""
    if not looks_like_trace(path, head):
        return None
    if len(head) >= HEAD_BYTES and not (b'"traceEvents"' in head and _CATEGORY.search(head)):
        head = beginning(path, _LONGEST_HEADER_BYTES)  # metadata of a large job, or names of many threads, come first
    if not _looks_like(head):
        return None
    rank, world = _stated(head)
    if rank is None and b'"distributedInfo"' not in head:
        rank, world = _stated(tail(path))  # older writers put it behind the events
    worker = _WORKER.match(path.name)
    return Source(
        path,
        "kineto",
        rank if rank is not None else named_rank(path),
        (path,),
        world_size=world,
        worker=worker[1] if worker else None,
        span=int(worker[2]) if worker and worker[2] else None,
    )


def _looks_like(head: bytes) -> bool:
    """Whether a Chrome trace comes from the PyTorch profiler: by its metadata, else by categories only it has."""
    if _METADATA.search(head) and _OTHER_WRITER not in head:
        return True
    categories = (category.decode() for category in _CATEGORY.findall(head))
    return any(kind_of_category(category) is not None and category.lower() != "python" for category in categories)


def _stated(text: bytes) -> tuple[int | None, int | None]:
    """Rank and world size that a piece of the file states."""
    match = _DISTRIBUTED.search(text)
    end = value_end(text, match.end()) if match else None
    info = repair.lenient(text[match.end() : end]) if match and end is not None else None
    if not isinstance(info, dict):
        return None, None
    rank, world = integer(info.get("rank"), 31), integer(info.get("world_size"), 31)
    return (rank if rank is not None and rank >= 0 else None), world

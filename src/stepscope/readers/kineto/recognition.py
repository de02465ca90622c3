"""Recognises the files of the PyTorch profiler, and which rank and capture they are of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from stepscope.readers.kineto.categories import kind_of_category
from stepscope.readers.raw_bytes import tail
from stepscope.readers.source import Source, named_rank
from stepscope.readers.trace_text import looks_like_trace

_METADATA: Final = re.compile(
    rb'"(?:schemaVersion|deviceProperties|distributedInfo|baseTimeNanoseconds|cupti_version)"\s*:'
)
_CATEGORY: Final = re.compile(rb'"cat"\s*:\s*"(\w+)"')
_RANK: Final = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}]*?"rank"\s*:\s*(\d{1,9})')
_WORLD: Final = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}]*?"world_size"\s*:\s*(\d{1,9})')
_WORKER: Final = re.compile(r"^(.*?)(?:\.(\d{1,18}))?\.pt\.trace\.json(?:\.gz)?$")


def claim_file(path: Path, head: bytes) -> Source | None:
    """The file as a source if the PyTorch profiler wrote it, with the rank that it states or that its name tells."""
    if not looks_like_trace(head) or not _looks_like(head):
        return None
    rank, world = _number(_RANK, head), _number(_WORLD, head)
    if rank is None and b'"distributedInfo"' not in head:
        last = tail(path)  # older writers put it behind the events
        rank, world = _number(_RANK, last), _number(_WORLD, last)
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
    if _METADATA.search(head):
        return True
    found = (category.decode() for category in _CATEGORY.findall(head))
    return any(kind_of_category(category) is not None and category.lower() != "python" for category in found)


def _number(pattern: re.Pattern[bytes], text: bytes) -> int | None:
    found = pattern.search(text)
    return int(found[1]) if found else None

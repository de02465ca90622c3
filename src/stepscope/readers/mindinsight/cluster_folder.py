"""The cluster layout of release 1.3: ``cluster_profiler/<host>/profiler`` beside a rank table ``hccl.json``.

Built from documentation, not from a sample. There the number in a file's name is the device on its host; the rank
table says which rank that is. ``host_ips_mapping.txt`` joins the table's addresses with the names of the host
folders.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

from stepscope.readers.discovery.source import Source
from stepscope.readers.files import repair
from stepscope.readers.files.json_values import as_list
from stepscope.readers.files.numbers import integer
from stepscope.readers.mindinsight.layout import sources

FOLDER: Final = "cluster_profiler"
_RANK_TABLE: Final = "hccl.json"
_ADDRESSES: Final = "host_ips_mapping.txt"
_MOST_BYTES: Final = 16 << 20


def cluster_sources(directory: Path) -> list[Source]:
    """One source per device of each host; without a rank table they are numbered host by host."""
    by_host = []
    for host in _folders(directory / FOLDER):
        for profiler in _folders(host):
            if profiler.name.startswith("profiler"):
                names = [entry.name for entry in profiler.iterdir() if entry.is_file()]
                by_host += [(host.name, source) for source in sources(profiler, names)]
    ranks = _rank_table(directory)
    given = [ranks.get((host, source.rank or 0)) for host, source in by_host]
    if None in given or len(set(given)) != len(given):
        given = list(range(len(by_host)))
    world = max([len(by_host), *(source.world_size or 0 for _, source in by_host)])
    return [replace(source, rank=rank, world_size=world) for rank, (_, source) in zip(given, by_host, strict=True)]


def host_of(source: Source) -> str | None:
    """The host that the path of a source tells."""
    host = source.path.parent
    return host.name if host.parent.name == FOLDER else None


def _rank_table(directory: Path) -> dict[tuple[str, int], int]:
    """Ranks by host folder and device."""
    table = repair.lenient(_content(directory / _RANK_TABLE))
    aliases = dict(
        words
        for line in _content(directory / _ADDRESSES).decode("utf-8", "replace").splitlines()
        if len(words := line.split()) == 2
    )
    ranks: dict[tuple[str, int], int] = {}
    for server in as_list(table.get("server_list") if isinstance(table, dict) else None):
        address = str(server.get("server_id")) if isinstance(server, dict) else ""
        for device in as_list(server.get("device") if isinstance(server, dict) else None):
            number, rank = (
                (integer(device.get(key)) for key in ("device_id", "rank_id"))
                if isinstance(device, dict)
                else (None, None)
            )
            if number is not None and rank is not None:
                ranks[aliases.get(address, address), number] = rank
    return ranks


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return b""


def _folders(directory: Path) -> list[Path]:
    try:
        return [
            directory / entry.name
            for entry in sorted(os.scandir(directory), key=lambda entry: entry.name)
            if entry.is_dir()
        ]
    except OSError:
        return []

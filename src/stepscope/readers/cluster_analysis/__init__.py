"""What msprof-analyze made of a whole cluster (``cluster_analysis_output``), for when the ranks' own files are gone.

One directory is one source, although its rows belong to many ranks: every frame carries its ranks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stepscope.errors import UnreadableInputError
from stepscope.readers.cluster_analysis.database import is_cluster_database, read_database
from stepscope.readers.cluster_analysis.rows import Cluster
from stepscope.readers.cluster_analysis.text_files import GROUPS, READERS
from stepscope.readers.cluster_analysis.write import write
from stepscope.readers.discovery.source import Source
from stepscope.readers.files.reading import Reading
from stepscope.readers.sqlite.opening import LOG_ENDING, MAGIC, files_of, open_database
from stepscope.store.notes import Notes

__all__ = ["claim", "claim_file", "read"]

READER: Final = "cluster_analysis"

_FOLDER: Final = "cluster_analysis_output"
_DATABASE: Final = "cluster_analysis.db"


def claim(directory: Path, folders: list[str], files: list[str]) -> list[Source] | None:
    """The directory as one source, if it holds results of a cluster analysis."""
    results = [directory / name for name in (_DATABASE, *READERS) if name in files]
    if not results or (directory.name != _FOLDER and [file.name for file in results] == [GROUPS]):
        return None
    return [_source(directory, results)]


def claim_file(path: Path, head: bytes) -> Source | None:
    """One of the files, named by a user; a database also by its tables."""
    if path.name in (_DATABASE, *READERS):
        return _source(path, [path])
    if not head.startswith(MAGIC):
        return None
    try:
        with open_database(path, Notes(), with_log=False) as database:
            return _source(path, [path]) if is_cluster_database(database) else None
    except UnreadableInputError:
        return None


def read(reading: Reading) -> None:
    """Read the results into ``collectives``, ``transfers``, ``reported`` and ``groups``, with a row per rank."""
    texts = {path.name: path for path in reading.source.files if path.name in READERS}
    databases = [path for path in reading.source.files if path.name not in texts and not path.name.endswith(LOG_ENDING)]
    cluster = Cluster()
    if databases:
        for name in texts:
            reading.notes.add("cluster_file_repeats", file=name, other=databases[0].name)
        with open_database(databases[0], reading.notes) as database:
            read_database(database, cluster, reading.notes)
    else:
        for name, reader in READERS.items():
            if name in texts:
                reader(texts[name], cluster, reading.unobserved())  # all is told at the end
            elif reading.source.path.is_dir():
                reading.notes.add("cluster_file_missing", file=name)
    if not cluster.known_ranks():
        raise UnreadableInputError("cluster_without_data", path=str(reading.source.path))
    write(cluster, str(reading.source.path), reading.out)
    reading.took(reading.source.bytes)


def _source(path: Path, results: list[Path]) -> Source:
    own = [file for each in results for file in ((each,) if each.name in READERS else files_of(each))]
    form = "text" if results[0].name in READERS else "db"
    return Source(path, READER, None, tuple(own), form=form, completeness=len(results))

"""Which directories and files are Ascend captures in SQLite form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stepscope.errors import UnreadableInputError
from stepscope.readers.ascend.device_tasks import rank_number
from stepscope.readers.ascend.identity import rank_columns
from stepscope.readers.ascend.rank_directory import (
    DEVICE_INFO,
    METADATA_FILE,
    OUTPUT_FOLDER,
    describe,
    is_rank_directory,
    read_json,
)
from stepscope.readers.ascend_db.identity import metadata_of
from stepscope.readers.ascend_db.tables import TELLING, completeness
from stepscope.readers.discovery.source import WITH_TIMELINE, Source
from stepscope.readers.files.folders import files_in
from stepscope.readers.sqlite.database import Database
from stepscope.readers.sqlite.opening import MAGIC, files_of, open_database
from stepscope.store.notes import Notes

READER: Final = "ascend_db"

_UNIFIED: Final = re.compile(r"ascend_(?P<framework>pytorch|mindspore)_profiler(?:_(?P<rank>\d{1,9}))?\.db")
_MSPROF: Final = re.compile(r"msprof_(?P<span>\d{14,20})\.db")
_MONITOR: Final = re.compile(r"msmonitor_(?P<worker>\d{1,10})_(?P<span>\d{14,20})_(?P<rank>-1|\d{1,9})\.db")
_SUMMARIES: Final = ("analysis.db", "communication_analyzer.db")
_ANALYZE: Final = "analyze"
_PROF: Final = "PROF_"
_LESS_IF_DAMAGED: Final = 8  # a whole text of a few files is better than half a database of many tables


@dataclass(frozen=True)
class _Look:
    """What a short look into a database tells."""

    rank: int | None = None
    world_size: int | None = None
    completeness: int = 0
    is_ours: bool = False


def claim(directory: Path, folders: list[str], files: list[str]) -> list[Source] | None:
    """The ranks that this directory holds in SQLite form: one per database, or one that has only summaries."""
    ranked = directory.name == OUTPUT_FOLDER or is_rank_directory(directory, folders, files)
    profs = [directory / folder for folder in sorted(folders) if folder.startswith(_PROF)]
    whole = ranked or directory.name.startswith(_PROF)
    if not whole and (profs or any(is_rank_directory(Path(folder), (), ()) for folder in folders)):
        return None  # loose files beside rank directories; those come first
    wanted = (name for name in sorted(files) if is_database_name(name) or is_summary_name(name))
    listed = [file for name in wanted if (file := directory / name).is_file()]
    listed += files_in(directory / OUTPUT_FOLDER) if OUTPUT_FOLDER in folders else []
    databases = _databases(listed)
    if not databases and ranked:
        listed += [file for prof in profs for file in files_in(prof)]
        databases = _databases(listed)
    if not databases and not whole:
        return None
    holders = [directory, *profs] if whole else [directory]
    results = listed + [file for holder in holders for file in files_in(holder / _ANALYZE)]
    summaries = [file for file in results if is_summary_name(file.name)]
    home = directory.parent if directory.name == OUTPUT_FOLDER else directory
    names = [file.name for file in files_in(home)] if home != directory else files
    infos = [file for prof in ([] if ranked else [directory]) for file in _device_infos(prof)]
    if len(databases) > 1:
        # A summary does not say whose it is.
        return [_source(file, file, [], home if ranked else None, names) for file in databases]
    if not databases and not summaries:
        return None
    main = databases[0] if databases else None
    path = directory if whole or main is None else main
    return [_source(path, main, summaries[:1], home if ranked else None, names, infos)]


def claim_file(path: Path, head: bytes) -> Source | None:
    """A database that a user named, whatever it is called, if its tables are a profiler's."""
    named = is_database_name(path.name) or is_summary_name(path.name)
    if not named and not (head.startswith(MAGIC) and _look(path).is_ours):
        return None
    home = path.parent.parent if path.parent.name == OUTPUT_FOLDER else path.parent
    names = [file.name for file in files_in(home)]
    known = home if is_rank_directory(home, [path.parent.name], names) else None
    if is_summary_name(path.name):
        return _source(path, None, [path], known, names)
    beside = files_in(path.parent)
    alone = is_database_name(path.name) and len(_databases(beside)) == 1
    return _source(path, path, [file for file in beside if is_summary_name(file.name) and alone][:1], known, names)


def unread_neighbours(source: Source) -> Iterator[tuple[Path, str]]:
    """Files beside those of a source that belong to the capture but are not read, with the note's code."""
    for folder in sorted({file.parent for file in source.files if file.suffix == ".db"}):
        for file in files_in(folder):
            if file in source.files or file.suffix != ".db":
                continue
            if is_summary_name(file.name):
                yield file, "db_summary_of_unknown_rank"
            elif _MSPROF.fullmatch(file.name):
                yield file, "db_export_older"


def _databases(files: Iterable[Path]) -> list[Path]:
    """Databases of ranks; of several exports of msprof in one folder the newest."""
    databases = [file for file in files if is_database_name(file.name)]
    newest = {file.parent: file for file in sorted(databases) if _MSPROF.fullmatch(file.name)}
    return [file for file in databases if not _MSPROF.fullmatch(file.name) or newest[file.parent] == file]


def _device_infos(prof: Path) -> list[Path]:
    """What msprof noted about the devices of a capture."""
    try:
        devices = sorted(folder for folder in prof.iterdir() if folder.name.startswith("device_") and folder.is_dir())
    except OSError:
        return []
    return [file for folder in devices for file in files_in(folder) if DEVICE_INFO.fullmatch(file.name)]


def is_database_name(name: str) -> bool:
    """Whether a file is, by its name, a database of one rank.

    >>> [is_database_name(name) for name in ("ascend_pytorch_profiler_3.db", "msprof_20250109123456.db", "analysis.db")]
    [True, True, False]
    """
    return any(pattern.fullmatch(name) for pattern in (_UNIFIED, _MSPROF, _MONITOR))


def is_summary_name(name: str) -> bool:
    """Whether a file is, by its name, a database of the vendor's own results."""
    return name in _SUMMARIES


def is_identity_name(name: str) -> bool:
    """Whether a file is one of those that say who recorded a capture."""
    return name.endswith(".json") or DEVICE_INFO.fullmatch(name) is not None


def framework_in_name(name: str) -> str | None:
    """pytorch or mindspore, where a database's name tells."""
    match = _UNIFIED.fullmatch(name)
    return match["framework"] if match else None


def _source(
    path: Path,
    database: Path | None,
    summaries: list[Path],
    home: Path | None,
    names: Iterable[str],
    infos: Sequence[Path] = (),
) -> Source:
    described = describe(home, names) if home is not None else None
    identity = described.identity_files() if described is not None else ()
    metadata = next((read_json(file) for file in identity if file.name == METADATA_FILE), {})
    info = next((read_json(file) for file in identity if file.name != METADATA_FILE), {})
    look = _look(database or summaries[0], info, metadata)
    in_name = _numbers_in_name(database.name if database is not None else "")
    stated = described.rank if described is not None else None
    several = database is not None and path == database and in_name.get("rank") is not None
    ranks = (in_name.get("rank"), stated) if several else (stated, in_name.get("rank"))
    recorded = rank_number(read_json(infos[0]).get("rank_id")) if len(infos) == 1 else None
    rank = next((number for number in (*ranks, recorded, look.rank) if number is not None), None)
    own = [file for main in (*([database] if database else []), *summaries) for file in files_of(main)]
    return Source(
        path,
        READER,
        rank,
        (*own, *identity, *infos),
        look.world_size,
        described.worker if described is not None and described.worker else in_name.get("worker"),
        described.span if described is not None and described.span else in_name.get("span"),
        "db",
        _completeness(look, database, summaries),
    )


def _completeness(look: _Look, database: Path | None, summaries: Sequence[Path]) -> int:
    """Tables that hold anything; results without the events that they were made from are little."""
    if database is None:
        return look.completeness
    return (
        look.completeness
        + sum(_look(file).completeness for file in summaries)
        + WITH_TIMELINE * bool(look.completeness)
    )


def _look(path: Path, info: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None) -> _Look:
    """Rank, world size and completeness; nothing at all where it cannot be read, which reading will explain."""
    try:
        with open_database(path, Notes(), with_log=False) as database:
            columns = rank_columns(info or {}, metadata_of(database, metadata or {}))
            filled = completeness(database) // (_LESS_IF_DAMAGED if database.is_damaged else 1)
            return _Look(_mapped_rank(database), columns["world_size"], filled, bool(TELLING & database.tables.keys()))
    except UnreadableInputError:
        return _Look()


def _mapped_rank(database: Database) -> int | None:
    ranks = database.frame("RANK_DEVICE_MAP", ["rankId"])["rankId"].drop_nulls().to_list()
    return ranks[0] if len(ranks) == 1 and 0 <= ranks[0] < 1 << 31 else None


def _numbers_in_name(name: str) -> dict[str, Any]:
    """Rank, worker and span, as far as the name of a database tells them."""
    for pattern in (_UNIFIED, _MSPROF, _MONITOR):
        if match := pattern.fullmatch(name):
            parts = match.groupdict()
            rank, span = parts.get("rank"), parts.get("span")
            return {
                "rank": int(rank) if rank and rank != "-1" else None,
                "worker": parts.get("worker"),
                "span": int(span) if span else None,
            }
    return {}

"""Which files of a MindInsight profiler directory are about what, and whose they are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from stepscope.facts.mindinsight import mindinsight_facts
from stepscope.readers import minddata
from stepscope.readers.discovery.source import Source
from stepscope.readers.files import repair
from stepscope.readers.files.numbers import integer

_MOST_INFO_BYTES: Final = 1 << 20


@dataclass(frozen=True)
class Named:
    """What a file's name tells."""

    subject: str
    rank: int | None
    mode: str | None = None
    stages: int | None = None
    world: int | None = None


@cache
def named(name: str) -> Named | None:
    """The subject of a file, ``pipeline`` for those of the input pipeline; None for files of others.

    >>> named("hccl_raw_3.csv")
    Named(subject='communication', rank=3, mode=None, stages=None, world=None)
    >>> named("ascend_cluster_analyse_pipeline-parallel_2_4_1.csv").stages
    2
    """
    plain = name.removesuffix(".gz")
    for subject, pattern in _patterns().items():
        if match := pattern.fullmatch(plain):
            groups = match.groupdict()
            return Named(
                subject,
                _number(groups.get("rank")),
                groups.get("mode"),
                _number(groups.get("stages")),
                _number(groups.get("world")),
            )
    if minddata.subject_of(name) is not None:
        return Named("pipeline", minddata.rank_of(name))
    return None


def sources(directory: Path, files: Iterable[str]) -> list[Source]:
    """One source per rank; files that name no rank belong to all."""
    known = [(name, file_name) for name in sorted(files) if (file_name := named(name)) is not None]
    ranks = sorted({file_name.rank for _, file_name in known if file_name.rank is not None})
    worlds = [file_name.world for _, file_name in known if file_name.world]
    worlds += [
        size for name, file_name in known if file_name.subject == "info" and (size := _stated_world(directory / name))
    ]
    return [
        Source(
            directory,
            "mindinsight",
            rank,
            tuple(directory / name for name, file_name in known if file_name.rank in (rank, None)),
            max(worlds, default=None),
        )
        for rank in ranks
    ]


def device_kind(files: Iterable[Path]) -> str | None:
    """npu, gpu or cpu, by the files that only one of them has."""
    names = [file.name for file in files]
    kinds = mindinsight_facts().devices.items()
    return next((kind for kind, pattern in kinds if any(re.fullmatch(pattern, name) for name in names)), None)


class RankFiles:
    """The files of one rank by subject."""

    def __init__(self, files: Iterable[Path]) -> None:
        self.all = tuple(files)
        self._by_subject: dict[str, list[Path]] = {}
        for file in self.all:
            if (file_name := named(file.name)) is not None:
                self._by_subject.setdefault(file_name.subject, []).append(file)

    def first(self, subject: str) -> Path | None:
        """The file of a subject; that of the rank itself, where an unnumbered one lies beside it."""
        files = self._by_subject.get(subject, [])
        return max(files, key=lambda file: (say := named(file.name)) is not None and say.rank is not None, default=None)

    def every(self, subject: str) -> list[Path]:
        return self._by_subject.get(subject, [])

    @property
    def subjects(self) -> set[str]:
        return set(self._by_subject)

    def unknown(self) -> list[str]:
        return [file.name for file in self.all if named(file.name) is None]


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    table = mindinsight_facts()
    patterns = dict(table.files)
    patterns |= {f"table:{subject}": entry.file for subject, entry in table.summaries.items()}
    patterns |= {f"object:{subject}": pattern for subject, pattern in table.objects.items()}
    return {subject: re.compile(pattern) for subject, pattern in patterns.items()}


def _stated_world(info: Path) -> int | None:
    """How many ranks ``profiler_info`` says there are."""
    try:
        with info.open("rb") as file:
            stated = repair.lenient(file.read(_MOST_INFO_BYTES))
    except OSError:
        return None
    return integer(stated.get("rank_size")) if isinstance(stated, dict) else None


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)

"""``cluster_communication_matrix.json``: the links of all ranks, kind of call by kind of call, and all together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from stepscope.deliver.cluster_files.nested_file import write_nested

_TOTAL: Final = "Total Op Info"
_SUMMED: Final = ("Transit Time(ms)", "Transit Size(MB)")


class ClusterMatrix:
    """What several ranks tell of one link is added up."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], dict[str, dict[str, dict[str, dict[str, Any]]]]] = {}

    def add(self, document: Mapping[str, Any], ranks_of: Callable[[str], list[int] | None]) -> None:
        """Take over ``communication_matrix.json`` of a rank, whose ends count within the group, as ranks of the job."""
        for step, classes in document.items():
            for kind, entries in classes.items():
                for name, within_group in entries.items():
                    group = name.rpartition("@")[2]
                    links = _between_ranks(within_group, ranks_of(group))
                    of_step = self._groups.setdefault((kind, group), {}).setdefault(step, {})
                    _add_links(of_step.setdefault(name, {}), links)
                    if "-total@" in name:
                        _add_links(of_step.setdefault(f"{_TOTAL}@{group}", {}), links)

    def write(self, path: Path, members: Mapping[tuple[str, str], tuple[int, ...]]) -> None:
        """Nothing where no link is known."""
        if not self._groups:
            return
        for steps in self._groups.values():
            for entries in steps.values():
                for links in entries.values():
                    for link in links.values():
                        size, time = link["Transit Size(MB)"], link["Transit Time(ms)"]
                        link["Bandwidth(GB/s)"] = round(size / time, 4) if time else 0
        write_nested(path, self._groups, members)


def _between_ranks(links: Mapping[str, dict[str, Any]], ranks: list[int] | None) -> dict[str, dict[str, Any]]:
    if not ranks:
        return dict(links)
    renamed = {}
    for link, told in links.items():
        ends = [int(end) for end in link.split("-")]
        if max(ends) < len(ranks):
            renamed["-".join(str(ranks[end]) for end in ends)] = told
    return renamed


def _add_links(known: dict[str, dict[str, Any]], links: Mapping[str, dict[str, Any]]) -> None:
    for ends, link in links.items():
        sums = known.setdefault(
            ends, {"Transport Type": "", "Transit Time(ms)": 0, "Transit Size(MB)": 0, "Op Name": ""}
        )
        sums["Transport Type"], sums["Op Name"] = link["Transport Type"], link.get("Op Name", "")
        for name in _SUMMED:
            sums[name] += link[name]

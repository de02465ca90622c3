"""``communication_matrix.json``: for each kind of call, how fast the links of this rank were.

Per link the calls are sorted by bandwidth, and the best, the middle and the worst are shown beside the total. A link
needs two ends: of collectives among more than two ranks only an NPU records which rank sent what to whom.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from stepscope.deliver.capture_directory.communication_calls import LOCAL, CommunicationCall

_MB: Final = 1_000_000
#: How each framework calls the field with the call's name.
_NAME_OF_CALL: Final = {"mindspore": "op_name", "torch": "Op Name"}


@dataclass(frozen=True)
class Link:
    """What one call, or several, moved over one link."""

    call: str | None
    source: int
    target: int
    transport: str
    bytes: int
    time_ns: int

    @property
    def megabytes(self) -> float:
        return self.bytes / _MB

    @property
    def milliseconds(self) -> float:
        return self.time_ns / 1e6

    @property
    def gigabytes_per_second(self) -> float:
        return round(self.megabytes / self.milliseconds, 4) if self.time_ns else 0


def links_of(call: CommunicationCall) -> list[Link]:
    """The links that a call used, with the rank's own diagonal, by which vendor tools know who it is in the group."""
    sums: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0])
    own = None
    for transfer in call.transfers:
        if transfer.target is not None:
            own = transfer.source
            size = sums[transfer.target, transfer.transport]
            size[0] += transfer.bytes
            size[1] += transfer.time_ns
    if own is not None:
        sums.setdefault((own, LOCAL), [0, 0])
    return [
        Link(call.name, 0 if own is None else own, target, transport, size, time)
        for (target, transport), (size, time) in sums.items()
    ]


def communication_matrix(calls: list[CommunicationCall], backend: str) -> dict[str, Any] | None:
    """The document, or None where no link is known."""
    content: dict[str, Any] = {}
    links: dict[tuple[str, str, str, str], list[Link]] = defaultdict(list)
    for call in calls:
        links[call.step, call.kind, call.operation, call.group] += links_of(call)
    for (step, kind, operation, group), own in links.items():
        for rank_of_speed, link in _chosen(own):
            classes = content.setdefault(step, {"p2p": {}, "collective": {}})
            cells = classes[kind].setdefault(f"{operation}-{rank_of_speed}@{group}", {})
            cells[f"{link.source}-{link.target}"] = {
                "Transport Type": link.transport,
                "Transit Size(MB)": link.megabytes,
                "Transit Time(ms)": link.milliseconds,
                "Bandwidth(GB/s)": link.gigabytes_per_second,
                **({} if link.call is None else {_NAME_OF_CALL[backend]: link.call}),
            }
    return content or None


def _chosen(links: list[Link]) -> Iterator[tuple[str, Link]]:
    """Best, middle, worst and total of each link."""
    by_ends: dict[tuple[int, int], list[Link]] = defaultdict(list)
    for link in links:
        by_ends[link.source, link.target].append(link)
    for (source, target), own in by_ends.items():
        fastest_first = sorted(own, key=lambda link: -link.gigabytes_per_second)
        yield "top1", fastest_first[0]
        yield "middle", fastest_first[len(own) // 2]
        for nth in range(1, min(len(own), 3) + 1):
            yield f"bottom{nth}", fastest_first[-nth]
        size, time = sum(link.bytes for link in own), sum(link.time_ns for link in own)
        yield "total", Link(None, source, target, own[0].transport, size, time)

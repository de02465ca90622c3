"""What the files of an Ascend rank say themselves about calls and links, as kept in ``reported``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

import polars as pl

from stepscope.deliver.capture_directory.communication_calls import LOCAL
from stepscope.layout.names import communication_database_file
from stepscope.store.run_store import RunStore

#: Files of a rank about its calls and links: two as text, else one database.
_FILES: Final = (
    "communication.json",
    "communication_matrix.json",
    *map(communication_database_file, ("torch", "mindspore")),
)
_LINK: Final = r"^\d+-\d+ "  # what a link's metrics begin with; those of calls begin with a transport
_MEASURE: Final = re.compile(r"(\S+) (Transit Size\(MB\)|Transit Time\(ms\)|Bandwidth\(GB/s\)|Large Packet Ratio)")
_PACKETS: Final = re.compile(r"(\S+) (\S+) MB packets( time\(ms\))?")
_POINT_TO_POINT: Final = ("send", "receive", "recv", "batchsendrecv")
Key = tuple[int | None, str]  # step, and call or kind of call, with its group


def reported_bands(store: RunStore, rank: int) -> dict[Key, dict[str, dict[str, Any]]]:
    """By call and transport: sizes, times, rates, and packets by size. Transports that were not used are left out."""
    bands: dict[Key, dict[str, dict[str, Any]]] = defaultdict(dict)
    for step, key, metric, value in _rows(store, rank, of_links=False):
        if (measure := _MEASURE.fullmatch(metric)) is not None:
            bands[step, key].setdefault(measure[1], {"Size Distribution": {}})[measure[2]] = value
        elif (packets := _PACKETS.fullmatch(metric)) is not None:
            band = bands[step, key].setdefault(packets[1], {"Size Distribution": {}})
            counted = band["Size Distribution"].setdefault(_as_in_text(packets[2]), [0, 0])
            counted[1 if packets[3] else 0] = value if packets[3] else int(value)
    return bands


def reported_matrix(
    store: RunStore, rank: int, ranks_of: Callable[[str], list[int] | None]
) -> dict[str, dict[str, Any]]:
    """The rank's links as ``communication_matrix.json`` has them, less the names of calls, which are not kept.

    Ends of links count within their group, whose ranks ``ranks_of`` gives where they are known.
    """
    transports = _transports(store, rank)
    document: dict[str, dict[str, Any]] = {}
    for step, key, metric, value in _rows(store, rank, of_links=True):
        if (measure := _MEASURE.fullmatch(metric)) is None:
            continue
        operation, group = key.partition("-")[0], key.rpartition("@")[2]
        kind = "p2p" if operation in _POINT_TO_POINT else "collective"
        entries = document.setdefault("step" if step is None else f"step{step}", {"p2p": {}, "collective": {}})[kind]
        source, _, target = measure[1].partition("-")
        call = (step, group, operation)
        transport = LOCAL
        if source != target:
            peer = _rank_at(int(target), ranks_of(group))
            transport = transports.get((*call, peer), transports.get((*call, None), ""))
        link = entries.setdefault(key, {}).setdefault(measure[1], {"Transport Type": transport})
        link[measure[2]] = value
    return document


def _as_in_text(size: str) -> str:
    """A size in MB as the vendor's JSON has it, also where a database held it as a number.

    >>> _as_in_text("0.000014"), _as_in_text("16.777216"), _as_in_text("4")
    ('1.4e-05', '16.777216', '4')
    """
    return repr(float(size)) if "." in size else size


def _rows(store: RunStore, rank: int, *, of_links: bool) -> list[tuple[int | None, str, str, float]]:
    """Rows about links, or about calls. The sums of whole steps are left out: they have no group."""
    rows = store.scan("reported", [rank]).filter(pl.col("file").cast(pl.String).is_in(_FILES))
    rows = rows.select("step", pl.col("key", "metric").cast(pl.String), "value")
    wanted = pl.col("metric").str.contains(_LINK) == of_links
    return rows.filter(pl.col("key").str.contains("@", literal=True) & wanted).collect().rows()


def _rank_at(end: int, ranks: list[int] | None) -> int:
    return ranks[end] if ranks and end < len(ranks) else end


def _transports(store: RunStore, rank: int) -> dict[tuple[int | None, str, str, int | None], str]:
    """By step, group, kind of call and peer; without a peer what the rank uses in that group, where it is only one."""
    names = [pl.col(name).cast(pl.String) for name in ("group", "call", "transport")]
    payload = store.scan("transfers", [rank]).drop_nulls(["call", "transport"]).select("step", *names, "peer")
    found: dict[tuple[int | None, str, str, int | None], str] = {}
    for step, group, call, transport, peer in payload.unique(maintain_order=True).collect().iter_rows():
        if transport != LOCAL:
            named = (step, group, _kind_of_call(call))
            found[*named, peer] = transport
            found[*named, None] = transport if found.get((*named, None), transport) == transport else ""
    return found


def _kind_of_call(call: str) -> str:
    """As the vendor names calls of a kind, from the name of one of them or of all.

    >>> _kind_of_call("hcom_allReduce__586_0_1"), _kind_of_call("allreduce-total")
    ('allreduce', 'allreduce')
    """
    return call.removeprefix("hcom_").partition("__")[0].partition("-")[0].lower()

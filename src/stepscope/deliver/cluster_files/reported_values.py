"""What the files of an Ascend rank say themselves about calls and links, as kept in ``reported``."""

from __future__ import annotations

import re
from collections import defaultdict
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


def reported_matrix(store: RunStore, rank: int) -> dict[str, dict[str, Any]]:
    """The rank's links as ``communication_matrix.json`` has them, less the names of calls, which are not kept."""
    transports = _transports(store, rank)
    document: dict[str, dict[str, Any]] = {}
    for step, key, metric, value in _rows(store, rank, of_links=True):
        if (measure := _MEASURE.fullmatch(metric)) is None:
            continue
        operation, group = key.partition("-")[0], key.rpartition("@")[2]
        kind = "p2p" if operation in _POINT_TO_POINT else "collective"
        entries = document.setdefault("step" if step is None else f"step{step}", {"p2p": {}, "collective": {}})[kind]
        source, _, target = measure[1].partition("-")
        transport = LOCAL if source == target else transports.get((step, group, operation), "")
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


def _transports(store: RunStore, rank: int) -> dict[tuple[int | None, str, str], str]:
    """By step, group and kind of call: a rank reaches its peers in a group over one transport."""
    names = [pl.col(name).cast(pl.String) for name in ("group", "call", "transport")]
    rows = store.scan("transfers", [rank]).drop_nulls(["call", "transport"]).select("step", *names).collect()
    return {
        (step, group, call.partition("-")[0]): transport
        for step, group, call, transport in rows.iter_rows()
        if transport != LOCAL
    }

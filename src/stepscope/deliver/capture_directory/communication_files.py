"""``communication.json``: per step, class and call its times, and what it moved over each kind of link."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from stepscope.deliver.capture_directory.communication_calls import LOCAL, CommunicationCall, Transfer
from stepscope.facts.ascend import ascend_facts

#: In the order of the documents.
TRANSPORTS: Final = ("RDMA", "HCCS", "PCIE", "SDMA", "SIO")
_TOTAL: Final = "Total Op Info"
_MB: Final = 1_000_000


def communication(calls: list[CommunicationCall]) -> dict[str, Any] | None:
    """The document, or None where nothing communicated."""
    content: dict[str, Any] = {}
    by_class: dict[tuple[str, str], list[CommunicationCall]] = {}
    for call in calls:
        classes = content.setdefault(call.step, {"p2p": {}, "collective": {}})
        classes[call.kind][f"{call.name}@{call.group}"] = one_call(call)
        by_class.setdefault((call.step, call.kind), []).append(call)
    for (step, kind), own in by_class.items():
        shown = bandwidth([transfer for call in own for transfer in call.transfers])
        content[step][kind][_TOTAL] = {
            "Communication Time Info": call_times(own),
            "Communication Bandwidth Info": {transport: _without_rates(sums) for transport, sums in shown.items()},
        }
    return content or None


def one_call(call: CommunicationCall) -> dict[str, Any]:
    """What the documents tell of a call."""
    return {
        "Communication Time Info": {"Start Timestamp(us)": call.start_ns / 1000, **call_times([call])},
        "Communication Bandwidth Info": bandwidth(call.transfers),
    }


def call_times(calls: list[CommunicationCall]) -> dict[str, float]:
    """Idle is what is left, as documented: elapse − transit − wait."""
    elapse, transit = (sum(call.elapse_ns for call in calls), sum(call.transit_ns for call in calls))
    wait, sync = (sum(call.wait_ns for call in calls), sum(call.sync_ns for call in calls))
    return {
        "Elapse Time(ms)": elapse / 1e6,
        "Transit Time(ms)": transit / 1e6,
        "Wait Time(ms)": wait / 1e6,
        "Synchronization Time(ms)": sync / 1e6,
        "Idle Time(ms)": (elapse - transit - wait) / 1e6,
        "Wait Time Ratio": round(wait / (wait + transit), 4) if wait + transit else 0,
        "Synchronization Time Ratio": round(sync / (sync + transit), 4) if sync + transit else 0,
    }


def bandwidth(transfers: Iterable[Transfer]) -> dict[str, dict[str, Any]]:
    """What went over each kind of link. SDMA is the sum of all but RDMA, other networks included."""
    of_transport: dict[str, list[Transfer]] = {transport: [] for transport in TRANSPORTS}
    for transfer in transfers:
        if transfer.transport == LOCAL:
            continue
        if transfer.transport in of_transport:
            of_transport[transfer.transport].append(transfer)
        if transfer.transport != "RDMA":
            of_transport["SDMA"].append(transfer)
    return {transport: _sums(transport, moved) for transport, moved in of_transport.items()}


def _sums(transport: str, moved: list[Transfer]) -> dict[str, Any]:
    megabytes, milliseconds = sum(one.bytes for one in moved) / _MB, sum(one.time_ns for one in moved) / 1e6
    large_from = ascend_facts().large_packet_bytes.get(transport)
    packets = sum(one.packets for one in moved)
    large = sum(one.packets for one in moved if large_from and one.bytes / one.packets > large_from)
    sizes: dict[str, list[float]] = {}
    for one in moved if large_from else ():
        size = sizes.setdefault(str(one.bytes / one.packets / _MB), [0, 0])
        size[0] += one.packets
        size[1] += one.time_ns / 1e6
    return {
        "Transit Size(MB)": megabytes,
        "Transit Time(ms)": milliseconds,
        "Bandwidth(GB/s)": round(megabytes / milliseconds, 4) if milliseconds else 0,
        "Large Packet Ratio": round(large / packets, 4) if packets else 0,
        "Size Distribution": sizes,
    }


def _without_rates(sums: dict[str, Any]) -> dict[str, Any]:
    return {name: sums[name] for name in ("Transit Time(ms)", "Transit Size(MB)", "Size Distribution")}

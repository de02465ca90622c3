"""The meaning of Ascend's task types, data types and communication names; the tables are in ``facts/ascend.toml``."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any, Final

from stepscope.facts.ascend import ascend_facts
from stepscope.facts.communication import communication_facts

# hcom_allReduce__586_2_1: kind, last digits of the group's hash, number of the call in its group, part of it.
_CALL: Final = re.compile(r"^(?:hcom_)?([A-Za-z]+)_*_(\d+)_(\d+)(?:_(\d+))?")
_MOST_RANKS: Final = 1 << 31
_NAMES_KEPT: Final = 1 << 14  # of calls: the ranks of a job have the same


def normalised(word: str) -> str:
    """A task type as the tables spell it.

    >>> normalised("Notify Wait"), normalised("PCIE_DMA_SQE")
    ('NOTIFY_WAIT', 'PCIE_DMA_SQE')
    """
    return word.strip().replace(" ", "_").replace("-", "_").upper()


@cache
def task_kind(task_type: str) -> str | None:
    """Slice kind of a device task on a stream; None for a type that the table does not know."""
    return ascend_facts().task_kinds.get(normalised(task_type))


def unknown_task_kind(has_kernel_data: bool) -> str:
    """Slice kind of a task of unknown type: it computes if the kernel table describes it."""
    return "kernel" if has_kernel_data else "sync"


@cache
def plane_kind(task_type: str) -> str:
    """Slice kind of a small communication task on a plane."""
    return ascend_facts().plane_kinds.get(normalised(task_type)) or "comm_task"


@cache
def transfer_kind(task_type: str) -> str | None:
    """payload, reduce or wait; None for tasks that only signal."""
    return ascend_facts().transfer_kinds.get(normalised(task_type))


@cache
def transport(link_type: str | None, transport_type: str | None = None) -> str | None:
    """LOCAL, HCCS, PCIE, SIO, RDMA or the link's own name; the transport type speaks where there is no link type.

    >>> transport("HCCS_SW"), transport("ON_CHIP", "SDMA"), transport("INVALID_TYPE", "LOCAL"), transport("N/A")
    ('HCCS', 'LOCAL', 'LOCAL', None)
    """
    for word in (link_type, transport_type):
        if word is not None and not is_missing(word):
            return ascend_facts().transports.get(normalised(word)) or word
    return None


@cache
def bytes_of_type(data_type: str | None) -> int | None:
    """Bytes of one element of an HCCL data type."""
    if data_type is None:
        return None
    size = ascend_facts().dtype_bytes.get(normalised(data_type))
    return None if size is None else int(size)


@cache
def collective_kind(name: str) -> str:
    """Our word for a communication call, from its name or its type.

    >>> [collective_kind(name) for name in ("hcom_allReduce__586_0_1", "hcom_batchSendRecv_", "AllGather-op3", "zebra")]
    ['all_reduce', 'send_receive', 'all_gather', 'other']
    """
    match = re.match(r"(?:hcom_)?([A-Za-z]+)", name.strip(), re.IGNORECASE)
    word = match[1].lower() if match else ""
    kind = ascend_facts().collective_kinds.get(word) or communication_facts().kinds.get(word)
    return "other" if kind is None else str(kind)


@lru_cache(maxsize=_NAMES_KEPT)
def call_number(name: str) -> int | None:
    """Number of a call within its group, as HCCL writes it into the name.

    >>> call_number("hcom_allReduce__586_2_1@17522688603477080586"), call_number("AllReduce-op1")
    (2, None)
    """
    match = _CALL.match(name)
    return int(match[3]) if match and len(match[3]) < 18 else None


def group_digits(name: str) -> str | None:
    """The last digits of the group's hash that a call's name carries.

    >>> group_digits("hcom_allReduce__586_2_1")
    '586'
    """
    match = _CALL.match(name)
    return match[2] if match else None


def is_missing(value: Any) -> bool:
    """Whether a value is one of the vendor's ways to say that there is none."""
    table = ascend_facts().sentinels
    return value in table.words if isinstance(value, str) else value in table.numbers or value is None


def rank_number(value: Any) -> int | None:
    """A rank; None for the vendor's sentinels and for what is no number.

    >>> rank_number(5), rank_number("7"), rank_number(4294967295), rank_number("N/A")
    (5, 7, None, None)
    """
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number < _MOST_RANKS else None


def module_component(module: str) -> str:
    """Component name of a driver module in ``memory``: APP and GE are also names of allocators."""
    return f"module {module}"

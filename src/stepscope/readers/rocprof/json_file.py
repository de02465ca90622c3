"""The document of rocprofv3: records of one or several processes, names by number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import polars as pl

from stepscope.errors import UnreadableInputError
from stepscope.readers.files.json_values import as_dict, as_list
from stepscope.readers.files.raw_bytes import blocks
from stepscope.readers.files.reading import Reading
from stepscope.readers.rocprof.records import RECORD, copy_name, rows_of_records
from stepscope.readers.slices.track_numbers import TrackNumbers

KEY: Final = "rocprofiler-sdk-tool"
_CALLS: Final = {"hip_api": "runtime", "rccl_api": "annotation", "marker_api": "annotation"}
_MOST_BITS: Final = 62


def rows_of_document(path: Path, tracks: TrackNumbers, reading: Reading) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Rows of a timeline from all processes of the document, and what it tells of the rank."""
    try:
        document = msgspec.json.decode(b"".join(blocks(path, reading.notes)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableInputError("cannot_read", path=str(path), reason=str(error)) from error
    processes = [process for process in as_list(as_dict(document).get(KEY)) if isinstance(process, dict)]
    records: list[tuple[Any, ...]] = []
    about: dict[str, Any] = {}
    for process in processes:
        agents = {
            _handle_of(agent.get("id")): agent for agent in as_list(process.get("agents")) if isinstance(agent, dict)
        }
        records += list(_records(process, agents))
        about = about or _about(process, agents)
    complete = [record for record in records if record[0] is not None and record[1] is not None]
    reading.notes.add("rocprof_rows_unreadable", file=path.name, count=len(records) - len(complete))
    frame = pl.DataFrame(complete, schema=RECORD, orient="row", strict=False)
    return rows_of_records(frame, tracks), about


def _records(process: dict[str, Any], agents: dict[int | None, dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    buffers = process.get("buffer_records")
    buffers = buffers if isinstance(buffers, dict) else {}
    names = _kernel_names(process)
    own = f"process {as_dict(process.get('metadata')).get('pid', '?')}"
    for record in _dicts(buffers.get("kernel_dispatch")):
        info = as_dict(record.get("dispatch_info"))
        name = names.get(_integer(info.get("kernel_id")), f"kernel {info.get('kernel_id')}")
        queue = _handle_of(record.get("stream_id")) or _handle_of(info.get("queue_id"))
        yield (*_times(record), name, "kernel", _gpu(info.get("agent_id"), agents), queue, None, _correlation(record))
    words = as_list(as_dict(process.get("strings")).get("buffer_records"))
    for record in _dicts(buffers.get("memory_copy")):
        ends = (record.get("dst_agent_id"), record.get("src_agent_id"))
        agent = next((end for end in ends if as_dict(agents.get(_handle_of(end))).get("type") == _GPU), ends[0])
        name = copy_name(_operation(record, words))
        size = _integer(record.get("bytes"))
        yield (*_times(record), name, "copy", _gpu(agent, agents), 0, size, _correlation(record))
    markers = _dicts(as_dict(process.get("strings")).get("marker_api"))
    texts = {_integer(entry.get("key")): entry.get("value") for entry in markers}
    for table, kind in _CALLS.items():
        for record in _dicts(buffers.get(table)):
            correlation = _correlation(record)
            name = (
                str(texts.get(correlation) or _operation(record, words))
                if table == "marker_api"
                else _operation(record, words)
            )
            thread = _integer(record.get("thread_id"))
            yield (*_times(record), name, kind, own, thread, None, correlation if kind == "runtime" else None)


_GPU: Final = 2  # type of an agent


def _about(process: dict[str, Any], agents: dict[int | None, dict[str, Any]]) -> dict[str, Any]:
    used = [as_dict(record.get("dispatch_info")).get("agent_id") for record in _dicts(_kernels(process))[:1]]
    agent = as_dict(agents.get(_handle_of(used[0]))) if used else {}
    node = as_dict(as_dict(process.get("metadata")).get("node"))
    return {
        "host": node.get("hostname") if isinstance(node.get("hostname"), str) else None,
        "device_name": str(agent.get("product_name") or agent.get("name") or "") or None,
        "device_index": _integer(agent.get("logical_node_type_id")),
        "compute_units": _integer(agent.get("cu_count")),
    }


def _kernels(process: dict[str, Any]) -> Any:
    return as_dict(process.get("buffer_records")).get("kernel_dispatch")


def _kernel_names(process: dict[str, Any]) -> dict[int | None, str]:
    name_of_kernel = {}
    for symbol in _dicts(process.get("kernel_symbols")):
        name = symbol.get("formatted_kernel_name") or symbol.get("demangled_kernel_name") or symbol.get("kernel_name")
        name_of_kernel[_integer(symbol.get("kernel_id"))] = str(name)
    return name_of_kernel


def _operation(record: dict[str, Any], words: list[Any]) -> str:
    """The name of a call, by the number of its kind and of its operation."""
    kind, operation = _integer(record.get("kind")), _integer(record.get("operation"))
    known = as_dict(words[kind]) if kind is not None and 0 <= kind < len(words) else {}
    operations = as_list(known.get("operations"))
    in_range = operation is not None and 0 <= operation < len(operations)
    return str(operations[operation or 0]) if in_range else str(known.get("kind") or "call")


def _times(record: dict[str, Any]) -> tuple[int | None, int | None]:
    return _integer(record.get("start_timestamp")), _integer(record.get("end_timestamp"))


def _correlation(record: dict[str, Any]) -> int | None:
    return _integer(as_dict(record.get("correlation_id")).get("internal"))


def _gpu(agent: Any, agents: dict[int | None, dict[str, Any]]) -> str:
    known = as_dict(agents.get(_handle_of(agent)))
    return f"GPU {known.get('logical_node_type_id', known.get('node_id', _handle_of(agent)))}"


def _handle_of(value: Any) -> int | None:
    return _integer(as_dict(value).get("handle"))


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and abs(value) < 1 << _MOST_BITS else None


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in as_list(value) if isinstance(entry, dict)]

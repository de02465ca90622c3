"""Write a capture of torch_npu at level 1 whose timeline has the texture of a recorded one.

    python benchmarks/generate_ascend.py DIRECTORY --megabytes 100

Layers, arguments, arrows and counters stand in the proportions that a recorded step of a training job on two cards has
(220 bytes an event; four in ten events are counters). The file goes layer by layer, as the profiler writes it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

Event = dict[str, Any]

HOST, MAIN, WORKER, BACKWARD = 3096504, 3096504, 3099702, 3105075
START_US: Final = 1_736_408_883_688_177
STEP_US, OPERATORS = 160_000, 160
OPERATOR_US: Final = 780  # from one operator of a step to the next
NOBODY: Final = 4294967295
_FRAMES: Final = ("conv.py(459): forward", "conv.py(451): _conv_forward", "module.py(1511): _wrapped_call_impl")
_OPERATORS: Final = ("aten::conv2d", "aten::batch_norm", "aten::relu_", "aten::add", "aten::mm", "npu::fast_gelu")
_STACK: Final = ";\r\n".join(
    f"/usr/lib/python3/site-packages/torch/nn/modules/part{n}.py({n}): call" for n in range(14)
)


def process(layer: int) -> int:
    """The number that the tool gives to a process: host process and layer."""
    return HOST << 10 | layer << 5


CANN, HARDWARE, HCCL, PMU, QOS, OVERLAP = (process(layer) for layer in (7, 13, 15, 21, 22, 23))
NAMES: Final = {
    HOST: "Python",
    CANN: "CANN",
    HARDWARE: "Ascend Hardware",
    HCCL: "HCCL",
    PMU: "Acc PMU",
    QOS: "QoS",
    OVERLAP: "Overlap Analysis",
}


def time(step: int, operator: int, ns: int) -> str:
    """Microseconds as text: ``ns`` behind the beginning of an operator of a step."""
    total = (START_US + step * STEP_US + operator * OPERATOR_US) * 1000 + ns
    return f"{total // 1000}.{total % 1000:03d}"


def span(pid: int, tid: int, name: str, ts: str, dur: float, args: Event | None = None, cat: str = "") -> Event:
    event: Event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur}
    return event | ({"cat": cat} if cat else {}) | ({"args": args} if args is not None else {})


def arrow(ph: str, name: str, cat: str, ident: int | str, pid: int, tid: int, ts: str) -> Event:
    return {"ph": ph, "bp": "e", "name": name, "id": ident, "pid": pid, "tid": tid, "ts": ts, "cat": cat}


def operators(step: int) -> Iterator[Event]:
    yield span(
        HOST, MAIN, f"ProfilerStep#{step + 5}", time(step, 0, 0), STEP_US - 900.5, {"Sequence number": -1}, "cpu_op"
    )
    for number in range(OPERATORS):
        name, thread = _OPERATORS[number % len(_OPERATORS)], MAIN if number % 2 else BACKWARD
        shapes = {
            "Input Dims": f"32,{64 << number % 4},56,56;\r\n64,3,7,7;\r\n;\r\n;\r\n",
            "Input type": "float;\r\nfloat;\r\nNone",
        }
        stack = {"Call stack": _STACK} if thread == MAIN else {}
        for depth in range(5):
            args = {"Sequence number": number if depth else -1, "Fwd thread id": 0} | (shapes if depth % 2 else {})
            yield span(HOST, thread, name if depth else f"{name}_outer", time(step, number, 20_000 + depth * 9_370),
                       600.25 - depth * 31.31, args | (stack if depth in (1, 3) else {}), "cpu_op")  # fmt: skip
        yield span(
            HOST,
            thread,
            "Enqueue",
            time(step, number, 300_000),
            2.26,
            {"correlation_id": step * OPERATORS + number},
            "enqueue",
        )
        yield span(
            HOST,
            WORKER,
            f"Dequeue@aclnn{name[6:]}",
            time(step, number, 400_010),
            214.52,
            {"correlation_id": step * OPERATORS + number},
            "dequeue",
        )


def frames(step: int) -> Iterator[Event]:
    for number in range(OPERATORS):
        for depth in range(8):
            # One frame in eight ends a little after the one around it, as clocks of two recorders do.
            late = 4.6 if depth == 7 else 0
            ids = {"Python id": number * 8 + depth, "Python parent id": number * 8 + depth - 1}
            began, lasted = time(step, number, 1_000 + depth * 2_210), 740.5 - depth * 4.43 + late
            yield span(HOST, MAIN, f"torch/nn/modules/{_FRAMES[depth % 3]}", began, lasted, ids, "python_function")


def calls(step: int) -> Iterator[Event]:
    for number in range(OPERATORS):
        connection = step * 10_000 + number * 8
        for place, name in enumerate(
            ("AscendCL@aclnnMm", "Node@launch", "AscendCL@aclrtQueryEventStatus", "Runtime@Wait")
        ):
            args = {
                "Thread Id": WORKER,
                "Mode": "ACL_RTS",
                "level": "acl",
                "id": name,
                "item_id": "0",
                "connection_id": connection + place,
            }
            yield span(CANN, WORKER, name, time(step, number, 410_000 + place * 21_030), 18.31, args)


def tasks(step: int) -> Iterator[Event]:
    for number in range(OPERATORS):
        for place in range(3):
            args = {
                "Model Id": NOBODY,
                "Task Type": ("AI_CORE", "AI_VECTOR_CORE", "Write Value")[place],
                "Physic Stream Id": 2,
                "Task Id": number,
                "Batch Id": step,
                "Subtask Id": place,
                "connection_id": step * 10_000 + number * 8 + place,
            }
            yield span(
                HARDWARE,
                2,
                f"aclnn_Task_{number % 40}",
                time(step, number, 500_000 + place * 60_007),
                58.72003125,
                args,
            )


def communication(step: int) -> Iterator[Event]:
    for number in range(0, OPERATORS, 40):
        args = {
            "connection_id": step * 10_000 + number * 8 + 1,
            "model id": NOBODY,
            "data_type": "FP32",
            "alg_type": "MESH-RING",
            "count": 37752832,
        }
        yield span(HCCL, 0, f"hcom_allReduce__586_{step}_{number}", time(step, number, 600_000), 2402.388, args)
        for place in range(70):
            kind = "Reduce_Inline" if place % 2 else "Notify_Wait"
            args = {
                "notify_id": "0",
                "duration estimated(us)": 0.6002072538860104,
                "stream id": 4,
                "task id": number,
                "context id": place,
                "task type": kind,
                "src rank": 0,
                "dst rank": place % 2,
                "transport type": "SDMA",
                "size(Byte)": 4096,
                "data type": "INT32",
                "link type": "HCCS",
                "bandwidth(GB/s)": 0.00645128773751323,
                "model id": NOBODY,
            }
            yield span(HCCL, 1 + place % 8, kind, time(step, number, 600_500 + place * 33_010), 30.62003125, args)


def overlap(step: int) -> Iterator[Event]:
    for number in range(OPERATORS):
        yield span(OVERLAP, 0, "Computing", time(step, number, 500_000), 178.4)
        yield span(OVERLAP, 3, "Free", time(step, number, 678_400), 90.622)


def arrows(step: int) -> Iterator[Event]:
    for number in range(OPERATORS):
        ident = step * OPERATORS + number
        device, call = str(40_033_904_466_874_859_519 + ident * 281_474_976_710), time(step, number, 415_000)
        task, launch = time(step, number, 500_000), time(step, number, 301_000)
        yield arrow("s", f"HostToDevice{device}", "HostToDevice", device, CANN, WORKER, call)
        yield arrow("f", f"HostToDevice{device}", "HostToDevice", device, HARDWARE, 2, task)
        yield arrow(
            "s", "torch_to_npu", "async_npu", int(task.replace(".", "")), HOST, MAIN if number % 2 else BACKWARD, launch
        )
        yield arrow("f", "torch_to_npu", "async_npu", int(task.replace(".", "")), HARDWARE, 2, task)
        yield arrow(
            "s", "enqueue_to_dequeue", "async_task_queue", ident, HOST, MAIN if number % 2 else BACKWARD, launch
        )
        yield arrow("f", "enqueue_to_dequeue", "async_task_queue", ident, HOST, WORKER, time(step, number, 400_010))


def counters(step: int) -> Iterator[Event]:
    for number in range(OPERATORS):
        for place in range(17):
            name = ("read_bandwidth", "write_band_width", "read_ost", "write_ost")[place % 4]
            yield {"name": name, "ts": time(step, number, place * 40_201), "pid": PMU, "tid": 0,
                   "args": {"value": place * number % 97, "acc_id": place % 8}, "ph": "C"}  # fmt: skip
        for place in range(9):
            yield {"name": f"QoS OTHERS {place % 3}", "ts": time(step, number, place * 80_590), "pid": QOS, "tid": 0,
                   "args": {"value": 12 + place}, "ph": "C"}  # fmt: skip


LAYERS: Final[tuple[Callable[[int], Iterator[Event]], ...]] = (
    operators, frames, calls, tasks, communication, overlap, arrows, counters,
)  # fmt: skip


def write_capture(directory: Path, megabytes: float) -> Path:
    """Write one rank's directory; gives the path of its timeline."""
    rank = directory / "rank0_ascend_pt"
    timeline = rank / "ASCEND_PROFILER_OUTPUT" / "trace_view.json"
    timeline.parent.mkdir(parents=True)
    info = {"rank_id": 0, "torch_npu_version": "2.1.0", "config": {"common_config": {"with_stack": True}}}
    (rank / "profiler_info_0.json").write_text(json.dumps(info), "utf-8")
    step_bytes = sum(len(json.dumps(event)) + 2 for layer in LAYERS for event in layer(0))
    steps = max(1, round(megabytes * 1e6 / step_bytes))
    with timeline.open("w", encoding="utf-8") as file:
        file.write("[")
        for layer in LAYERS:
            for step in range(steps):
                file.writelines(json.dumps(event) + ", " for event in layer(step))
        names = [
            {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
            for pid, name in NAMES.items()
        ]
        planes = ["Group hccl_world Communication", *(f"Plane {number}" for number in range(8))]
        names += [
            {"ph": "M", "name": "thread_name", "pid": HCCL, "tid": tid, "args": {"name": name}}
            for tid, name in enumerate(planes)
        ]
        file.write(", ".join(map(json.dumps, names)) + "]")
    return timeline


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--megabytes", type=float, default=100)
    options = parser.parse_args()
    print(write_capture(options.directory, options.megabytes))

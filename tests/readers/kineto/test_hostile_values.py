"""Values of any type, in any field, harm no other event."""

from __future__ import annotations

from typing import Any

import pytest

from readers.kineto.opened_traces import KINDS_OF_EVENTS, NASTY, Opened, communication, links
from support.limits import at_most
from support.reading import Reading
from support.traces import (
    Event,
    Literal,
    call,
    compact,
    complete,
    document,
    flow,
    kernel,
    memory,
    named,
    operator,
    training_steps,
    us,
)

SOUND = training_steps(1)


SOUND_NAMES = sorted(event["name"] for event in SOUND if event["ph"] == "X")


def sound_ones(reading: Reading) -> list[str]:
    return sorted(row["name"] for row in reading.rows("slices") if row["name"] in set(SOUND_NAMES))


@pytest.mark.parametrize("field", ["ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "id"])
def test_a_field_of_any_type_harms_no_other_event(field: str, opened: Opened) -> None:
    damaged = [event | {field: value} for event in KINDS_OF_EVENTS.values() for value in NASTY]
    without = [{key: value for key, value in event.items() if key != field} for event in KINDS_OF_EVENTS.values()]
    reading = opened([*SOUND, *damaged, *without])
    assert sound_ones(reading) == SOUND_NAMES


@pytest.mark.parametrize(
    "key",
    [
        "External id",
        "correlation",
        "stream",
        "bytes",
        "Input Dims",
        "Input type",
        "Call stack",
        "Module Hierarchy",
        "Collective name",
        "Process Group Name",
        "Process Group Description",
        "Process Group Ranks",
        "Seq",
        "dtype",
        "In msg nelems",
        "Out msg nelems",
        "Src Rank",
        "Dst Rank",
        "device",
    ],
)
def test_an_argument_of_any_type_harms_no_other_event(key: str, opened: Opened) -> None:
    own = communication("send", dtype="ComplexDouble") | {"External id": 1, "correlation": 555, "stream": 3}
    events = list(SOUND)
    for place, value in enumerate(NASTY):
        args = own | {key: value}
        events.append(complete("cpu_op", "record_param_comms", 1_100_000 + place, 1, pid=100, **args))
        events.append(complete("kernel", "ncclDevKernel_victim", 1_100_000 + place, 1, pid=0, tid=3, **args))
        events.append(complete("gpu_memcpy", "victim", 1_200_000 + place, 1, pid=0, tid=3, **args))
        events.append(complete("cuda_runtime", "victim", 1_300_000 + place, 1, pid=100, tid=5, **args))
    reading = opened(events)
    assert sound_ones(reading) == SOUND_NAMES
    assert len(reading.rows("collectives")) == len(NASTY)


@pytest.mark.parametrize("key", ["Bytes", "Addr", "Total Allocated", "Total Reserved", "Device Type", "Device Id"])
def test_a_memory_argument_of_any_type_harms_no_other_event(key: str, opened: Opened) -> None:
    events = list(SOUND)
    for place, value in enumerate(NASTY):
        event = memory(1_100_000 + place, 64, 0xF0000 + place, 64)
        event["args"][key] = value
        events.append(event)
    reading = opened(events)
    assert sound_ones(reading) == SOUND_NAMES
    assert {(row["address"], row["bytes"]) for row in reading.rows("allocations")} >= {(4_096, 512)}


@pytest.mark.parametrize("value", NASTY, ids=lambda value: repr(value)[:20])
def test_metadata_of_any_type_does_not_keep_the_events_from_being_read(value: Any, opened: Opened) -> None:
    keys = ["deviceProperties", "distributedInfo", "displayTimeUnit", "record_shapes", "with_stack", "host_name"]
    keys += ["traceName", "WARNING", "ERROR", "INFO", "cupti_version", "trace_id", "PT_PROFILER_JOB_NAME", "metadata"]
    reading = opened(list(SOUND), **dict.fromkeys(keys, value))
    assert sound_ones(reading) == SOUND_NAMES
    group = {"pg_name": value, "pg_desc": value, "backend_config": value, "pg_size": value, "ranks": value}
    device = {"id": 0} | dict.fromkeys(("name", "totalGlobalMem", "numSms", "computeMajor"), value)
    info = {"rank": 0, "backend": value, "world_size": value, "pg_count": value, "nccl_version": value}
    info |= {"pg_config": [group, value, {"pg_name": "0", "ranks": [value, 1]}]}
    lists = {"deviceProperties": [value, device], "WARNING": [value], "distributedInfo": info}
    reading = opened({"traceEvents": SOUND, **lists})
    assert sound_ones(reading) == SOUND_NAMES


@pytest.mark.parametrize("value", [*NASTY, 43 * 10**17], ids=lambda value: repr(value)[:20])
def test_a_base_time_of_any_type_drops_nothing_in_silence(value: Any, opened: Opened) -> None:
    reading = opened(list(SOUND), baseTimeNanoseconds=value)
    assert sound_ones(reading) == SOUND_NAMES or reading.codes.keys() - {"no_step_marks"}


ABSURD = Literal("1.0e300000")  # as an integer, some seconds of work; with two digits more, hours


@pytest.mark.parametrize(
    "metadata",
    [
        {"baseTimeNanoseconds": ABSURD},
        {"host_name": ABSURD, "cupti_version": ABSURD, "WARNING": [ABSURD]},
        {"distributedInfo": {"rank": 0, "world_size": ABSURD}},
        {"distributedInfo": {"rank": 0, "pg_config": [{"pg_name": ABSURD, "ranks": [ABSURD]}]}},
        {"deviceProperties": [{"id": 0, "totalGlobalMem": ABSURD}]},
    ],
    ids=["base", "texts", "world", "group", "device"],
)
def test_a_number_with_an_absurd_exponent_costs_no_time(metadata: dict[str, Any], opened: Opened) -> None:
    with at_most(2):
        reading = opened(list(SOUND), **metadata)
    assert sound_ones(reading) == SOUND_NAMES


def test_durations_that_are_absent_or_negative_become_zero_and_are_counted(opened: Opened) -> None:
    absent, negative = operator("absent", 1_000, 5), operator("negative", 2_000, 5) | {"dur": us(-7)}
    del absent["dur"]
    reading = opened([absent, negative, operator("word", 3_000, 5) | {"dur": "long"}, operator("good", 4_000, 5)])
    assert {row["name"]: row["dur_ns"] for row in reading.rows("slices")} == {
        "absent": 0,
        "negative": 0,
        "word": 0,
        "good": 5,
    }
    assert (reading.codes["duration_missing"], reading.codes["duration_negative"]) == (2, 1)


def test_an_overflown_duration_is_dropped_and_counted(opened: Opened) -> None:
    week = 7 * 86_400 * 10**9
    events = [operator("week", 1_000, week), operator("overflow", 1_000, week + 1), operator("good", 4_000, 5)]
    reading = opened(events)
    assert {row["name"] for row in reading.rows("slices")} == {"week", "good"}
    assert reading.codes["duration_absurd"] == 1


def test_one_event_at_time_zero_does_not_stretch_the_axis_to_1970(opened: Opened) -> None:
    now = 1_736_405_443_871_466_840
    events = [operator(f"op {number}", now + number * 1_000, 10) for number in range(5)]
    reading = opened([operator("lost", 0, 10), *events])
    (rank,) = reading.rows("ranks")
    assert rank["first_ns"] == now
    assert reading.codes["event_far_away"] == 1
    assert len(reading.rows("slices")) == 5


def test_an_event_without_a_time_is_counted(opened: Opened) -> None:
    timeless = operator("timeless", 0, 1)
    del timeless["ts"]
    reading = opened([timeless, operator("good", 1_000, 1)])
    assert [row["name"] for row in reading.rows("slices")] == ["good"]
    assert reading.codes["event_without_time"] == 1


def test_a_device_whose_number_is_a_text_is_one(opened: Opened) -> None:
    events = [event | {"pid": str(event["pid"])} for event in (operator("a", 0, 100), kernel("gemm", 50, 40, 1))]
    properties = [{"id": 1, "name": "other"}, {"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 5}]
    (rank,) = opened(events, deviceProperties=properties).rows("ranks")
    assert (rank["device_kind"], rank["device_index"], rank["device_name"]) == ("gpu", 0, "NVIDIA H200")


def test_times_as_texts_are_times(opened: Opened) -> None:
    event = operator("a", 0, 0) | {"ts": "1736405443871466.840", "dur": "1.5", "pid": "7", "tid": "x"}
    row = opened([event]).named("a")
    assert (row["start_ns"], row["dur_ns"]) == (1_736_405_443_871_466_840, 1_500)


@pytest.mark.parametrize(
    "damage",
    [
        b'"note": "caf\xe9"',
        b'"note": "C:\\dir"',
        b'"note": NaN',
        b'"note": N/A',
        b'"note": "a\nb"',
        b'"note": "\\ud800"',
    ],
)
def test_damage_inside_arguments_does_not_cost_the_launch(damage: bytes, opened: Opened) -> None:
    launch = compact(call("cudaLaunchKernel", 1_000, 10, 7)).encode()
    device = compact(kernel("k", 2_000, 10, 7, mark="here")).encode().replace(b'"mark": "here"', damage)
    assert damage in device
    reading = opened(b'{"schemaVersion": 1, "traceEvents": [' + launch + b",\n" + device + b"]}")
    assert links(reading, "launch") == [(0, 1)]
    assert reading.named("k")["stream"] == 7


def test_the_last_of_equal_argument_keys_wins(opened: Opened) -> None:
    text = compact(document([call("cudaLaunchKernel", 1_000, 10, 7), kernel("k", 2_000, 10, 3)]))
    reading = opened(text.replace('"correlation": 3', '"correlation": 3, "correlation": 7'))
    assert links(reading, "launch") == [(0, 1)]


@pytest.mark.parametrize(
    "events",
    [
        [named("process_name", "python", pid=1)],
        [flow("s", "fwdbwd", 1, 5), flow("f", "fwdbwd", 1, 6)],
        [memory(1_000, 8, 16, 8)],
        [KINDS_OF_EVENTS["counter"]],
        [KINDS_OF_EVENTS["mark"]],
        [KINDS_OF_EVENTS["begin"]],
        [KINDS_OF_EVENTS["end"]],
        [KINDS_OF_EVENTS["async"]],
        [{}],
        [{}, {"ph": None}, {"ph": "Q"}],
    ],
    ids=["metadata", "flows", "memory", "counter", "mark", "begin", "end", "async", "empty", "unknown"],
)
def test_a_trace_with_one_kind_of_event_opens(events: list[Event], opened: Opened) -> None:
    reading = opened(events)
    assert len(reading.rows("ranks")) == 1

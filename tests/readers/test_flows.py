"""Links of flow events, against a twin that looks at every pair of ends."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from stepscope.arrays import NULL
from stepscope.readers.slices.flows import flow_links
from stepscope.readers.slices.slice_table import KIND, SliceTable
from stepscope.readers.trace_json.codes import Codes
from stepscope.readers.trace_json.event_columns import ENDS_AT_NEXT, EventColumns
from stepscope.store.notes import Notes

Flow = tuple[int, int, int, str]  # category, id, time, phase; N stands for an end that belongs to the next slice

_TIMES = 40
_KINDS = {"one": "launch"}


def slices() -> SliceTable:
    """One slice of one unit at each of the times, with ids that are no positions, none at the last of them."""
    count = _TIMES - 1
    names = Codes()
    kind = np.full(count, KIND["operator"], np.int8)
    return SliceTable(
        np.arange(count) + 100,
        np.zeros(count, np.int32),
        np.arange(count),
        np.ones(count, np.int64),
        np.full(count, names["a"], np.int32),
        names,
        kind,
    )


def linked(flows: list[Flow]) -> tuple[list[tuple[str, int, int]], dict[str, int]]:
    notes = Notes()
    columns = EventColumns(notes, "trace.json")
    for text in ("one", "two"):
        columns.categories[text]
    nothing = np.zeros(len(flows), np.int32)
    category, ids, time = (np.array([flow[field] for flow in flows], np.int64) for field in range(3))
    phase = np.array([ENDS_AT_NEXT if flow[3] == "N" else ord(flow[3]) for flow in flows], np.int64)
    columns.flows.extend(np.arange(len(flows)), nothing, category.astype(np.int32), nothing, time, ids, phase)
    found = flow_links(slices(), columns, 0, _KINDS, notes)
    return found.rows(), {note.code: note.count for note in notes.all()}


def twin(flows: list[Flow]) -> tuple[list[tuple[str, int, int]], dict[str, int]]:
    bound = []  # category, id, time, order among those of one moment, slice
    for category, number, time, phase in flows:
        order = "stfN".index(phase)
        if phase == "N" and NULL < time < 0:
            bound.append((category, number, time, 2, 0))
        elif 0 <= time < _TIMES - 1:
            bound.append((category, number, time, min(order, 2), time))
    bound.sort(key=lambda flow: flow[:4])
    counted = {"flow_unbound": len(flows) - len(bound), "flow_without_start": 0}
    links = []
    for place, (category, number, _, part, holder) in enumerate(bound):
        if part == 0:
            continue
        same = [other for other in bound if other[:2] == (category, number)]
        earlier = [other for other in bound[:place] if other in same and other[3] < 2]
        starts = [other for other in same if other[3] == 0]
        if not earlier and len(starts) == 1:
            earlier = starts
        if earlier:
            links.append(("launch" if category == 0 else "flow", earlier[-1][4] + 100, holder + 100))
        else:
            counted["flow_without_start"] += 1
    return links, {code: count for code, count in counted.items() if count}


_ids = st.sampled_from([0, 1, 2, -5, 10**17])
_time = st.one_of(st.integers(0, _TIMES), st.sampled_from([NULL, -3]))
_flow = st.tuples(st.integers(0, 1), _ids, _time, st.sampled_from("stfN"))


@given(st.lists(_flow, max_size=30))
@example([(0, 1, 5, "s"), (0, 1, 3, "f")])  # an end before its only start
@example([(0, 1, 5, "s"), (0, 1, 9, "s"), (0, 1, 3, "f"), (0, 1, 9, "f")])  # an id used again
@example([(0, 1, 5, "f"), (0, 1, 5, "s"), (1, 1, 7, "f")])  # one moment; an id of another category
@example([(0, 1, 2, "s"), (0, 1, 5, "t"), (0, 1, 7, "t"), (0, 1, 9, "f")])  # from step to step
@example([(0, 1, 5, "s"), (0, 1, -3, "N"), (0, 1, 39, "N")])  # the next slice, and none
def test_links_equal_those_of_looking_at_every_pair(flows: list[Flow]) -> None:
    assert linked(flows) == twin(flows)


def test_many_ends_of_one_start_make_a_link_each() -> None:
    found, notes = linked([(0, 8, 2, "s"), *((0, 8, time, "f") for time in range(3, 30))])
    assert found == [("launch", 102, time + 100) for time in range(3, 30)]
    assert notes == {}

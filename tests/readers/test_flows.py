"""Links of flow events, against a twin that looks at every pair of ends."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from stepscope.readers.codes import Codes
from stepscope.readers.event_columns import NULL, EventColumns
from stepscope.readers.flows import flow_links
from stepscope.readers.slice_table import KIND, SliceTable
from stepscope.store.notes import Notes

Flow = tuple[int, int, int, bool]  # category, id, time, whether it begins

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
    table = np.array(flows, np.int64).reshape(-1, 4)
    nothing = np.zeros(len(flows), np.int32)
    phase = np.where(table[:, 3] == 1, ord("s"), ord("f"))
    columns.flows.extend(
        np.arange(len(flows)), nothing, table[:, 0].astype(np.int32), nothing, table[:, 2], table[:, 1], phase
    )
    found = flow_links(slices(), columns, 0, _KINDS, notes)
    return found.rows(), {note.code: note.count for note in notes.all()}


def twin(flows: list[Flow]) -> tuple[list[tuple[str, int, int]], dict[str, int]]:
    bound = [flow for flow in flows if 0 <= flow[2] < _TIMES - 1]
    counted = {"flow_unbound": len(flows) - len(bound), "flow_without_start": 0}
    links = []
    for category, name, time, begins in sorted(bound, key=lambda flow: (*flow[:3], not flow[3])):
        if begins:
            continue
        starts = [other[2] for other in bound if other[:2] == (category, name) and other[3]]
        earlier = starts if len(starts) == 1 else [start for start in starts if start <= time]
        if earlier:
            links.append(("launch" if category == 0 else "flow", max(earlier) + 100, time + 100))
        else:
            counted["flow_without_start"] += 1
    return links, {code: count for code, count in counted.items() if count}


_ids = st.sampled_from([0, 1, 2, -5, 10**17])
_time = st.one_of(st.integers(0, _TIMES), st.sampled_from([NULL, -3]))
_flow = st.tuples(st.integers(0, 1), _ids, _time, st.booleans())


@given(st.lists(_flow, max_size=30))
@example([(0, 1, 5, True), (0, 1, 3, False)])  # an end before its only start
@example([(0, 1, 5, True), (0, 1, 9, True), (0, 1, 3, False), (0, 1, 9, False)])  # an id used again
@example([(0, 1, 5, False), (0, 1, 5, True), (1, 1, 7, False)])  # one moment; an id of another category
def test_links_equal_those_of_looking_at_every_pair(flows: list[Flow]) -> None:
    assert linked(flows) == twin(flows)


def test_many_ends_of_one_start_make_a_link_each() -> None:
    found, notes = linked([(0, 8, 2, True), *((0, 8, time, False) for time in range(3, 30))])
    assert found == [("launch", 102, time + 100) for time in range(3, 30)]
    assert notes == {}

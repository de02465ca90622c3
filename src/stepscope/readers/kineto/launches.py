"""What launched the device work of a trace, and which operator is behind it."""

from __future__ import annotations

import numpy as np

from stepscope.arrays import NONE, NULL, Bools, Int64s
from stepscope.readers.slices.slice_table import SliceTable
from stepscope.store.nesting import nearest
from stepscope.store.notes import Notes


def launches(slices: SliceTable, correlation: Int64s, on_device: Bools, notes: Notes, file: str) -> Int64s:
    """For each device slice the position of the call that launched it (one call, many slices), else NONE."""
    calls = np.flatnonzero(slices.is_kind("runtime") & (correlation != NULL))
    calls = calls[np.argsort(correlation[calls], kind="stable")]
    ids = correlation[calls]
    again = np.flatnonzero(ids[1:] == ids[:-1])
    if len(again):  # the first call counts
        notes.add("duplicate_correlation", file=file, count=len(again))
        calls = calls[np.lexsort((slices.start[calls], ids))]
        calls, ids = np.delete(calls, again + 1), np.delete(ids, again + 1)
    launch = np.full(len(slices), NONE, np.int64)
    launched = np.flatnonzero(on_device & (correlation != NULL) & slices.is_kind("kernel", "collective", "copy"))
    if len(ids):
        nearest_call = np.minimum(np.searchsorted(ids, correlation[launched]), len(ids) - 1)
        fits = ids[nearest_call] == correlation[launched]
        launch[launched[fits]] = calls[nearest_call[fits]]
    return launch


def operators(slices: SliceTable, external: Int64s, launch: Int64s, on_device: Bools) -> Int64s:
    """Position of the framework operator behind each runtime call and device slice, else NONE.

    The one that the slice names by ``External id``; else the innermost around the call, which may be the wrong one
    where times are whole microseconds.
    """
    is_operator = slices.is_kind("operator")
    around = nearest(slices.parent, is_operator)
    operator = np.full(len(slices), NONE, np.int64)
    launched, runtime = np.flatnonzero(launch != NONE), np.flatnonzero(slices.is_kind("runtime"))
    operator[launched] = around[launch[launched]]
    operator[runtime] = around[runtime]
    has_id = (external != NULL) & (external != 0)  # older writers say 0 where there is none
    owners = np.flatnonzero(is_operator & has_id)
    on_behalf = slices.is_kind("runtime") | (on_device & slices.is_kind("kernel", "collective", "copy"))
    asking = np.flatnonzero(has_id & on_behalf)
    # Where several operators have the id, the one around is meant.
    asking = asking[np.append(external, NULL)[operator[asking]] != external[asking]]
    if len(owners) and len(asking):
        owners = owners[np.argsort(external[owners], kind="stable")]
        nearest_owner = np.minimum(np.searchsorted(external[owners], external[asking]), len(owners) - 1)
        fits = external[owners[nearest_owner]] == external[asking]
        operator[asking[fits]] = owners[nearest_owner[fits]]
    return operator

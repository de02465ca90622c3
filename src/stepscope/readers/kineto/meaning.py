"""What Kineto slices are, which operator they belong to, and what launched them."""

from __future__ import annotations

from typing import Final

import numpy as np

from stepscope import facts
from stepscope.arrays import NONE, NULL, Bools, Int8s, Int32s, Int64s
from stepscope.facts.communication import communication_facts
from stepscope.readers.kineto.categories import kind_of_category
from stepscope.readers.slices.pytorch import MODULE_PREFIX, STEP_NAME
from stepscope.readers.slices.slice_table import KIND, SliceTable
from stepscope.readers.trace_json.codes import Codes
from stepscope.store.nesting import nearest
from stepscope.store.notes import Notes

_MARKING: Final = ("user_annotation", "cpu_op", "operator")


def kinds(category: Int32s, name: Int32s, categories: Codes, names: Codes) -> Int8s:
    """The kind of each event, by category first and name second."""
    by_category = np.array(
        [KIND[kind_of_category(text) or "annotation"] for text in categories.texts()] or [0], np.int8
    )
    kind = by_category[category] if len(category) else np.empty(0, np.int8)
    words = [text or "" for text in names.texts()] or [""]
    communicates = np.array([bool(facts.communication_kernel().search(word)) for word in words])
    is_module = np.array([word.startswith(MODULE_PREFIX) for word in words])
    is_step = np.array([bool(STEP_NAME.match(word)) for word in words])
    prefixes = tuple(f"{backend}:" for backend in communication_facts().host_prefixes)
    is_host_collective = np.array([word.startswith(prefixes) for word in words])
    # Until about torch 1.11, marks of the host had the category of operators.
    on_host = np.array([(text or "").lower() in _MARKING for text in categories.texts()] or [False])[category]
    kind[(kind == KIND["kernel"]) & communicates[name]] = KIND["collective"]
    kind[(kind == KIND["python"]) & is_module[name]] = KIND["module"]
    kind[on_host & is_step[name]] = KIND["step"]
    kind[on_host & is_host_collective[name]] = KIND["collective"]
    return kind


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
        place = np.minimum(np.searchsorted(ids, correlation[launched]), len(ids) - 1)
        found = ids[place] == correlation[launched]
        launch[launched[found]] = calls[place[found]]
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
        place = np.minimum(np.searchsorted(external[owners], external[asking]), len(owners) - 1)
        found = external[owners[place]] == external[asking]
        operator[asking[found]] = owners[place[found]]
    return operator

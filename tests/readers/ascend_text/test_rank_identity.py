"""Who a rank is: coordinates, clock, kinds of tasks."""

from __future__ import annotations

from typing import Any

from stepscope.facts.ascend import ascend_facts
from stepscope.readers.ascend import device_tasks, identity
from stepscope.store.schema import SLICE_KINDS


def test_coordinates_follow_megatrons_order_of_ranks() -> None:
    sizes = {
        "tensor_model_parallel_size": 2,
        "pipeline_model_parallel_size": 2,
        "data_parallel_size": 3,
        "world_size": 12,
    }
    for rank in range(12):
        columns = identity.rank_columns({"rank_id": rank}, {"distributed_args": sizes})
        assert columns["world_size"] == 12
        assert columns["tp"] + 2 * (columns["dp"] + 3 * columns["pp"]) == rank
        assert (columns["cp"], columns["ep"]) == (0, None)


def test_nonsense_in_the_identity_files_states_nothing() -> None:
    nonsense: list[Any] = [None, 1, "x", [], [1], {"a": []}]
    for value in nonsense:
        info = {
            "config": value,
            "rank_id": value,
            "ms_profiler_info": value,
            "profiler_parameters": value,
            "end_info": value,
        }
        metadata = {"distributed_args": value, "parallel_group_info": value, "ENV_VARIABLES": value}
        columns = identity.rank_columns(info, metadata)
        assert {columns.get(name) for name in ("world_size", "dp", "tp", "pp", "ep", "cp", "level")} == {None}
        assert identity.parallel_groups(metadata)["ranks"].null_count() == len(identity.parallel_groups(metadata))
        assert identity.clock_offset_ns(info) is None


def test_unix_time_is_the_monotonic_clock_plus_an_offset() -> None:
    end = {"collectionTimeEnd": 1736408884023552840, "MonotonicTimeEnd": 172164265133640}
    assert identity.clock_offset_ns({"end_info": end}) == 1736236719758419200


def test_every_task_type_of_the_table_has_a_known_kind() -> None:
    table = ascend_facts()
    for kinds in (table.task_kinds, table.plane_kinds):
        assert set(kinds.values()) <= set(SLICE_KINDS)
        assert all(device_tasks.normalised(word) == word for word in kinds)
    assert set(table.transfer_kinds.values()) == {"payload", "reduce", "wait"}

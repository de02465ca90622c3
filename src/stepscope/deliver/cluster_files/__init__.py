"""What msprof-analyze writes about a cluster: the same files, from any run.

::

    cluster_analysis_output/
        cluster_step_trace_time.csv            a line per rank and step, and per stage and step
        cluster_communication.json             by members of a group, step, call and rank: times and bandwidth
        cluster_communication_matrix.json      by members of a group, step and kind of call: what went over each link
        communication_group.json               the groups with their members

Where its values are wrong ours are not; docs/export.md lists the differences.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from stepscope.deliver.capture_directory.communication_calls import communication_calls
from stepscope.deliver.capture_directory.communication_matrix import communication_matrix
from stepscope.deliver.capture_directory.rank_data import RankData
from stepscope.deliver.cluster_files.communication import ClusterCommunication
from stepscope.deliver.cluster_files.groups import ClusterGroups
from stepscope.deliver.cluster_files.matrix import ClusterMatrix
from stepscope.deliver.cluster_files.reported_values import reported_bands, reported_matrix
from stepscope.deliver.cluster_files.step_trace import step_trace
from stepscope.errors import NoAnswerError
from stepscope.store.run_store import RunStore

FOLDER: Final = "cluster_analysis_output"


def write(store: RunStore, ranks: Sequence[int], directory: Path) -> None:
    """Write the files of some ranks below a new directory; those that would be empty are left out."""
    groups = ClusterGroups(store)
    communication, matrix = ClusterCommunication(), ClusterMatrix()
    for rank in ranks:
        calls = communication_calls(RankData(store, rank))
        groups.add(rank, calls)
        communication.add(rank, calls, reported_bands(store, rank))
        matrix.add(
            reported_matrix(store, rank, groups.ranks_of) or communication_matrix(calls, "torch") or {}, groups.ranks_of
        )
    steps = step_trace(store, ranks)
    if steps is None and not groups.members:
        raise NoAnswerError("nothing_for_cluster_files")
    folder = directory / FOLDER
    folder.mkdir(parents=True)
    if steps is not None:
        steps.write_csv(folder / "cluster_step_trace_time.csv")
    if groups.members:
        (folder / "communication_group.json").write_text(json.dumps(groups.document()), "utf-8")
        communication.write(folder / "cluster_communication.json", groups.members)
        matrix.write(folder / "cluster_communication_matrix.json", groups.members)

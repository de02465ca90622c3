"""Which ranks of a host belong together: the identity of a job, from its launcher."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

from stepscope.profiler.dynamic.board import process_started
from stepscope.profiler.foundation.rank_identity import Identity

#: What launchers tell all ranks of a job and no other job.
_TOLD = (
    "TORCHELASTIC_RUN_ID",
    "MASTER_ADDR",
    "MASTER_PORT",
    "MS_SCHED_HOST",
    "MS_SCHED_PORT",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "OMPI_MCA_ess_base_jobid",
    "PMIX_NAMESPACE",
    "RANK_TABLE_FILE",
)


def job_of(identity: Identity, folder: Path) -> str | None:
    """A name that the ranks of this job on this host share; None for a job of one process."""
    spawned = multiprocessing.parent_process() is not None
    if identity.world_size < 2 and not spawned:
        return None
    told = [f"{name}={os.environ[name]}" for name in _TOLD if os.environ.get(name)]
    if not told:
        parent = os.getppid()
        told = [f"parent={parent}/{process_started(parent)}"]
    return "\n".join([str(folder), *told])

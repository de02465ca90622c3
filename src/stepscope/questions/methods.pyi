"""Made from the declarations of the questions; do not edit by hand (`make docs`)."""

from collections.abc import Sequence
from typing import Any, Literal

import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.cluster.question import Cluster
from stepscope.analysis.communication.types import Communication
from stepscope.analysis.cpu import Cpu
from stepscope.analysis.critical_path import CriticalPath
from stepscope.analysis.drill import Drill
from stepscope.analysis.flops.question import Flops
from stepscope.analysis.launches.types import Launches
from stepscope.analysis.leaks.structures import Leaks
from stepscope.analysis.memory.structures import Memory
from stepscope.analysis.occurrences.question import Occurrences
from stepscope.analysis.pipeline.structure import Pipeline
from stepscope.analysis.ranks import Ranks
from stepscope.analysis.summary import Summary
from stepscope.analysis.whatif import WhatIf
from stepscope.diagnosis.finding import Diagnosis

class QuestionMethods:
    def ask(self, question: str, **chosen: Any) -> Answer[Any]: ...
    def diagnose(
        self,
        *,
        ranks: Sequence[int] | None = None,
    ) -> Diagnosis:
        """Find out what to fix first: the verdict, all findings with evidence and advice, and what could not be checked."""
    def summary(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> Summary:
        """Show a run at a glance: the mean step of each rank, and whether computing, communication or idle time dominates."""
    def steps(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> pl.DataFrame:
        """Show where the time of each step goes: computing, exposed communication, copies, idle time and phases."""
    def operators(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
        by: Literal["kernel", "type", "operator", "shape", "module", "category", "core"] = "kernel",
        side: Literal["host", "device"] | None = None,
        lane: Literal["compute", "communication", "copy", "all"] | None = None,
        search: str | None = None,
        search_operator: str | None = None,
        kernel_type: str | None = None,
        category: str | None = None,
        sort: Literal["name", "type", "core", "operator", "category", "input_shapes", "count", "total_us", "avg_us", "min_us", "p50_us", "p95_us", "max_us", "share", "busy_share", "per_step_us", "self_us", "device_total_us", "device_self_us"] | None = None,
        ascending: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> pl.DataFrame:
        """Show what took the time: kernels and operators by name, type, shape, module, category or core."""
    def drill(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
        by: Literal["module", "category", "operator", "type", "core", "kernel"] | None = None,
        name: str | None = None,
        module: str | None = None,
        operator: str | None = None,
        lane: Literal["compute", "communication", "copy", "all"] | None = None,
        limit: int = 100,
    ) -> Drill:
        """Break down one row of operators: module, operators, kernels, slices."""
    def occurrences(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
        by: Literal["kernel", "type", "operator", "shape", "module", "category", "core"] = "kernel",
        name: str = "",
        side: Literal["host", "device"] | None = None,
        lane: Literal["compute", "communication", "copy", "all"] | None = None,
        kernel_type: str | None = None,
        core: str | None = None,
        input_shapes: str | None = None,
        dtypes: str | None = None,
        limit: int = 20,
    ) -> list[Occurrences]:
        """Show one row of operators in detail: durations, steps, shapes, call sites, longest slices."""
    def op_statistics(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> pl.DataFrame:
        """Show kernels by type and core, with the same columns as op_statistic.csv."""
    def marks(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> pl.DataFrame:
        """Show the ranges and marks that your own code sets with mstx, by name and rank."""
    def api_statistics(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> pl.DataFrame:
        """Show runtime and driver calls, with the same columns as api_statistic.csv."""
    def copies(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> pl.DataFrame:
        """Show copies by kind: bytes, time and bandwidth."""
    def flops(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
        by: Literal["operator", "shape"] = "operator",
        peak_tflops: float | None = None,
        memory_gb_per_s: float | None = None,
    ) -> Flops:
        """Show FLOPs per operator, the achieved rate, the roofline and MFU."""
    def launches(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
        gaps: int = 20,
    ) -> Launches:
        """Show how well the host keeps the device busy: launch latency, queue length, idle time by cause, gaps."""
    def critical_path(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> list[CriticalPath]:
        """Show the critical path of a step and what limits it."""
    def whatif(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
        changes: Sequence[str] = (),
    ) -> WhatIf:
        """Recompute the steps with something changed, such as 'MatMul*0.5', 'data=0', 'rank:5=median' or 'communication=overlapped', and show what that would gain."""
    def pipeline(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> Pipeline:
        """Show the input pipeline: stages and their queues, steps that wait for data, and which stage to change."""
    def communication(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
        group: str | None = None,
        operation: str | None = None,
        limit: int | None = None,
    ) -> Communication:
        """Show communication: operations, who waits for whom and which rank is the root cause, links and groups."""
    def collectives(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
        group: str | None = None,
        operation: str | None = None,
        limit: int = 2000,
    ) -> pl.DataFrame:
        """Show single communication calls over ranks and time, each with its wait and how far apart its members arrived."""
    def cluster(
        self,
        *,
        ranks: Sequence[int] | None = None,
    ) -> Cluster:
        """Show a job as a whole: its parallel plan, where the time of stages, hosts and groups goes, and how much faster it would be without slow ranks, stages or operations."""
    def ranks(
        self,
        *,
        ranks: Sequence[int] | None = None,
        sort: Literal["rank", "period", "computing", "communication", "idle", "wait", "caused_wait", "delay", "memory", "flops", "deviation"] = "rank",
        stage: int | None = None,
        host: str | None = None,
        dimension: str | None = None,
        outliers: bool = False,
    ) -> Ranks:
        """Show every rank: its coordinates, its mean step, how long it waited and made others wait, its rate and memory."""
    def cpu(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> Cpu:
        """Show the CPU use of the machine, the process, its workers and pipeline stages, step by step."""
    def memory(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
        at_ns: int | None = None,
        device: str | None = None,
    ) -> Memory:
        """Show memory curves, the peak and what it consists of, categories and fragmentation."""
    def leaks(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> Leaks:
        """Show which allocation sites leak, how certain that is, and why."""

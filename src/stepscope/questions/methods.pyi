"""Made from the declarations of the questions; do not edit by hand (`make docs`)."""

from collections.abc import Sequence
from typing import Any, Literal

import polars as pl

from stepscope.analysis.answer import Answer
from stepscope.analysis.cpu import Cpu
from stepscope.analysis.critical_path import CriticalPath
from stepscope.analysis.drill import Drill
from stepscope.analysis.flops.question import Flops
from stepscope.analysis.launches.types import Launches
from stepscope.analysis.leaks.structures import Leaks
from stepscope.analysis.memory.structures import Memory
from stepscope.analysis.pipeline.structure import Pipeline
from stepscope.analysis.summary import Summary
from stepscope.diagnosis.finding import Diagnosis

class QuestionMethods:
    def ask(self, question: str, **chosen: Any) -> Answer[Any]: ...
    def diagnose(
        self,
        *,
        ranks: Sequence[int] | None = None,
    ) -> Diagnosis:
        """Tell what to fix first: the verdict, all findings with evidence and advice, and what could not be checked."""
    def summary(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> Summary:
        """Show a run at a glance: medians per rank, and whether computing, communication or idle time is the problem."""
    def steps(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> pl.DataFrame:
        """Show where each step goes: computing, exposed communication, copies, free time, and the phases of the step."""
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
        """Show what a row of operators consists of: module, operators, kernels, slices."""
    def op_statistics(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> pl.DataFrame:
        """Show kernels by type and core, with the columns of op_statistic.csv."""
    def api_statistics(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> pl.DataFrame:
        """Show calls of runtime and driver, with the columns of api_statistic.csv."""
    def copies(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> pl.DataFrame:
        """Show copies by kind: bytes, time, and bytes over time."""
    def flops(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
        by: Literal["operator", "shape"] = "operator",
        peak_tflops: float | None = None,
        memory_gb_per_s: float | None = None,
    ) -> Flops:
        """Show FLOPs per operator, achieved rate, roofline position and MFU."""
    def launches(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
        gaps: int = 20,
    ) -> Launches:
        """Show how the host feeds the device: launch latency, queue length, idle time by cause, gaps."""
    def critical_path(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> list[CriticalPath]:
        """Show the critical path of a step and what bounds it."""
    def pipeline(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> Pipeline:
        """Show the input pipeline: operators with queue use, starving steps, and which stage to change."""
    def cpu(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> Cpu:
        """Show CPU use of machine, process, workers and pipeline operators, aligned with steps."""
    def memory(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
        at_ns: int | None = None,
        device: str | None = None,
    ) -> Memory:
        """Show memory curves, the peak and what lives there, categories and fragmentation."""
    def leaks(
        self,
        *,
        ranks: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> Leaks:
        """Show which allocation sites leak, with confidence and reason."""

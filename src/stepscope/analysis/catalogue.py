"""Every question that can be asked of a run: its command, its function, the type of its answer and its parameters.

The command line, the Python facade and the server all ask through this list, so they show the same numbers.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from stepscope.analysis.answer import Answer
from stepscope.store.run_store import RunStore


@dataclass(frozen=True)
class Parameter:
    """Something to choose beside ranks and steps."""

    name: str
    type: type[str] | type[int] | type[float] | type[bool]
    default: Any = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """``function`` of ``module`` takes a store, ranks, steps and the parameters; ``row`` is a type of that module."""

    name: str
    module: str
    function: str
    type_name: str
    many: bool  # the data is a list of that type
    parameters: tuple[Parameter, ...] = ()
    by_step: bool = True  # takes steps
    by_batch: bool = False  # takes numbers of batches as steps
    room: str = "analysis"

    def ask(self, store: RunStore, **chosen: Any) -> Answer[Any]:
        """The answer in this run."""
        if chosen.get("steps"):
            from stepscope.analysis.foundation.asked_steps import refuse_unknown_steps

            refuse_unknown_steps(store, chosen.get("ranks"), chosen["steps"], batches=self.by_batch)
        function: Callable[..., Answer[Any]] = getattr(self._module(), self.function)
        return function(store, **chosen)

    @property
    def type(self) -> Any:
        """The type of the data: a structure, or a list of structures."""
        kind: Any = getattr(self._module(), self.type_name)
        return list.__class_getitem__(kind) if self.many else kind

    def schema(self) -> dict[str, Any]:
        """JSON schema of the data."""
        return msgspec.json.schema(self.type)

    def _module(self) -> Any:
        return importlib.import_module(f"stepscope.{self.room}.{self.module}")


_ALL: Final = (
    Question("summary", "summary", "summary", "Summary", many=False),
    Question("steps", "steps", "steps", "Step", many=True),
    Question(
        "operators",
        "operators",
        "operators",
        "Operator",
        many=True,
        parameters=(
            Parameter("by", str, "kernel", ("kernel", "type", "operator", "shape", "module", "category", "core")),
            Parameter("side", str, None, ("host", "device")),
            Parameter("lane", str, None, ("compute", "communication", "copy", "all")),
            Parameter("search", str),
            Parameter("search_operator", str),
            Parameter("limit", int),
        ),
    ),
    Question(
        "drill",
        "drill",
        "drill",
        "Drill",
        many=False,
        parameters=(
            Parameter("by", str),
            Parameter("name", str),
            Parameter("module", str),
            Parameter("operator", str),
            Parameter("lane", str),
            Parameter("limit", int, 100),
        ),
    ),
    Question("op-statistics", "op_statistics", "op_statistics", "OpStatistic", many=True),
    Question("api-statistics", "api_statistics", "api_statistics", "ApiStatistic", many=True),
    Question("copies", "copies", "copies", "Copies", many=True),
    Question(
        "flops",
        "flops",
        "flops",
        "Flops",
        many=False,
        parameters=(
            Parameter("by", str, "operator", ("operator", "shape")),
            Parameter("peak_tflops", float),
            Parameter("memory_gb_per_s", float),
        ),
    ),
    Question("launches", "launches", "launches", "Launches", many=False, parameters=(Parameter("gaps", int, 20),)),
    Question("critical-path", "critical_path", "critical_path", "CriticalPath", many=True),
    Question("pipeline", "pipeline", "pipeline", "Pipeline", many=False, by_batch=True),
    Question("cpu", "cpu", "cpu", "Cpu", many=False, by_batch=True),
    Question(
        "memory",
        "memory",
        "memory",
        "Memory",
        many=False,
        parameters=(Parameter("at_ns", int), Parameter("device", str)),
    ),
    Question("leaks", "leaks", "leaks", "Leaks", many=False),
    Question("diagnose", "question", "diagnose", "Diagnosis", many=False, by_step=False, room="diagnosis"),
)

QUESTIONS: Final = {question.name: question for question in _ALL}

"""A server of the Model Context Protocol over standard input and output: six tools, all of them only read.

Captures are those named at the start; a tool chooses among them by name and can reach nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from stepscope.assistants.bounded import bounded
from stepscope.errors import StepscopeError, UsageError
from stepscope.questions.explain import explain as explained
from stepscope.questions.registry import QUESTIONS
from stepscope.report import json_document
from stepscope.run import Run, load
from stepscope.server.sql_workers import SqlWorkers
from stepscope.version import __version__

_MOST_ROWS = 200
_INSTRUCTIONS = """Stepscope says how a training job spends its time and what to fix first. Begin with diagnose.
Times end in _us (microseconds) or _ns, shares are 0..1, period_us is the length of a step. Captures: {captures}."""

_ASK = """One analysis of a capture. Questions: {questions}.
Options as on the command line, such as by (kernel, operator, module …), ranks, steps, limit, search."""


def mcp_server(paths: list[Path], store: Path | None) -> MCPServer:
    """The server with its tools; captures are read when they are first asked for."""
    known = {_name(path, paths): path for path in paths}
    workers = SqlWorkers()

    @cache
    def opened(name: str) -> Run:
        return load(known[name], store=store, progress=False)

    def run_of(capture: str | None) -> Run:
        name = capture or next(iter(known))
        if name not in known:
            raise UsageError("no_such_capture", name=name, names=", ".join(known))
        return opened(name)

    server = MCPServer("stepscope", instructions=_INSTRUCTIONS.format(captures=", ".join(known)), version=__version__)
    reads = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)

    @server.tool(annotations=reads)
    def diagnose(capture: str | None = None) -> dict[str, Any]:
        """What to fix first: the verdict, findings with evidence, gain and advice, and what was not checked."""
        return _bounded_answer(lambda: _asked(run_of(capture), "diagnose", {}))

    @server.tool(annotations=reads, description=_ASK.format(questions=", ".join(QUESTIONS)))
    def ask(question: str, options: dict[str, Any] | None = None, capture: str | None = None) -> dict[str, Any]:
        return _bounded_answer(lambda: _asked(run_of(capture), question, {"limit": _MOST_ROWS} | (options or {})))

    @server.tool(annotations=reads)
    def compare(
        a: str,
        b: str,
        rank_a: int | None = None,
        rank_b: int | None = None,
    ) -> dict[str, Any]:
        """Two captures, or two ranks of one: what got slower or faster, why, and whether it is more than noise."""

        def answer() -> dict[str, Any]:
            first, second = run_of(a), run_of(b)
            ranks = (None if rank_a is None else [rank_a], None if rank_b is None else [rank_b])
            comparison = first.compare(second, ranks=ranks)
            described = {"a": first.describe(), "b": second.describe()}
            return json_document.document("compare", described, [], msgspec.to_builtins(comparison))

        return _bounded_answer(answer)

    @server.tool(annotations=reads)
    def whatif(changes: list[str], capture: str | None = None) -> dict[str, Any]:
        """The step recomputed with something changed: ["MatMul*0.5"], ["data=0"], ["rank:5=median"]."""
        return _bounded_answer(lambda: _asked(run_of(capture), "whatif", {"changes": changes}))

    @server.tool(annotations=reads)
    async def sql(query: str, capture: str | None = None) -> dict[str, Any]:
        """One SELECT over the tables of a capture (slices, links, tracks, steps, ranks …), bounded in time and rows."""
        try:
            run = run_of(capture)
            frame, cut = await workers.select(run.store, query, _MOST_ROWS, _stays)
        except StepscopeError as error:
            raise ToolError(error.message()) from error
        return bounded(json_document.document("sql", run.describe(), [], frame.to_dicts()) | {"truncated": cut})

    @server.tool(annotations=reads)
    def explain(question: str, field: str, capture: str | None = None) -> dict[str, Any]:
        """What a field means: its formula, its source, and the vendor's value if there is one."""

        def answer() -> dict[str, Any]:
            run = run_of(capture)
            told = msgspec.to_builtins(explained(run.store, question, field, None, None))
            return json_document.document("explain", run.describe(), [], told)

        return _bounded_answer(answer)

    return server


def _asked(run: Run, question: str, options: dict[str, Any]) -> dict[str, Any]:
    declared = QUESTIONS.named(question)
    allowed = set(declared.signature.parameters) - {"store"}
    unknown = sorted(set(options) - allowed - {"limit"})
    if unknown:
        raise UsageError("no_such_option", option=unknown[0], options=", ".join(sorted(allowed)))
    answer = run.ask(question, **{name: value for name, value in options.items() if name in allowed})
    document = json_document.document(question, run.describe(), [*run.notes, *answer.notes], answer.plain())
    # Notes stand in their groups, once.
    return {name: value for name, value in document.items() if name != "notes"} | answer.plain_beside()


def _bounded_answer(answer: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """A bounded answer; what is wrong with the question or the data comes as an error of the tool."""
    try:
        return bounded(_json_ready(answer()))
    except StepscopeError as error:
        raise ToolError(error.message()) from error


def _json_ready(document: dict[str, Any]) -> dict[str, Any]:
    """As ``--json`` prints it: no value that JSON lacks."""
    decoded: dict[str, Any] = msgspec.json.decode(json_document.encoded(document))
    return decoded


async def _stays() -> bool:
    return False


def _name(path: Path, paths: list[Path]) -> str:
    """The file's own name where it tells the captures apart."""
    return path.name if sum(each.name == path.name for each in paths) == 1 else str(path)

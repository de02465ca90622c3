"""The server for assistants, driven by the protocol's own client: over a pipe once, in memory for the rest."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters

from stepscope.assistants.bounded import DATA_NOTE, MOST_BYTES, bounded
from stepscope.assistants.mcp_server import mcp_server
from support.recordings import DATA

_LOADER, _SLOW, _FAST = (
    DATA / name for name in ("loader_every_fourth.json.gz", "pair_fp32.json.gz", "pair_bf16.json.gz")
)


def _call(server: Any, tool: str, **arguments: Any) -> tuple[bool, Any]:
    """Whether the tool failed, and what it said."""

    async def call() -> tuple[bool, Any]:
        async with Client(server) as client:
            result = await client.call_tool(tool, arguments)
            text = "".join(getattr(part, "text", "") for part in result.content)
            return bool(result.is_error), result.structured_content or text

    return asyncio.run(call())


def test_an_assistant_gets_the_verdict_over_a_pipe(isolated_store: Path) -> None:
    program = "from stepscope.cli import main; main()"
    server = StdioServerParameters(
        command=sys.executable, args=["-c", program, "mcp", str(_LOADER), "--store", str(isolated_store)]
    )
    failed, answer = _call(server, "diagnose")
    assert not failed
    assert "every 4th step" in answer["data"]["verdict"]["sentence"]["en"]
    assert answer["note"] == DATA_NOTE


def test_the_tools_are_few_and_only_read(isolated_store: Path) -> None:
    async def tools() -> list[Any]:
        async with Client(mcp_server([_LOADER], isolated_store)) as client:
            return list((await client.list_tools()).tools)

    listed = asyncio.run(tools())
    assert sorted(tool.name for tool in listed) == ["ask", "compare", "diagnose", "explain", "sql", "whatif"]
    assert all(tool.annotations.read_only_hint for tool in listed)


def test_each_tool_answers(isolated_store: Path) -> None:
    server = mcp_server([_SLOW, _FAST], isolated_store)
    failed, answer = _call(server, "compare", a=_SLOW.name, b=_FAST.name)
    assert not failed
    assert answer["data"]["verdict"]["word"] == "faster"
    failed, answer = _call(
        server, "ask", question="operators", options={"by": "operator", "limit": 3}, capture=_FAST.name
    )
    assert not failed
    assert len([row for row in answer["data"] if row["side"] == "device"]) == 3
    failed, answer = _call(server, "sql", query="SELECT count(*) AS slices FROM slices")
    assert not failed
    assert answer["data"][0]["slices"] > 1000
    failed, answer = _call(server, "explain", question="steps", field="period_us")
    assert not failed
    failed, answer = _call(server, "whatif", changes=["aten::mm*0.5"])
    assert not failed


def test_only_the_captures_of_the_start_can_be_reached(isolated_store: Path) -> None:
    failed, answer = _call(mcp_server([_LOADER], isolated_store), "diagnose", capture=str(_SLOW))
    assert failed
    assert _LOADER.name in answer


def test_mistakes_are_errors_of_the_tool_with_what_to_do(isolated_store: Path) -> None:
    server = mcp_server([_LOADER], isolated_store)
    failed, answer = _call(server, "ask", question="nonsense")
    assert failed
    assert "summary" in answer
    failed, answer = _call(server, "ask", question="steps", options={"colour": "red"})
    assert failed
    assert "steps" in answer


def test_long_answers_are_cut_and_say_so(isolated_store: Path) -> None:
    failed, answer = _call(mcp_server([_FAST], isolated_store), "sql", query="SELECT * FROM slices")
    assert not failed
    assert answer["truncated"]
    assert len(json.dumps(answer)) < 2 * MOST_BYTES


def test_what_is_cut_is_counted() -> None:
    answer = bounded({"data": {"rows": [{"name": "x" * 100}] * 5000}}, 10_000)
    assert len(answer["data"]["rows"]) + answer["left_out"]["data.rows"] == 5000

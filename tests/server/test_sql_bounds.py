"""SQL of strangers: each bound holds, other requests do not wait, and nothing goes on for a client that has left."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import stepscope
from server.running import Served, served
from stepscope.errors import UsageError
from stepscope.facts.server import server_facts
from stepscope.server import sql_workers
from support.mini_trace import write_rank

_SLOW = "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000))"  # one call that no interrupt can stop


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("sql")
    with served(write_rank(place / "trace.json"), store=place / "store") as running:
        running.ready()
        yield running


def _ask(server: Served, query: str, **more: Any) -> Any:
    return server.client.post(f"{server.ready()}/sql", json={"query": query, **more})


def _bound(monkeypatch: pytest.MonkeyPatch, **changed: int) -> None:
    facts = msgspec.structs.replace(server_facts(), **changed)
    monkeypatch.setattr(sql_workers, "server_facts", lambda: facts)


def test_one_call_that_takes_for_ever_is_stopped(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as only_here:
        _bound(only_here, most_sql_seconds=1)
        stopped = _ask(server, _SLOW)
    assert (stopped.status_code, stopped.json()["code"]) == (400, "sql_too_long")
    assert _ask(server, "SELECT 1 AS one").json()["data"] == [{"one": 1}]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM (SELECT DISTINCT hash(a.range, b.range) FROM range(30000) a, range(30000) b)",
        "SELECT length(string_agg(repeat('x', 1000000), '')) FROM range(20000)",
        "SELECT repeat('x', 4000000000)",
    ],
)
def test_memory_is_bounded(server: Served, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    _bound(monkeypatch, most_sql_memory_bytes=200 << 20)
    refused = _ask(server, query)
    assert refused.status_code == 400, refused.text[:300]
    assert refused.json()["code"] in ("sql_too_much_memory", "sql_error")
    assert _ask(server, "SELECT 1 AS one").status_code == 200


def test_an_answer_is_cut_at_so_many_bytes(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    _bound(monkeypatch, most_sql_answer_bytes=100_000)
    answer = _ask(server, "SELECT repeat('x', 1000) AS text FROM range(5000)").json()
    assert answer["truncated"] is True
    assert len(answer["data"]) == 100


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT (1, 'a') AS v", "(1, a)"),
        ("SELECT [(1, 'a')] AS v", "[(1, a)]"),
        ("SELECT union_value(k := 1) AS v", "1"),
        ("SELECT {'a': 1} AS v", {"a": 1}),
        ("SELECT '00000000-0000-0000-0000-000000000001'::UUID AS v", "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_every_type_of_value_has_an_answer(server: Served, query: str, expected: Any) -> None:
    answer = _ask(server, query)
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"] == [{"v": expected}]


def test_41_slow_queries_keep_nobody_else_waiting_and_end_when_their_clients_leave(
    server: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _bound(monkeypatch, most_sql_seconds=10**6, sql_at_once=1)
    run = stepscope.load(write_rank(tmp_path / "trace.json"))
    workers = sql_workers.SqlWorkers()

    async def clients() -> list[Any]:
        have_left = False

        async def gone() -> bool:
            return have_left

        slow = [asyncio.create_task(workers.select(run.store, _SLOW, 10, gone)) for _ in range(41)]
        await asyncio.sleep(0.5)
        steps = await asyncio.to_thread(server.client.get, f"{server.ready()}/steps")
        assert steps.status_code == 200
        assert not any(task.done() for task in slow)
        have_left = True
        ended = await asyncio.gather(*slow, return_exceptions=True)
        have_left = False
        # The only process was at work on the first of them, for ever.
        return [*ended, await workers.select(run.store, "SELECT 1 AS one", 10, gone)]

    try:
        *ended, last = asyncio.run(clients())
    finally:
        workers.close()
    assert {error.code for error in ended} == {"sql_abandoned"}
    assert last.frame.rows() == [(1,)]


def test_more_queries_than_may_wait_are_refused_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _bound(monkeypatch, sql_at_once=1, most_sql_waiting=1, most_sql_seconds=10**6)
    run = stepscope.load(write_rank(tmp_path / "trace.json"))
    workers = sql_workers.SqlWorkers()

    async def clients() -> list[Any]:
        have_left = False

        async def gone() -> bool:
            return have_left

        waiting = [asyncio.create_task(workers.select(run.store, _SLOW, 10, gone)) for _ in range(2)]
        await asyncio.sleep(0.1)
        with pytest.raises(UsageError) as refused:
            await workers.select(run.store, "SELECT 1", 10, gone)
        have_left = True
        await asyncio.gather(*waiting, return_exceptions=True)
        return [refused.value.code]

    try:
        assert asyncio.run(clients()) == ["sql_busy"]
    finally:
        workers.close()

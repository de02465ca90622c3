"""Routes give what the functions behind them give, and the documents that the commands print."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

import stepscope
from server.running import Served, served
from stepscope.analysis.timeline import wire
from stepscope.analysis.timeline.tracks import tracks
from stepscope.analysis.timeline.view import TimelineView
from stepscope.cli import app as command_line
from stepscope.facts.server import server_facts
from stepscope.questions import QUESTIONS
from stepscope.report.json_document import document
from stepscope.server.routes.texts import PAGE_SECTIONS
from stepscope.texts import LANGUAGES, text
from support.limits import at_most
from support.mini_trace import write_capture


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_capture(tmp_path_factory.mktemp("data") / "capture", [0, 1], steps=3)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def server(capture: Path, store: Path) -> Iterator[Served]:
    with served(capture, store=store) as running:
        running.ready()
        yield running


def _json(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


class TestTimeline:
    def test_tracks_tiles_and_counters_are_those_of_the_run(self, server: Served, capture: Path, store: Path) -> None:
        view = TimelineView(stepscope.load(capture, store=store).store)
        run = server.ready()
        assert server.client.get(f"{run}/tracks?rank=0&rank=1").json() == _json(tracks(view, [0, 1]))
        keys = [{"rank": rank, "block": block, "level": 12, "index": 0} for rank in (0, 1) for block in (0, -1)]
        body = server.client.post(f"{run}/tiles", json={"tiles": keys})
        assert body.headers["content-type"] == "application/octet-stream"
        assert body.content == wire.slice_tiles(view, [wire.TileKey(**key) for key in keys])
        counter = next(t.track for g in tracks(view, None).ranks[0].groups for t in g.tracks if t.counter)
        key = {"rank": 0, "track": counter, "level": 12, "index": 0}
        body = server.client.post(f"{run}/counters", json={"tiles": [key]})
        assert body.content == wire.counter_tiles(view, [wire.CounterKey(**key)])
        assert len(body.content) > 40

    def test_a_search_leads_to_a_slice_its_links_and_statistics(self, server: Served) -> None:
        run = server.ready()
        found = server.client.get(f"{run}/search", params={"q": "aten::mm", "rank": 1, "limit": 1}).json()
        assert found["total"] == 9
        hit = found["hits"][0]
        details = server.client.get(f"{run}/slice/1/{hit['slice']}").json()
        assert (details["name"], details["dur_ns"], details["children"]["total"]) == ("aten::mm", 50_000, 1)
        flows = server.client.post(f"{run}/flows", json={"slices": [{"rank": 1, "slice": hit["slice"]}]}).json()
        assert flows["total"] == details["links_total"] > 0
        window = {"from_ns": details["at_ns"], "to_ns": details["end_at_ns"], "rows": [{"rank": 1}]}
        stats = server.client.post(f"{run}/stats", json=window).json()
        assert {"aten::mm", "sgemm_128x64", "cudaLaunchKernel"} <= {entry["name"] for entry in stats["entries"]}
        shown = server.client.post(f"{run}/flows", json=window).json()
        assert shown["total"] >= flows["total"]
        assert server.client.get(f"{run}/names?rank=1&limit=2").json()["total"] > 5
        lanes = server.client.get(f"{run}/lanes?rank=0&rank=1").json()
        assert [rank["rank"] for rank in lanes["ranks"]] == [0, 1]
        tree = server.client.post(f"{run}/flame", json=window).json()
        assert {"aten::mm", "sgemm_128x64"} <= {node["name"] for node in tree["nodes"]}
        (place,) = server.client.post(f"{run}/slices", json={"slices": [{"rank": 1, "slice": hit["slice"]}]}).json()
        assert place == hit
        stretch = {"rank": 1, "from_ns": details["at_ns"], "to_ns": details["end_at_ns"]}
        trace = server.client.get(f"{run}/trace", params=stretch)
        names = {event["name"] for event in json.loads(gzip.decompress(trace.content))["traceEvents"]}
        assert {"aten::mm", "sgemm_128x64", "cudaLaunchKernel"} <= names

    @pytest.mark.parametrize(
        ("path", "body", "status", "code"),
        [
            ("tiles", {"tiles": []}, 422, "invalid_request"),
            ("tiles", {"tiles": [{"rank": 0, "block": 0, "level": 51, "index": 0}]}, 422, "invalid_request"),
            ("tiles", {"tiles": [{"rank": 0, "block": 0, "level": 3, "index": 1e300}]}, 422, "invalid_request"),
            ("tiles", {"tiles": [{"rank": 9, "block": 0, "level": 3, "index": 0}]}, 404, "no_such_rank"),
            ("stats", {"from_ns": 5, "to_ns": 4, "rows": [{"rank": 0}]}, 422, "invalid_request"),
            ("stats", {"from_ns": 5, "to_ns": 6, "rows": [{"rank": 0}], "by": "x"}, 422, "invalid_request"),
            ("flows", {}, 422, "invalid_request"),
            ("flows", {"from_ns": 2, "to_ns": 1, "rows": [{"rank": 0}]}, 422, "invalid_request"),
            ("sql", {"query": ""}, 422, "invalid_request"),
        ],
    )
    def test_wrong_questions_are_answered_with_a_reason(
        self, server: Served, path: str, body: dict[str, Any], status: int, code: str
    ) -> None:
        answer = server.client.post(f"{server.ready()}/{path}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        assert answer.json()["message"]

    @pytest.mark.parametrize(
        ("path", "status", "code"),
        [
            ("slice/0/4000000000", 404, "no_such_slice"),
            ("slice/0/x", 422, "invalid_request"),
            ("tracks?rank=99", 404, "no_such_rank"),
            ("search?q=(&mode=regex", 400, "search_pattern"),
            ("search", 422, "invalid_request"),
            ("nothing", 404, "no_such_route"),
            ("explain/nothing?field=x", 400, "no_such_question"),
            ("explain/steps?field=x", 400, "no_such_field"),
        ],
    )
    def test_what_is_not_there_is_a_clear_error(self, server: Served, path: str, status: int, code: str) -> None:
        answer = server.client.get(f"{server.ready()}/{path}")
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


def _ask(server: Served, question: str, **params: Any) -> Any:
    answer = server.client.get(f"{server.ready()}/{question}", params={"lang": "en", **params})
    assert answer.status_code == 200, answer.text
    return answer


class TestAnalyses:
    def test_the_document_is_byte_for_byte_that_of_the_command(
        self, server: Served, capture: Path, store: Path
    ) -> None:
        for name in ("steps", "summary"):
            printed = CliRunner().invoke(
                command_line, [name, str(capture), "--store", str(store), "--json", "--rank", "1", "--lang", "en"]
            )
            assert _ask(server, name, rank=1).content == printed.stdout_bytes

    @pytest.mark.parametrize("name", list(QUESTIONS))
    def test_every_question_answers_or_says_why_not(
        self, server: Served, capture: Path, store: Path, name: str
    ) -> None:
        run = stepscope.load(capture, store=store)
        answer = server.client.get(f"{server.ready()}/{name}", params={"lang": "en"})
        if answer.status_code == 200:
            expected = run.ask(name)
            notes = [*run.notes, *expected.notes]
            told = document(name, run.describe(), notes, expected.plain()) | expected.plain_beside()
            assert answer.json() == _json(told)
        else:
            assert (answer.status_code, bool(answer.json()["message"])) == (422, True)

    def test_integers_that_javascript_would_round_come_as_text_on_request(self, server: Served) -> None:
        plain = _ask(server, "steps").json()["data"][0]["start_ns"]
        assert plain > 2**53
        exact = _ask(server, "steps", integers="text").json()["data"][0]
        assert (exact["start_ns"], exact["step"]) == (str(plain), 0)

    def test_lists_that_nobody_needs_come_empty(self, server: Served) -> None:
        run = server.ready()
        whole = server.client.get(f"{run}/summary").json()["data"]
        rest = server.client.get(f"{run}/summary?without=ranks").json()["data"]
        assert len(whole["ranks"]) == 2 and rest == {**whole, "ranks": []}
        assert server.client.get(f"{run}/summary?without=delimitation").status_code == 422

    def test_a_step_that_is_not_there_has_no_answer(self, server: Served) -> None:
        answer = server.client.get(f"{server.ready()}/steps?step=77")
        assert (answer.status_code, answer.json()["code"]) == (422, "no_such_step")

    def test_fields_are_explained(self, server: Served) -> None:
        found = _ask(server, "explain/steps", field="free_us").json()
        assert found["data"]["formula"]
        listed = server.client.get("/api/questions").json()
        assert {question["name"] for question in listed} == set(QUESTIONS)
        assert all(field["en"] and field["zh"] for question in listed for field in question["fields"])


class TestSql:
    def _sql(self, server: Served, query: str, **more: Any) -> Any:
        return server.client.post(f"{server.ready()}/sql", json={"query": query, **more})

    def test_rows_come_with_columns_and_a_bound(self, server: Served) -> None:
        found = self._sql(server, "SELECT step, count(*) AS n FROM steps GROUP BY step ORDER BY step", limit=2).json()
        assert found["schema"] == "stepscope.sql/1"
        assert found["data"] == [{"step": 0, "n": 2}, {"step": 1, "n": 2}]
        assert found["truncated"] is True
        assert [column["name"] for column in found["columns"]] == ["step", "n"]
        assert self._sql(server, "SELECT 1 AS one").json()["truncated"] is False

    @pytest.mark.parametrize(
        ("query", "code"),
        [
            ("DROP VIEW slices", "sql_only_select"),
            ("COPY slices TO 'x.csv'", "sql_only_select"),
            ("SELECT 1; SELECT 2", "sql_one_statement"),
            ("SELECT * FROM read_csv('/etc/passwd')", "sql_error"),
            ("SELECT * FROM '/etc/passwd'", "sql_error"),
            ("SELECT getenv('HOME')", "sql_error"),
            ("ATTACH 'x.db'", "sql_only_select"),
            ("SELEC", "sql_error"),
        ],
    )
    def test_nothing_is_written_and_no_other_file_read(self, server: Served, query: str, code: str) -> None:
        refused = self._sql(server, query)
        assert (refused.status_code, refused.json()["code"]) == (400, code), refused.text

    def test_a_query_without_end_is_stopped(self, server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        hurried = msgspec.structs.replace(server_facts(), most_sql_seconds=0.3)
        monkeypatch.setattr("stepscope.server.sql_workers.server_facts", lambda: hurried)
        endless = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
        with at_most(30):
            stopped = self._sql(server, endless)
            assert (stopped.status_code, stopped.json()["code"]) == (400, "sql_too_long")
            monkeypatch.undo()  # 0.3 s may be short for any query on a busy machine
            assert self._sql(server, "SELECT 1 AS one").status_code == 200

    def test_tables_are_listed_with_their_columns(self, server: Served) -> None:
        listed = {table["name"]: table for table in server.client.get(f"{server.ready()}/tables").json()}
        assert listed["steps"]["rows"] == 6
        assert "start_ns" in {column["name"] for column in listed["slices"]["columns"]}


class TestProofPictures:
    def test_a_picture_shows_the_slices_around_a_proof(self, server: Served) -> None:
        run = server.ready()
        findings = server.client.get(f"{run}/diagnose").json()["data"]["findings"]
        shown = [each for each in findings if any(proof["end_ns"] is not None for proof in each["proof"])]
        for finding in shown:
            for picture in server.client.get(f"{run}/proof-pictures?finding={finding['id']}").json():
                assert picture["finding"] == finding["id"]
                assert 0 <= picture["proof_start_ns"] <= picture["proof_end_ns"] <= picture["dur_ns"]
                at = picture["rank"], picture["start_ns"] + picture["proof_start_ns"]
                assert at in {(proof["rank"], proof["start_ns"]) for proof in finding["proof"]}
        assert shown

    def test_an_unknown_finding_has_none(self, server: Served) -> None:
        assert server.client.get(f"{server.ready()}/proof-pictures?finding=nothing-0").json() == []


class TestTexts:
    def test_sentences_of_the_page_come_by_language(self, server: Served) -> None:
        for lang in LANGUAGES:
            sentences = server.client.get(f"/api/texts?lang={lang}").json()
            assert sentences["leak_reason.before_window"] == text("leak_reason.before_window", lang)
            assert {key.partition(".")[0] for key in sentences} == set(PAGE_SECTIONS)

"""Host, Origin and token are checked before anything else; every answer carries the safety headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.running import Served, served
from stepscope.server.settings import Settings
from support.mini_trace import complete, training_step, write_rank, write_trace


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rank(tmp_path_factory.mktemp("data") / "trace.json")


@pytest.fixture(scope="module")
def server(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(trace, store=tmp_path_factory.mktemp("store")) as running:
        yield running


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:9999", "localhost:8080", "[::1]:8080", "LOCALHOST"])
def test_this_machine_s_names_are_answered(server: Served, host: str) -> None:
    assert server.client.get("/api/runs", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8080", "evil", "8.8.8.8", "", "[::2]"]
)
def test_foreign_hosts_are_refused(server: Served, host: str) -> None:
    for path in ("/api/runs", "/"):
        refused = server.client.get(path, headers={"Host": host})
        assert (refused.status_code, refused.json()["code"]) == (403, "foreign_host")


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:9999", "http://127.0.0.1.evil.example", "file://", "x[://"],
)
def test_foreign_origins_are_refused(server: Served, origin: str) -> None:
    run = server.ready()
    for ask in (server.client.get, server.client.post, server.client.delete):
        refused = ask(run, headers={"Origin": origin})
        assert (refused.status_code, refused.json()["code"]) == (403, "foreign_origin")
    assert server.client.post(f"{run}/open", headers={"Origin": "http://127.0.0.1:8080"}).status_code == 202


def test_a_proxy_s_name_is_answered_once_it_is_allowed(trace: Path) -> None:
    with served(trace, allowed_hosts=("notebook.example",)) as server:
        headers = {"Host": "notebook.example", "Origin": "https://notebook.example"}
        assert server.client.get("/api/runs", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("host", "answered"), [("10.0.0.7:8080", True), ("[fe80::1]:8080", True), ("evil.example", False)]
)
def test_bound_to_all_addresses_any_address_is_answered_but_no_foreign_name(host: str, answered: bool) -> None:
    assert Settings(roots=(), host="0.0.0.0").answers_for(host) is answered


class TestToken:
    def test_nothing_is_given_without_it(self, trace: Path) -> None:
        with served(trace, token="secret") as server:
            for path in ("/", "/api/runs", "/api/openapi.json", "/assets/x.js", "/api/runs?token=wrong"):
                refused = server.client.get(path)
                assert (refused.status_code, refused.json()["code"]) == (401, "token_needed")
            assert server.client.post("/api/runs?token=secret", json={"path": "x"}).status_code == 401

    def test_the_printed_address_puts_it_into_a_cookie(self, trace: Path) -> None:
        with served(trace, token="secret") as server:
            moved = server.client.get("/?token=secret&lang=zh")
            assert (moved.status_code, moved.headers["location"]) == (303, "/?lang=zh")
            cookie = moved.headers["set-cookie"]
            assert re.search(r"httponly", cookie, re.IGNORECASE)
            assert re.search(r"samesite=strict", cookie, re.IGNORECASE)
            assert server.client.get("/api/runs").status_code == 200

    @pytest.mark.parametrize(
        ("header", "status"), [("Bearer secret", 200), ("Bearer wrong", 401), ("secret", 401), ("Bearer", 401)]
    )
    def test_programs_send_it_in_a_header(self, trace: Path, header: str, status: int) -> None:
        with served(trace, token="secret") as server:
            assert server.client.get("/api/runs", headers={"Authorization": header}).status_code == status

    @pytest.mark.parametrize("cookie", ["stepscope_8080=wrong", "stepscope_8080=", "\x00;;==", "other=secret"])
    def test_odd_cookies_are_no_token(self, trace: Path, cookie: str) -> None:
        with served(trace, token="secret") as server:
            assert server.client.get("/api/runs", headers={"Cookie": cookie}).status_code == 401

    def test_it_does_not_lead_to_another_site(self, trace: Path) -> None:
        with served(trace, token="secret") as server:
            moved = server.client.get("http://127.0.0.1:8080//evil.example/?token=secret")
            assert moved.headers["location"] == "/evil.example/"


class TestBasePath:
    @pytest.mark.parametrize("prefix", ["", "/proxy/8080"])
    def test_addresses_work_with_and_without_the_prefix(self, trace: Path, prefix: str) -> None:
        with served(trace, base_path="/proxy/8080") as server:
            assert server.client.get(f"{prefix}/api/runs").status_code == 200
            assert server.client.get(f"{prefix}/api/openapi.json").status_code == 200

    def test_the_prefix_without_a_slash_is_completed(self, trace: Path) -> None:
        with served(trace, base_path="/proxy/8080") as server:
            assert server.client.get("/proxy/8080").headers["location"] == "/proxy/8080/"
            assert server.client.get("/proxy/8080x/api/runs").status_code == 404

    def test_the_token_s_cookie_is_bound_to_it(self, trace: Path) -> None:
        with served(trace, base_path="/p", token="secret") as server:
            moved = server.client.get("/p/?token=secret")
            assert moved.headers["location"] == "/p/"
            assert "Path=/p/" in moved.headers["set-cookie"]


@pytest.mark.parametrize("path", ["/", "/api/runs", "/api/nothing", "/api/run/x/tracks"])
def test_every_answer_carries_the_safety_headers(server: Served, path: str) -> None:
    headers = server.client.get(path).headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers


def test_script_in_names_travels_as_data(tmp_path: Path) -> None:
    evil = "<script>alert('名')</script>"
    path = write_trace(
        tmp_path / f"{evil.replace('/', '_')}.json", [*training_step(0), complete(evil, "1.000", "2.000")]
    )
    with served(path) as server:
        run = server.ready()
        answers = [server.client.get(f"{run}{question}") for question in ("/tracks", "/search?q=script", "")]
        answers += [server.client.get("/api/runs"), server.client.get("/api/<script>alert(1)</script>")]
        for answer in answers:
            assert answer.headers["content-type"] == "application/json"
            assert "alert" in answer.text
        assert evil in answers[0].json()["ranks"][0]["names"]


@pytest.mark.parametrize(("peer", "encoding"), [("127.0.0.1", None), ("::1", None), ("10.1.2.3", "gzip")])
def test_only_other_machines_get_compressed_answers(trace: Path, peer: str, encoding: str | None) -> None:
    with served(trace, client=(peer, 1)) as server:
        answer = server.client.get(f"{server.ready()}/tables", headers={"Accept-Encoding": "gzip"})
        assert answer.headers.get("content-encoding") == encoding
        assert len(answer.json()) > 10

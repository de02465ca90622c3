"""The commands around recording: profile, analyse, profiler-zip."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from stepscope.cli.analyse import analyse, parse_window
from stepscope.cli.profile import environment, taken_over
from stepscope.cli.profiler_zip import write_zip
from stepscope.errors import NoAnswerError, UsageError
from stepscope.profiler import profile, schedule

from .test_shipping import EVERYTHING, OLD_PYTHON


def test_the_zip_is_all_that_a_training_machine_needs(tmp_path: Path) -> None:
    archive = tmp_path / "profiler.zip"
    write_zip(archive)
    first = archive.read_bytes()
    write_zip(archive)
    assert archive.read_bytes() == first, "the same sources give the same file"
    assert archive.stat().st_size < 200_000
    listed = zipfile.ZipFile(archive).namelist()
    assert {name.split("/")[1] for name in listed} == {"__init__.py", "version.py", "layout", "profiler"}
    script = tmp_path / "job.py"
    script.write_text(EVERYTHING)
    for python in filter(None, (sys.executable, OLD_PYTHON)):
        done = subprocess.run(
            [python, "-S", "-W", "always", str(script), str(tmp_path / "out")],
            env={"PYTHONPATH": str(archive), "STEPSCOPE_LANG": "en"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "stepscope analyse" in done.stderr


def test_windows_are_parsed_and_a_broken_one_does_not_stop_the_others(
    tmp_path: Path, plain: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with profile(schedule=schedule(wait=0, active=1, repeat=2), output_path=str(tmp_path / "out")) as prof:
        for _ in range(3):
            prof.step()
    good, bad = (window.directory for window in prof.windows)
    (bad / "STEPSCOPE" / "trace.json").write_text("not a trace")
    with pytest.raises(NoAnswerError, match="1 of 2"):
        analyse([tmp_path / "out", tmp_path / "out" / ".." / "out"], jobs=1, store=tmp_path / "store")
    shown = capsys.readouterr()
    assert good.name in shown.out
    assert bad.name in shown.err
    assert (good / "ASCEND_PROFILER_OUTPUT").is_dir()


def test_a_place_without_captures_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(NoAnswerError, match="nothing"):
        analyse([tmp_path])


def test_redundant_vendor_data_goes_unless_kept(tmp_path: Path, plain: None) -> None:
    with profile(output_path=str(tmp_path / "out")) as prof:
        pass
    directory = prof.windows[0].directory
    for place in ("mindstudio_profiler_output", "host/sqlite", "host/data"):
        (directory / "PROF_1_2_3" / place).mkdir(parents=True)
    assert parse_window(directory, None, True, tmp_path / "store")["error"] is None
    assert (directory / "PROF_1_2_3" / "host" / "sqlite").is_dir()
    parse_window(directory, None, False, tmp_path / "store")
    assert sorted(str(place.relative_to(directory / "PROF_1_2_3")) for place in directory.glob("PROF_1_2_3/*/*")) == [
        "host/data"
    ]


def test_mindspores_own_options_are_taken_over_and_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MS_PROFILER_OPTIONS", '{"start": true, "output_path": "x", "aic_metrics": "AicoreNone"}')
    options = taken_over('{"start": true, "output_path": "x", "aic_metrics": "AicoreNone"}')
    assert options == {"output_path": "x", "aic_metrics": "AicoreNone"}
    child = environment(options)
    assert "MS_PROFILER_OPTIONS" not in child
    assert json.loads(child["STEPSCOPE_PROFILE"]) == options
    assert (Path(child["PYTHONPATH"].split(":")[0]) / "sitecustomize.py").is_file()


@pytest.mark.parametrize("text", ["{", "[]", "3"])
def test_malformed_options_are_an_error_where_somebody_reads_it(text: str) -> None:
    with pytest.raises(UsageError, match="MS_PROFILER_OPTIONS"):
        taken_over(text)


def test_the_start_up_file_hands_on_to_the_machines_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os\nos.environ['MINE'] = 'ran'\n")
    child = environment({})
    child.pop("STEPSCOPE_PROFILE")
    child["PYTHONPATH"] += f":{tmp_path}"
    script = "import os; print(os.environ['MINE'])"
    done: Any = subprocess.run([sys.executable, "-c", script], env=child, capture_output=True, text=True, check=True)
    assert done.stdout == "ran\n"

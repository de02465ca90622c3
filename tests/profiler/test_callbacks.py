"""Ready-made callbacks, in cases that need no framework: small trainers stand in, with the hooks and the checks that
the real ones document. The real ones run in test_trainers.py, MindSpore's Model.train in test_mindspore.py."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from stepscope.profiler import DynamicProfilerMonitor, callbacks, profile, schedule


@pytest.fixture(autouse=True)
def _plain(plain: None) -> None:
    """No framework."""


class TrainerCallback:
    """Every hook of a Hugging Face callback is called, with keywords; its base class has them all."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None: ...
    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None: ...
    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None: ...
    def on_substep_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None: ...
    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None: ...
    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None: ...


class LightningCallback:
    """The same for Lightning."""

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None: ...
    def on_train_start(self, trainer: Any, pl_module: Any) -> None: ...
    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None: ...
    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None: ...
    def on_train_end(self, trainer: Any, pl_module: Any) -> None: ...
    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None: ...


def _transformers(callback: Any, steps: int, first: int = 0) -> None:
    state = types.SimpleNamespace(global_step=first)
    assert isinstance(callback, TrainerCallback)

    def call(hook: str) -> None:
        assert getattr(callback, hook)("args", state, "control", model=None, optimizer=None) is None

    call("on_train_begin")
    call("on_epoch_begin")
    for _ in range(steps):
        call("on_step_begin")
        call("on_substep_end")
        state.global_step += 1
        call("on_step_end")
    call("on_train_end")


def _lightning(callback: Any, steps: int, fail_in: int | None = None) -> None:
    assert isinstance(callback, LightningCallback)
    callback.setup("trainer", "module", stage="fit")
    callback.on_train_start("trainer", "module")
    for batch in range(steps):
        callback.on_train_batch_start("trainer", "module", "batch", batch)
        if batch == fail_in:
            callback.on_exception("trainer", "module", ZeroDivisionError())
            return
        callback.on_train_batch_end("trainer", "module", "outputs", "batch", batch)
    callback.on_train_end("trainer", "module")


@pytest.fixture
def _frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, attribute, base in (
        ("transformers", "TrainerCallback", TrainerCallback),
        ("pytorch_lightning", "Callback", LightningCallback),
    ):
        module = types.ModuleType(name)
        setattr(module, attribute, base)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "lightning", None)


def _steps(folder: Path) -> list[list[int]]:
    found = []
    for path in sorted(folder.rglob("steps.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        found.append([line["step"] for line in lines if line["event"] == "end"])
    return found


@pytest.mark.usefixtures("_frameworks")
def test_transformers_records_the_range_in_the_trainers_numbers(tmp_path: Path) -> None:
    own = {"output_path": str(tmp_path), "on_trace_ready": None}
    callback = callbacks.TransformersProfiling(start_step=3, stop_step=5, **own)
    _transformers(callback, 8)
    assert _steps(tmp_path) == [[3, 4, 5]]


@pytest.mark.usefixtures("_frameworks")
def test_a_resumed_training_is_recorded_by_its_own_numbers(tmp_path: Path) -> None:
    callback = callbacks.TransformersProfiling(
        start_step=103, stop_step=104, output_path=str(tmp_path), on_trace_ready=None
    )
    _transformers(callback, 8, first=100)
    assert _steps(tmp_path) == [[103, 104]]


@pytest.mark.usefixtures("_frameworks")
@pytest.mark.parametrize(("first", "start"), [(0, 9), (7, 3)])
def test_a_start_step_that_the_training_does_not_make_is_told(
    first: int, start: int, tmp_path: Path, said: list[str]
) -> None:
    _transformers(
        callbacks.TransformersProfiling(start_step=start, stop_step=start, output_path=str(tmp_path)), 3, first
    )
    assert said == [
        f"The training made steps {first + 1} to {first + 3}, and start_step={start} is none of them: "
        "nothing was recorded. Choose one that it comes to."
    ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("_frameworks")
def test_lightning_takes_any_profile(tmp_path: Path) -> None:
    prof = profile(schedule=schedule(wait=1, active=2, repeat=2), start_profile=False, output_path=str(tmp_path))
    _lightning(callbacks.LightningProfiling(prof), 8)
    assert _steps(tmp_path) == [[1, 2], [4, 5]]
    assert not prof.running


@pytest.mark.usefixtures("_frameworks")
def test_lightning_keeps_what_was_recorded_when_the_training_fails(tmp_path: Path, said: list[str]) -> None:
    prof = profile(schedule=schedule(wait=0, active=5), start_profile=False, output_path=str(tmp_path))
    _lightning(callbacks.LightningProfiling(prof), 8, fail_in=2)
    assert _steps(tmp_path) == [[0, 1]]
    assert len(said) == 1


@pytest.mark.usefixtures("_frameworks")
@pytest.mark.parametrize(
    ("kind", "trainer"), [("TransformersProfiling", _transformers), ("LightningProfiling", _lightning)]
)
def test_a_monitor_sees_the_same_numbers_everywhere(kind: str, trainer: Any, tmp_path: Path) -> None:
    (tmp_path / "profiler_config.json").write_text(json.dumps({"start_step": 2, "stop_step": 4}))
    monitor = DynamicProfilerMonitor(str(tmp_path), str(tmp_path / "out"))
    trainer(getattr(callbacks, kind)(monitor), 6)
    assert [folder.name for folder in (tmp_path / "out").iterdir()] == ["rank0_start2_stop4"]
    assert _steps(tmp_path) == [[2, 3, 4]]


@pytest.mark.usefixtures("_frameworks")
@pytest.mark.parametrize(
    "given", [{}, {"start_step": 5, "stop_step": 2}, {"profiler": "prof"}, {"start_step": 0, "stop_step": 1}]
)
def test_wrong_arguments_cost_one_warning_and_no_training(given: dict[str, Any], said: list[str]) -> None:
    _transformers(callbacks.TransformersProfiling(**given), 3)
    assert len(said) == 1
    assert "Nothing is recorded" in said[0]


def test_nothing_absent_is_imported_and_what_is_missing_is_named() -> None:
    script = (
        "import sys, stepscope.profiler.callbacks as callbacks\n"
        "assert not {'torch', 'mindspore', 'transformers', 'lightning'} & set(sys.modules)\n"
        "sys.modules['transformers'] = None\n"
        "try:\n    callbacks.TransformersProfiling\n"
        "except ImportError as error:\n    print(error.name)\n"
        "print(hasattr(callbacks, 'Nothing'))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["transformers", "False"]

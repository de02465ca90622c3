"""PyTorch: its own profiler (Kineto) records operators, kernels, memory and stacks; we say when, and keep its trace."""

from __future__ import annotations

import errno
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepscope.layout.names import TRACE_FILE
from stepscope.profiler.backends import Backend, torch_session
from stepscope.profiler.backends.switches import not_served
from stepscope.profiler.backends.torch_garbage import GarbageMarks
from stepscope.profiler.foundation.guard import guarded
from stepscope.profiler.foundation.messages import warn
from stepscope.profiler.foundation.paths import exists
from stepscope.profiler.settings.enums import ProfilerLevel
from stepscope.profiler.settings.profile_settings import Settings

if TYPE_CHECKING:
    from stepscope.profiler.recording.window import Window


_BLOCK_BYTES = 1 << 20


class TorchBackend(Backend):
    """Drives ``torch.profiler._KinetoProfile``, the documented layer below ``torch.profiler.profile``."""

    name = "torch"
    framework = "pytorch"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        import torch

        self._torch: Any = torch
        self._turn: torch_session.Turn | None = None
        self._window: Callable[[], Window | None] = _no_window
        self._marker: Any = None
        self._garbage = GarbageMarks(torch)
        self._raw = Path()

    def prepare(self, window: Window) -> None:
        self._raw = window.raw
        self._window = weakref.ref(window)
        if self.settings.profiler_level is ProfilerLevel.LevelNone:
            return  # marks only
        torch_session.watch()
        if not torch_session.is_free():
            warn("other_thread" if torch_session.is_left_in_another_thread() else "foreign_profiler")
            return
        activities = self._activities()
        if not activities:
            warn("no_activity")
            return
        made = self._torch.profiler._KinetoProfile(
            activities=activities,
            record_shapes=self.settings.record_shapes,
            profile_memory=self.settings.profile_memory,
            with_stack=self.settings.with_stack,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some versions warn of cycles, which are not used here
            self._turn = torch_session.Turn(made, self.give_way)
            self._turn.prepare()

    def start(self) -> None:
        if self._turn is not None:
            self._turn.start()
            if self.settings.on_host and self._turn.recording:
                self._garbage.start()

    def begin_step(self, step: int) -> None:
        if self._turn is not None and self._turn.recording:
            self._marker = self._torch.profiler.record_function(f"ProfilerStep#{step}")
            self._marker.__enter__()

    def end_step(self, step: int) -> None:
        del step
        marker, self._marker = self._marker, None
        if marker is not None:
            marker.__exit__(None, None, None)

    def stop(self) -> None:
        self._garbage.stop()
        if self._turn is not None:
            self._turn.stop()

    def give_way(self) -> None:
        """The job's own profiler begins: a window that records ends here, one that is only prepared does without."""
        turn, window = self._turn, self._window()
        if turn is None:
            return
        if turn.recording and turn.is_here and window is not None:
            warn("gave_way")
            window.end_now("foreign_profiler")
        else:
            warn("foreign_profiler")
            self._garbage.stop()
            self._turn = None

    def save(self) -> None:
        turn = self._turn
        if turn is None:
            return
        if turn.recording:
            turn.left = True
            warn("other_thread")
        elif _is_empty(turn.kineto):
            warn("foreign_profiler")  # to export nothing ends the process
        else:
            self._export(turn.kineto)
        self._turn = None

    def discard(self) -> None:
        self._garbage.stop()
        if self._turn is not None:
            self._turn.discard()
            self._turn = None

    def describe(self) -> dict[str, Any]:
        torch = self._torch
        versions = {"torch": str(torch.__version__), "python": sys.version.split()[0]}
        if torch.version.cuda:
            versions["cuda"] = str(torch.version.cuda)
        return {"versions": versions, "device": self._device()}

    def unsupported(self) -> Iterable[str]:
        return not_served(self.settings)

    def watch_optimizer(self, on_step: Callable[[int], None]) -> Callable[[], None]:
        """By PyTorch's own hook on all optimizers, also those that were made before."""
        from torch.optim.optimizer import register_optimizer_step_post_hook

        seen: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        watch = _Watch()

        @guarded
        def after(optimizer: Any, args: Any, kwargs: Any) -> None:
            del args, kwargs
            if watch.over:
                return
            watch.inside = True
            try:
                on_step(seen.setdefault(optimizer, len(seen)))
            finally:
                watch.inside = False

        hook = register_optimizer_step_post_hook(after)

        def end() -> None:
            watch.over = True
            if not watch.inside:  # PyTorch goes through its hooks just now: one less would be an error in the training
                hook.remove()

        return end

    def _export(self, kineto: Any) -> None:
        trace, draft = self._raw / TRACE_FILE, self._raw / f".{TRACE_FILE}"
        if not exists(trace):
            _write_trace(kineto, draft)
            draft.chmod(0o640)
            draft.replace(trace)
        window = self._window()
        stepped = window is not None and window.steps_done + window.optimizer_steps > 0
        if stepped and self.settings.on_host and not _has(trace, b'"cat": "cpu_op"'):
            warn("no_operators")
        # Kineto itself wakes the GPU; only a job that has put something there uses it.
        cuda = self._torch.cuda
        used = self.settings.on_device and cuda.is_initialized() and cuda.max_memory_allocated()
        if used and not _has(trace, b'"cat": "kernel"'):
            warn("no_kernels")  # where its counters are not permitted, Kineto goes on and says nothing to the user

    def _activities(self) -> list[Any]:
        kinds = self._torch.profiler.ProfilerActivity
        activities = [kinds.CPU] if self.settings.on_host else []
        if self.settings.on_device:
            supported = self._torch.profiler.supported_activities()
            activities += [
                kind
                for name in ("CUDA", "XPU")
                if (kind := getattr(kinds, name, None)) is not None and kind in supported
            ]
        return activities

    def _device(self) -> dict[str, Any]:
        """What is known without waking a GPU that the job has not used."""
        cuda = self._torch.cuda
        if not cuda.is_initialized():
            return {"kind": "cpu"}
        index = cuda.current_device()
        properties = cuda.get_device_properties(index)
        return {
            "kind": "gpu",
            "name": properties.name,
            "index": index,
            "memory_capacity": properties.total_memory,
            "compute_units": properties.multi_processor_count,
        }


class _Watch:
    """Whether an optimizer's hook still counts, and whether it is being called."""

    inside = False
    over = False


def _write_trace(kineto: Any, draft: Path) -> None:
    """Kineto writes a trace once; after a call that was interrupted it is there."""
    if not exists(draft):
        kineto.export_chrome_trace(str(draft))
    if not exists(draft):  # Kineto writes its failures to its log only
        draft.with_name(f"{draft.name}.tmp").unlink(missing_ok=True)
        draft.open("wb").close()  # fails for the same reason, and tells it
        raise OSError(errno.ENOSPC, "Kineto could not write its trace", str(draft))


def _has(trace: Path, words: bytes) -> bool:
    end = b""
    with trace.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            if words in end + block:
                return True
            end = block[-len(words) :]
    return False


def _is_empty(kineto: Any) -> bool:
    """Whether PyTorch handed back nothing: the recording was ended by somebody else."""
    results = kineto.profiler.kineto_results
    began = getattr(results, "trace_start_ns", None) or getattr(results, "trace_start_us", None)
    return results is None or (began is not None and began() == 0)


def _no_window() -> Window | None:
    return None


def make(settings: Settings) -> TorchBackend:
    """The backend for the device that PyTorch runs on."""
    if "torch_npu" in sys.modules and settings.on_device:
        from stepscope.profiler.backends.torch_ascend import AscendTorchBackend, is_in_use

        if is_in_use():
            return AscendTorchBackend(settings)
    return TorchBackend(settings)

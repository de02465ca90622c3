"""Faults on the host: the device waits for a loader, a copy, Python, a file."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from planted.model import FEATURES, SIZES, Size, Training


class Batches(Dataset):  # type: ignore[misc]
    """One item is one batch, which takes some time to make."""

    def __init__(self, rows: int, seconds: float) -> None:
        self.rows, self.seconds = rows, seconds

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, number: int) -> Any:
        if self.seconds:
            time.sleep(self.seconds)
        return torch.full((self.rows, FEATURES), number % 7 / 7)


class SlowLoader(Training):
    """Two workers that need longer for two batches than the device for two steps."""

    seconds_a_batch = 0.08
    cpu_seconds_a_batch = 0.15

    def __init__(self, device: str, faulty: bool) -> None:
        super().__init__(device)
        seconds = self.seconds_a_batch if device == "cuda" else self.cpu_seconds_a_batch
        data = Batches(self.size.batch, seconds if faulty else 0.0)
        loader = DataLoader(data, batch_size=None, num_workers=2, pin_memory=device == "cuda")
        self._batches: Iterator[Any] = iter(loader)

    def batch(self, number: int) -> Any:
        del number
        return next(self._batches).to(self.device, self.dtype, non_blocking=True)

    def close(self) -> None:
        del self._batches


class PageableCopies(Training):
    """A batch is copied from ordinary memory while the device waits, instead of ahead of time from pinned memory."""

    width = 2048  # of a row on the host, of which the model uses a part

    def __init__(self, device: str, faulty: bool) -> None:
        super().__init__(device)
        self.faulty = faulty
        rows = torch.randn(self.size.batch, self.width)
        self._host = rows if faulty else rows.pin_memory()
        self._copies: Any = None if faulty else torch.cuda.Stream()
        self._next: Any = None

    def batch(self, number: int) -> Any:
        del number
        if self.faulty:
            return self._host.to(self.device)[:, :FEATURES].to(self.dtype)
        ready = self._next if self._next is not None else self._copied()
        torch.cuda.current_stream().wait_stream(self._copies)
        ready.record_stream(torch.cuda.current_stream())
        self._next = self._copied()
        return ready[:, :FEATURES].to(self.dtype)

    def _copied(self) -> Any:
        with torch.cuda.stream(self._copies):
            return self._host.to(self.device, non_blocking=True)


class TinyKernels(Training):
    """A loss worked out sample by sample in a Python loop, instead of for all at once."""

    samples = 48

    def __init__(self, device: str, faulty: bool) -> None:
        size = Size(batch=SIZES[device].batch, width=SIZES[device].width, layers=2)
        super().__init__(device, size if device == "cuda" else Size(batch=64, width=64, layers=2))
        self.faulty = faulty

    def loss(self, outputs: Any, inputs: Any) -> Any:
        outputs, inputs = outputs[: self.samples], inputs[: self.samples]
        if not self.faulty:
            return torch.nn.functional.mse_loss(outputs, inputs)
        total = torch.zeros((), device=self.device, dtype=self.dtype)
        for number in range(self.samples):
            total = total + (outputs[number] - inputs[number]).square().mean()
        return total / self.samples


class Synchronisations(Training):
    """Statistics of each layer are read at once, where the host could have gone on."""

    def __init__(self, device: str, faulty: bool) -> None:
        size = SIZES[device]
        # Half the batch: what a synchronisation costs is the same, and a larger share of the step.
        super().__init__(device, Size(batch=size.batch // 2, width=size.width, layers=size.layers))
        self.faulty = faulty
        self.read: list[float] = []
        self.unread: list[Any] = []
        self.model.after_layer = self._statistics

    def _statistics(self, rows: Any) -> Any:
        seen = rows.detach()
        for value in (seen.mean(), seen.amax(), seen.amin()):
            if self.faulty:
                self.read.append(value.item())
            else:
                self.unread.append(value)
        return rows

    def train(self, number: int) -> None:
        self.read.clear()
        self.unread.clear()
        super().train(number)


#: So many that a collection takes longer than the host is ahead of the device.
_OBJECTS = {"cpu": 150_000, "cuda": 1_500_000}


class GarbageCollection(Training):
    """Collects garbage in every step, with many objects alive."""

    def __init__(self, device: str, faulty: bool) -> None:
        super().__init__(device)
        self.faulty = faulty
        gc.freeze()  # PyTorch's own objects, of which each version has another number
        self._alive = [[number] for number in range(_OBJECTS[device])]

    def train(self, number: int) -> None:
        super().train(number)
        if self.faulty:
            gc.collect()

    def close(self) -> None:
        gc.unfreeze()


class CheckpointEveryStep(Training):
    """Saves the model in every step."""

    def __init__(self, device: str, faulty: bool) -> None:
        size = SIZES[device]
        super().__init__(device, Size(batch=size.batch, width=size.width, layers=3))
        self.faulty = faulty
        self._folder = tempfile.TemporaryDirectory(prefix="planted")

    def train(self, number: int) -> None:
        super().train(number)
        if self.faulty:
            torch.save(self.model.state_dict(), Path(self._folder.name) / "checkpoint.pt")

    def close(self) -> None:
        self._folder.cleanup()


class Jitter(Training):
    """Validates in the middle of every fourth step."""

    every = 4
    passes = 4

    def __init__(self, device: str, faulty: bool) -> None:
        super().__init__(device)
        self.faulty = faulty

    def train(self, number: int) -> None:
        super().train(number)
        if self.faulty and number % self.every == 0:
            with torch.no_grad():
                for _ in range(self.passes):
                    self.model(self.ready_batch)


class Recompilation(Training):
    """A compiled model that is compiled anew for each length of its batch."""

    def __init__(self, device: str, faulty: bool) -> None:
        super().__init__(device)
        import torch._dynamo

        torch._dynamo.reset()
        for limit in ("recompile_limit", "cache_size_limit"):
            if hasattr(torch._dynamo.config, limit):
                setattr(torch._dynamo.config, limit, 1000)
        self.faulty = faulty
        # This backend needs no compiler on the machine, and yet all that is traced is traced anew.
        self.model = torch.compile(self.model, dynamic=False, backend="aot_eager")

    def batch(self, number: int) -> Any:
        return self.ready_batch[: len(self.ready_batch) - number] if self.faulty else self.ready_batch


class MetricsInPython(Training):
    """Quantiles of the loss's inputs are worked out on the host in every step; recorded with stacks."""

    numbers = 200_000

    def __init__(self, device: str, faulty: bool) -> None:
        super().__init__(device)
        self.faulty = faulty
        self._measured = [float(number * 7919 % 10007) for number in range(self.numbers)]

    def train(self, number: int) -> None:
        super().train(number)
        if self.faulty:
            self.quantiles()

    def quantiles(self) -> list[float]:
        ordered = sorted(self._measured)
        return [ordered[len(ordered) * part // 100] for part in (5, 50, 95)]

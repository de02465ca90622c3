"""A small real training on the CPU with 16 known sites, 7 of them leaks. Each is a function whose name is its label.

Run as a script: ``python leaking_training.py DIRECTORY 12-4 20-0`` records 12 steps after 4 unrecorded ones to
``DIRECTORY/12-4.json``, and so on.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from typing import Any

LEAKS = (
    "leak_append",
    "leak_small",
    "leak_every_third",
    "leak_kept_loss",
    "leak_cycle",
    "leak_growing_buffer",
    "leak_kept_graph",
)
NOT_LEAKS = (
    "optimizer_state",
    "ring_of_three",
    "cache_of_four_shapes",
    "one_off",
    "fill_and_clear",
    "prefetch_two_deep",
    "replace_each_step",
    "replace_every_second_step",
    "temporary",
)


class Held:
    """What the functions below hold on to from step to step."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Any]] = {}
        self.rings: dict[str, deque[Any]] = {}
        self.values: dict[Any, Any] = {}

    def list_of(self, name: str) -> list[Any]:
        return self.lists.setdefault(name, [])


def leak_append(torch: Any, held: Held, step: int) -> None:
    held.list_of("append").append(torch.empty(100_000))


def leak_small(torch: Any, held: Held, step: int) -> None:
    held.list_of("small").append(torch.empty(64))


def leak_every_third(torch: Any, held: Held, step: int) -> None:
    if step % 3 == 0:
        held.list_of("third").append(torch.empty(50_000))


def leak_kept_loss(torch: Any, held: Held, step: int) -> None:
    weight = held.values.setdefault("weight", torch.ones(64, 64, requires_grad=True))
    held.list_of("losses").append((weight @ weight).sum())  # the sum holds its whole graph


def leak_cycle(torch: Any, held: Held, step: int) -> None:
    one: dict[str, Any] = {"data": torch.empty(20_000)}
    one["self"] = one


def leak_growing_buffer(torch: Any, held: Held, step: int) -> None:
    new = torch.empty(5_000)
    held.values["buffer"] = torch.cat([held.values["buffer"], new]) if "buffer" in held.values else new


def leak_kept_graph(torch: Any, held: Held, step: int) -> None:
    weight = held.values.setdefault("wide", torch.ones(128, 128, requires_grad=True))
    held.list_of("graphs").append(torch.tanh(weight).mean())  # 65,536 bytes of the tanh a step


def optimizer_state(torch: Any, held: Held, step: int) -> None:
    if "model" not in held.values:
        held.values["model"] = torch.nn.Linear(128, 256)
        held.values["optimizer"] = torch.optim.Adam(held.values["model"].parameters())
    held.values["optimizer"].zero_grad()
    held.values["model"](torch.ones(8, 128)).square().mean().backward()
    held.values["optimizer"].step()


def ring_of_three(torch: Any, held: Held, step: int) -> None:
    held.rings.setdefault("three", deque(maxlen=3)).append(torch.empty(30_000))


def cache_of_four_shapes(torch: Any, held: Held, step: int) -> None:
    size = 10_000 + 1_000 * (step % 4)
    if ("shape", size) not in held.values:
        held.values["shape", size] = torch.empty(size)


def one_off(torch: Any, held: Held, step: int) -> None:
    if step == 5:
        held.values["late"] = torch.empty(70_000)


def fill_and_clear(torch: Any, held: Held, step: int) -> None:
    filled = held.list_of("filled")
    if len(filled) == 4:
        filled.clear()
    filled.append(torch.empty(25_000))


def prefetch_two_deep(torch: Any, held: Held, step: int) -> None:
    queue = held.rings.setdefault("prefetch", deque())
    queue.append(torch.empty(40_000))
    if len(queue) > 2:
        queue.popleft()


def replace_each_step(torch: Any, held: Held, step: int) -> None:
    held.values["each"] = torch.empty(45_000)


def replace_every_second_step(torch: Any, held: Held, step: int) -> None:
    if step % 2 == 0:
        held.values["second"] = torch.empty(35_000)


def temporary(torch: Any, held: Held, step: int) -> None:
    torch.empty(80_000).fill_(1.0)


def train(path: str, steps: int, skipped: int) -> None:
    """Record the training; without the collector, so that a cycle stays."""
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule

    torch.manual_seed(0)
    torch.set_num_threads(1)
    gc.disable()
    held = Held()
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=skipped, warmup=0, active=steps, repeat=1),
        on_trace_ready=lambda finished: finished.export_chrome_trace(path),
        profile_memory=True,
        record_shapes=True,
        with_stack=True,
    ) as profiler:
        for step in range(1, skipped + steps + 1):
            for name in (*LEAKS, *NOT_LEAKS):
                globals()[name](torch, held, step)
            profiler.step()


if __name__ == "__main__":
    for wanted in sys.argv[2:]:
        steps, skipped = wanted.split("-")
        train(f"{sys.argv[1]}/{wanted}.json", int(steps), int(skipped))

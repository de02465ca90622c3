"""A training of one rank, or of two over gloo, recorded by ``stepscope.profiler``: ``FOLDER WORLD RENDEZVOUS``."""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed
import torch.multiprocessing
from torch.utils.data import DataLoader, TensorDataset

from deliver.recorded_loop import recorded_loop


def train(rank: int, folder: str, world: int, rendezvous: str) -> None:
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world))
    torch.set_num_threads(1)
    model: torch.nn.Module = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
    if world > 1:
        torch.distributed.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=world)
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train_on(batch: list[torch.Tensor]) -> None:
        model(batch[0]).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    rows = TensorDataset(torch.randn(5 * 64, 256))
    recorded_loop(folder, lambda: DataLoader(rows, batch_size=64), train_on, wait=0, with_stack=True)
    if world > 1:
        torch.distributed.barrier()
    os._exit(0)  # all is written; threads of gloo and Kineto now and then abort a process that takes itself down


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (sys.argv[1], int(sys.argv[2]), sys.argv[3]), int(sys.argv[2]))

"""A training of one rank, or of two over gloo, recorded by ``stepscope.profiler``: ``FOLDER WORLD RENDEZVOUS``."""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed
import torch.multiprocessing
from torch.utils.data import DataLoader, TensorDataset

from stepscope.profiler import (
    ExperimentalConfig,
    ExportType,
    ProfilerLevel,
    mstx,
    profile,
    schedule,
    tensorboard_trace_handler,
)


def train(rank: int, folder: str, world: int, rendezvous: str) -> None:
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world))
    torch.set_num_threads(1)
    model: torch.nn.Module = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
    if world > 1:
        torch.distributed.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=world)
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    config = ExperimentalConfig(
        mstx=True, profiler_level=ProfilerLevel.Level1, export_type=[ExportType.Text, ExportType.Db]
    )
    with profile(
        schedule=schedule(wait=0, warmup=1, active=3, repeat=1),
        on_trace_ready=tensorboard_trace_handler(folder, analyse_flag=False),
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
        data_process=True,
        experimental_config=config,
    ) as profiler:
        for (rows,) in DataLoader(TensorDataset(torch.randn(5 * 64, 256)), batch_size=64):
            span = mstx.range_start("train")
            model(rows).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            mstx.range_end(span)
            profiler.step()
    if world > 1:
        torch.distributed.barrier()
    os._exit(0)  # all is written; threads of gloo and Kineto now and then abort a process that takes itself down


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (sys.argv[1], int(sys.argv[2]), sys.argv[3]), int(sys.argv[2]))

"""Two ranks that train together over gloo, recorded by ``stepscope.profiler``: ``two_ranks.py FOLDER RENDEZVOUS``."""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed
import torch.multiprocessing

from stepscope.profiler import ExperimentalConfig, ProfilerLevel, profile, schedule, tensorboard_trace_handler

WORLD = 2


def train(rank: int, folder: str, rendezvous: str) -> None:
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(WORLD))
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=WORLD)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(256, 256))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with profile(
        schedule=schedule(wait=0, warmup=1, active=3, repeat=1),
        on_trace_ready=tensorboard_trace_handler(folder, analyse_flag=False),
        record_shapes=True,
        profile_memory=True,
        experimental_config=ExperimentalConfig(profiler_level=ProfilerLevel.Level1),
    ) as profiler:
        for _ in range(5):
            model(torch.randn(64, 256)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
    torch.distributed.barrier()
    os._exit(0)  # all is written; threads of gloo and Kineto now and then abort a process that takes itself down


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (sys.argv[1], sys.argv[2]), WORLD)

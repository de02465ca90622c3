"""A real job of three processes over gloo: each writes its dump; rank 2 leaves out the third reduction."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ["TORCH_FR_BUFFER_SIZE"] = "100"
import torch
import torch.distributed as dist

#: What PyTorch offers for it has no type.
RECORDER: Any = torch._C._distributed_c10d


def main(rank: int, folder: Path) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=3)
    values = torch.ones(1000)
    for call in range(4):
        if not (rank == 2 and call >= 2):
            work = dist.all_reduce(values, async_op=True)
            if call < 2:
                work.wait()
    (folder / f"nccl_trace_rank_{rank}").write_bytes(RECORDER._dump_fr_trace())
    (folder / f"as_json_rank{rank}.json").write_bytes(RECORDER._dump_fr_trace_json())
    (folder / f"done{rank}").touch()
    while len(list(folder.glob("done?"))) < 3:  # who leaves early takes the others with him
        pass
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))

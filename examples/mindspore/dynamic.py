"""Dynamic profiling: the config is changed while the training runs, which gives steps 2 to 5 and 8 to 10.

python examples/mindspore/dynamic.py pynative ./data

The results are in ``rank0_start2_stop5`` and ``rank0_start8_stop10``. From outside, a running job is asked with
``stepscope trigger ./data/cfg_path --start 8 --stop 10`` or ``--steps 3``.
"""

from __future__ import annotations

import json
from pathlib import Path

from training import Net, set_up, train

from stepscope.profiler import DynamicProfilerMonitor


def write(config: Path, start_step: int, stop_step: int) -> None:
    """The config of the documents."""
    content = {
        "start_step": start_step,
        "stop_step": stop_step,
        "aic_metrics": -1,
        "profiler_level": 0,
        "activities": 0,
        "export_type": 0,
        "profile_memory": False,
        "mstx": False,
        "analyse_mode": 0,
        "parallel_strategy": False,
        "with_stack": False,
        "data_simplification": True,
    }
    config.mkdir(parents=True, exist_ok=True)
    (config / "profiler_config.json").write_text(json.dumps(content, indent=4))


if __name__ == "__main__":
    folder = set_up()
    config = Path(folder) / "cfg_path"
    write(config, 2, 5)
    dp = DynamicProfilerMonitor(cfg_path=str(config), output_path=folder)
    net = Net()
    for step in range(15):
        train(net)
        if step == 5:
            write(config, 8, 10)
        dp.step()

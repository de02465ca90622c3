"""A loop of one's own with a schedule: steps 4 and 5 are recorded.

python examples/pytorch/for_loop.py ./data
"""

from __future__ import annotations

from training import Training, folder

from stepscope import profiler
from stepscope.profiler import AicoreMetrics, ProfilerActivity, ProfilerLevel

if __name__ == "__main__":
    training = Training()
    experimental_config = profiler._ExperimentalConfig(
        profiler_level=ProfilerLevel.Level0,
        aic_metrics=AicoreMetrics.AiCoreNone,
        l2_cache=False,
        mstx=False,
        data_simplification=False,
    )
    with profiler.profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
        schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=2),
        on_trace_ready=profiler.tensorboard_trace_handler(folder()),
        profile_memory=False,
        experimental_config=experimental_config,
    ) as prof:
        for _ in range(8):
            training.step()
            prof.step()

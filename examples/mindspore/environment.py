"""Profiling from outside: the script only imports the profiler, before MindSpore.

MS_PROFILER_OPTIONS='{"start": true, "output_path": "./data", "activities": ["CPU", "NPU"], "with_stack": true,
"aic_metrics": "AicoreNone", "l2_cache": false, "profiler_level": "Level0"}' python examples/mindspore/environment.py

``stepscope profile --out ./data -- python train.py`` needs no import at all.
"""

from __future__ import annotations

# isort: off
import stepscope.profiler  # noqa: F401 (before mindspore, which starts its own profiler otherwise)
from training import Net, batches, model, set_up

if __name__ == "__main__":
    set_up()
    model(Net()).train(1, batches(8), dataset_sink_mode=False)

"""Profiling from outside: the script only imports the profiler.

MS_PROFILER_OPTIONS='{"start": true, "output_path": "./data", "activities": ["CPU", "NPU"], "with_stack": true,
"aic_metrics": "AicoreNone", "l2_cache": false, "profiler_level": "Level0"}' python examples/pytorch/environment.py

``stepscope profile --out ./data -- python train.py`` needs no import at all.
"""

from __future__ import annotations

from training import Training

import stepscope.profiler  # noqa: F401

if __name__ == "__main__":
    training = Training()
    for _ in range(8):
        training.step()

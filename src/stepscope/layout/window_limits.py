"""How much a recording from outside takes at most, where nobody says otherwise: each number with its origin.

Here and not in ``facts/``, because the profiler is shipped alone, to machines without the analysis side.
"""

from __future__ import annotations

#: Steps that are left out first: compilation, growing pools and the choice of kernels end within a few steps
#: (PyTorch's own examples wait for 1 to 5).
SKIPPED_STEPS = 5
#: Steps before the window in which the recorder is made ready (PyTorch's recipe: at least one).
WARM_UP_STEPS = 1
#: Steps that are recorded: enough for a median, a p95 and a stall in every fourth step to show five times.
RECORDED_STEPS = 20
#: A window that is not full by then ends with its step: what an owner waits for at a prompt.
MOST_SECONDS = 60
#: Likewise, by the memory that the recording holds. Measured with PyTorch 2.13 on a CPU (100 steps, 200,000 events,
#: with and without shapes, memory, stacks): the trace on the disk is 0.8 to 1.8 times, the peak while it is
#: written 7 to 11 times what it holds while it records. So 200 MB mean at most 0.4 GB of disk and 2 GB of memory.
MOST_MEGABYTES = 200
#: A step that does not end is cut where time or memory are this many times over the limit.
CUT_AT_TIMES = 2
#: No optimizer step for so long after the framework was imported: no training, or none that can be seen. Loading and
#: compiling a large model is over by then more often than not.
NO_STEPS_AFTER_S = 60
#: Then this much time is recorded instead: several hundred calls of a model that answers in 50 ms.
RECORDED_SECONDS = 10

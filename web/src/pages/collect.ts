// How to record what a page shows, per framework. Code is code in every language; sentences are in the dictionary.

export interface Recipe {
  readonly framework: 'pytorch' | 'mindspore'
  readonly title: string
  readonly snippet: string
}

const torch = (snippet: string): Recipe => ({ framework: 'pytorch', title: 'PyTorch', snippet })
const mindspore = (snippet: string): Recipe => ({ framework: 'mindspore', title: 'MindSpore', snippet })

const TORCH_STEPS = `import torch
from torch.profiler import ProfilerActivity, profile, schedule

with profile(
    activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
    schedule=schedule(wait=1, warmup=1, active=3),
    on_trace_ready=torch.profiler.tensorboard_trace_handler("capture"),
) as profiler:
    for batch in loader:
        train_step(batch)
        profiler.step()`

const MINDSPORE_STEPS = `from stepscope.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

with profile(
    activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
    schedule=schedule(wait=1, warmup=1, active=3),
    on_trace_ready=tensorboard_trace_handler("capture"),
) as profiler:
    for batch in dataset:
        train_step(batch)
        profiler.step()`

const withOption = (snippet: string, option: string): string =>
  snippet.replace('\n) as profiler', `\n    ${option},\n) as profiler`)

export const COLLECT: Readonly<Record<string, readonly Recipe[]>> = {
  timeline: [torch(TORCH_STEPS), mindspore(MINDSPORE_STEPS)],
  operators: [torch(TORCH_STEPS), mindspore(MINDSPORE_STEPS)],
  steps: [torch(TORCH_STEPS), mindspore(MINDSPORE_STEPS)],
  memory: [
    torch(withOption(TORCH_STEPS, 'profile_memory=True')),
    mindspore(withOption(MINDSPORE_STEPS, 'profile_memory=True')),
  ],
  data: [
    torch(TORCH_STEPS.replace('from torch.profiler import', 'from stepscope.profiler import')),
    mindspore(withOption(MINDSPORE_STEPS, 'data_process=True')),
  ],
  cpu: [
    torch(
      withOption(TORCH_STEPS.replace('from torch.profiler import', 'from stepscope.profiler import'), 'host_sys=True'),
    ),
    mindspore(withOption(MINDSPORE_STEPS, 'data_process=True')),
  ],
}

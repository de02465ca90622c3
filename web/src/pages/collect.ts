// How to record what a page shows, per framework. Code is code in every language; sentences are in the dictionary.

type Framework = 'pytorch' | 'mindspore'

export interface Recipe {
  readonly framework: Framework
  readonly title: string
  readonly snippet: string
}

interface Recording {
  readonly framework: Framework
  /** With the profiler of PyTorch (on Ascend torch_npu) itself; else with ours, which records the host as well. */
  readonly own: boolean
  readonly option?: string
}

const torch = (option?: string): Recording => ({ framework: 'pytorch', own: true, ...(option ? { option } : {}) })
const withStepscope = (framework: Framework, option?: string): Recording => ({
  framework,
  own: false,
  ...(option ? { option } : {}),
})
const OPERATORS = [torch(), withStepscope('mindspore')]

export const COLLECT: Readonly<Record<string, readonly Recording[]>> = {
  timeline: OPERATORS,
  operators: OPERATORS,
  steps: OPERATORS,
  memory: [torch('profile_memory=True'), withStepscope('mindspore', 'profile_memory=True')],
  data: [withStepscope('pytorch'), withStepscope('mindspore', 'data_process=True')],
  cpu: [withStepscope('pytorch'), withStepscope('mindspore')],
  // All ranks of the job record alike, each into its own file of the same folder.
  cluster: OPERATORS,
  communication: OPERATORS,
  compare: OPERATORS,
}

const TITLES: Readonly<Record<Framework, string>> = { pytorch: 'PyTorch', mindspore: 'MindSpore' }

/** The recipes of a page for the device of the capture: of its own framework, of all where that is not known. */
export function recipesFor(page: string, framework: string | null, device: string | null): readonly Recipe[] {
  const all = COLLECT[page] ?? []
  const own = all.filter((one) => one.framework === framework)
  return (own.length > 0 ? own : all).map((one) => ({
    framework: one.framework,
    title: TITLES[one.framework],
    snippet: snippet(one, device),
  }))
}

function snippet({ framework, own, option }: Recording, device: string | null): string {
  const npu = framework === 'mindspore' ? device !== 'gpu' : device === 'npu'
  const names = 'ProfilerActivity, profile, schedule, tensorboard_trace_handler'
  const from = own ? (npu ? 'torch_npu.profiler' : 'torch.profiler') : 'stepscope.profiler'
  const accelerator = npu ? 'NPU' : own ? 'CUDA' : 'GPU'
  const activities = ['CPU', ...(device === 'cpu' ? [] : [accelerator])].map((one) => `ProfilerActivity.${one}`)
  return `from ${from} import ${names}

with profile(
    activities=[${activities.join(', ')}],
    schedule=schedule(wait=1, warmup=1, active=3),
    on_trace_ready=tensorboard_trace_handler("capture"),${option ? `\n    ${option},` : ''}
) as profiler:
    for batch in ${framework === 'mindspore' ? 'dataset' : 'loader'}:
        train_step(batch)
        profiler.step()`
}

// A small PyTorch capture made by hand: two ranks, three steps, known numbers, and names that try to be markup.

type Event = Record<string, unknown>

export const HOSTILE_NAME = '<img src=x onerror="document.title=\'owned\'">'
export const STEPS = [1, 2, 3] as const
/** Of every step, in µs: its start, its length, and its device work. */
export const STEP_US = 1000
export const KERNEL_US = 300
export const COPY_US = 50

export function capture(rank: number): string {
  const events: Event[] = [
    { ph: 'M', name: 'process_name', pid: 100, tid: 0, ts: 0, args: { name: 'python' } },
    { ph: 'M', name: 'process_labels', pid: 100, tid: 0, ts: 0, args: { labels: 'CPU' } },
    { ph: 'M', name: 'process_labels', pid: 0, tid: 0, ts: 0, args: { labels: 'GPU 0' } },
    { ph: 'M', name: 'thread_name', pid: 0, tid: 7, ts: 0, args: { name: 'stream 7' } },
  ]
  const start = 1_700_000_000_000_000
  STEPS.forEach((step, index) => events.push(...stepEvents(step, start + index * STEP_US, rank, index * 10)))
  return JSON.stringify({
    schemaVersion: 1,
    deviceProperties: [{ id: 0, name: 'Test GPU', totalGlobalMem: 8_000_000_000, numSms: 10 }],
    distributedInfo: { backend: 'nccl', rank, world_size: 2 },
    traceEvents: events,
  })
}

function stepEvents(step: number, at: number, rank: number, id: number): Event[] {
  const host = { ph: 'X', pid: 100, tid: 100 }
  const device = { ph: 'X', pid: 0, tid: 7 }
  // Rank 1 launches later: something to align.
  const launch = at + 100 + rank * 40
  return [
    { ...host, cat: 'user_annotation', name: `ProfilerStep#${step}`, ts: at, dur: STEP_US },
    {
      ...host,
      cat: 'cpu_op',
      name: 'aten::mm',
      ts: launch - 20,
      dur: 60,
      args: { 'External id': id + 1, 'Input Dims': [[4, 4]] },
    },
    {
      ...host,
      cat: 'cuda_runtime',
      name: 'cudaLaunchKernel',
      ts: launch,
      dur: 10,
      args: { correlation: id + 1, 'External id': id + 1 },
    },
    { ...host, cat: 'cpu_op', name: HOSTILE_NAME, ts: launch + 80, dur: 40, args: { 'External id': id + 2 } },
    {
      ...host,
      cat: 'cuda_runtime',
      name: 'cudaMemcpyAsync',
      ts: launch + 85,
      dur: 10,
      args: { correlation: id + 2, 'External id': id + 2 },
    },
    {
      ...device,
      cat: 'kernel',
      name: 'gemm_kernel',
      ts: launch + 20,
      dur: KERNEL_US,
      args: { correlation: id + 1, device: 0, stream: 7, 'External id': id + 1 },
    },
    {
      ...device,
      cat: 'gpu_memcpy',
      name: 'Memcpy HtoD',
      ts: launch + 20 + KERNEL_US + 80,
      dur: COPY_US,
      args: { correlation: id + 2, device: 0, stream: 7, bytes: 4096 },
    },
    { ph: 's', id: id + 1, pid: 100, tid: 100, ts: launch, cat: 'ac2g', name: 'ac2g' },
    { ph: 'f', id: id + 1, pid: 0, tid: 7, ts: launch + 20, cat: 'ac2g', name: 'ac2g', bp: 'e' },
  ]
}

/** Three steps of one rank, each with a kernel on a stream of its own beside the stream of all: as long in all of them. */
export function rotatingCapture(): string {
  const { traceEvents, ...rest } = JSON.parse(capture(0)) as { traceEvents: Event[] }
  const start = 1_700_000_000_000_000
  const more = STEPS.map((step, index): Event => ({
    ph: 'X',
    pid: 0,
    tid: 20 + step,
    cat: 'kernel',
    name: 'copy_kernel',
    ts: start + index * STEP_US + 300,
    dur: 200,
    args: { device: 0, stream: 20 + step, correlation: 900 + step },
  }))
  const named = STEPS.map((step): Event => ({
    ph: 'M',
    name: 'thread_name',
    pid: 0,
    tid: 20 + step,
    ts: 0,
    args: { name: `stream ${20 + step}` },
  }))
  return JSON.stringify({ ...rest, traceEvents: [...traceEvents, ...named, ...more] })
}

/** Training on the host alone: in each step of 1000 µs an operator of 700 µs holds one of 200 µs. */
export function hostCapture(): string {
  const start = 1_700_000_000_000_000
  const host = { ph: 'X', pid: 100, tid: 100 }
  const events = STEPS.flatMap((step, index): Event[] => {
    const at = start + index * STEP_US
    return [
      { ...host, cat: 'user_annotation', name: `ProfilerStep#${step}`, ts: at, dur: STEP_US },
      { ...host, cat: 'cpu_op', name: 'aten::addmm', ts: at + 100, dur: 700, args: { 'External id': 2 * index + 1 } },
      { ...host, cat: 'cpu_op', name: 'aten::mm', ts: at + 300, dur: 200, args: { 'External id': 2 * index + 2 } },
    ]
  })
  return JSON.stringify({ schemaVersion: 1, deviceProperties: [], traceEvents: events })
}

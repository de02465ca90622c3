// Captures of the three worked cases of the vendor's guides: a long step interval, slow operators, gaps between them.

type Event = Record<string, unknown>
interface Timed {
  readonly ph: string
  readonly cat?: string
  readonly ts: number
  readonly dur: number
}

interface Case {
  /** µs of a step that pass in the data loader before anything is launched. */
  readonly loading: number
  /** Kernels of a step: name, µs on the device, µs that the host needs before it launches the next. */
  readonly kernels: readonly (readonly [name: string, device: number, host: number])[]
}

const CASES: Readonly<Record<string, Case>> = {
  interval: {
    loading: 6000,
    kernels: [
      ['gemm_kernel', 1500, 50],
      ['softmax_kernel', 1500, 50],
    ],
  },
  slow: {
    loading: 20,
    kernels: [
      ['slow_scatter_kernel', 8000, 20],
      ['gemm_kernel', 500, 20],
      ['softmax_kernel', 400, 20],
    ],
  },
  gaps: { loading: 20, kernels: Array.from({ length: 8 }, (): [string, number, number] => ['tiny_kernel', 60, 900]) },
}

export const CASE_NAMES = Object.keys(CASES)
const STEPS = 4
const LATENCY = 10

export function caseCapture(name: string): string {
  const wanted = CASES[name]
  if (!wanted) throw new Error(name)
  const events: Event[] = [
    { ph: 'M', name: 'process_labels', pid: 100, tid: 0, ts: 0, args: { labels: 'CPU' } },
    { ph: 'M', name: 'process_labels', pid: 0, tid: 0, ts: 0, args: { labels: 'GPU 0' } },
    { ph: 'M', name: 'thread_name', pid: 0, tid: 7, ts: 0, args: { name: 'stream 7' } },
  ]
  let at = 1_700_000_000_000_000
  let id = 1
  for (let step = 1; step <= STEPS; step += 1) {
    const length = stepEvents(wanted, events, at, id)
    events.push({
      ph: 'X',
      pid: 100,
      tid: 100,
      cat: 'user_annotation',
      name: `ProfilerStep#${step}`,
      ts: at,
      dur: length,
    })
    at += length
    id += wanted.kernels.length
  }
  return JSON.stringify({
    schemaVersion: 1,
    deviceProperties: [{ id: 0, name: 'Test GPU', totalGlobalMem: 8_000_000_000, numSms: 10 }],
    traceEvents: events,
  })
}

/** Stretches between kernels in which the device has nothing to do, in nanoseconds since the capture's begin. */
export function deviceGaps(name: string): { from: number; to: number }[] {
  const events = (JSON.parse(caseCapture(name)) as { traceEvents: Timed[] }).traceEvents
  const origin = Math.min(...events.filter((one) => one.ph === 'X').map((one) => one.ts))
  const kernels = events.filter((one) => one.cat === 'kernel').toSorted((a, b) => a.ts - b.ts)
  const ends = [origin, ...kernels.map((one) => one.ts + one.dur)]
  return kernels
    .map(({ ts }, index) => ({ from: ((ends[index] ?? 0) - origin) * 1000, to: (ts - origin) * 1000 }))
    .filter((gap) => gap.to > gap.from)
}

/** Add the work of a step; returns its length. */
function stepEvents({ loading, kernels }: Case, events: Event[], at: number, firstId: number): number {
  const host = { ph: 'X', pid: 100, tid: 100 }
  events.push({
    ...host,
    cat: 'user_annotation',
    name: 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__',
    ts: at,
    dur: loading,
  })
  let hostAt = at + loading + 5
  let deviceFree = 0
  kernels.forEach(([name, device, prepare], index) => {
    const id = firstId + index
    const args = { correlation: id, 'External id': id }
    events.push({
      ...host,
      cat: 'cpu_op',
      name: `aten::${name.replace('_kernel', '')}`,
      ts: hostAt,
      dur: prepare,
      args: { 'External id': id },
    })
    const launch = hostAt + prepare - 8
    events.push({ ...host, cat: 'cuda_runtime', name: 'cudaLaunchKernel', ts: launch, dur: 6, args })
    const start = Math.max(launch + LATENCY, deviceFree)
    events.push({
      ph: 'X',
      pid: 0,
      tid: 7,
      cat: 'kernel',
      name,
      ts: start,
      dur: device,
      args: { ...args, device: 0, stream: 7 },
    })
    deviceFree = start + device
    hostAt += prepare + 2
  })
  // The loop waits for the result before the next step.
  events.push({
    ...host,
    cat: 'cuda_runtime',
    name: 'cudaDeviceSynchronize',
    ts: hostAt,
    dur: Math.max(5, deviceFree - hostAt),
  })
  return Math.max(hostAt + 5, deviceFree) - at + 10
}

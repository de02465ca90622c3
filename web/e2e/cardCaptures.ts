// Captures of one card with known numbers: a training that starves on its data loader, and one that leaks memory.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const START_NS = 1_700_000_000_000_000_000n
const STEP_MS = 10
export const CARD_STEPS = 24
export const LOADER_CAPACITY = 4
/** The loop waits this long for every batch, of a step of 10 ms. */
export const GET_MS = 6
/** Cores of the machine, of the training, and of everybody else. */
export const CORES = { machine: 8, process: 1, others: 3 } as const

export const MIB = 2 ** 20
/** Bytes of the weights before the first step, kept by every step, and freed again within it. */
export const MEMORY = { weights: 16 * MIB, kept: MIB, temporary: 4 * MIB } as const

type Event = Record<string, unknown>
const ns = (ms: number): string => String(START_NS + BigInt(Math.round(ms * 1e6)))
/** Chrome traces count in µs; the digits are written, so no time goes through a double. */
const us = (ms: number): number => Number(START_NS / 1000n) + Math.round(ms * 1000)

/** Writes both below `folder`; gives their paths. */
export function writeCardCaptures(folder: string): string[] {
  const loader = join(folder, 'loader_1_20231114221320000_ascend_pt')
  const data = join(loader, 'STEPSCOPE')
  mkdirSync(data, { recursive: true })
  writeFileSync(join(loader, 'stepscope.json'), JSON.stringify(manifest()))
  writeFileSync(join(data, 'trace.json'), trace(computing()))
  for (const [name, rows] of Object.entries(lineFiles())) {
    writeFileSync(join(data, name), rows.map((row) => `${row}\n`).join(''))
  }
  const leaky = join(folder, 'leaky.json')
  writeFileSync(leaky, trace([...computing(), ...memory()]))
  return [loader, leaky]
}

function manifest(): Event {
  return {
    schema: 'stepscope.capture/1',
    state: 'complete',
    incomplete: null,
    backend: 'torch',
    framework: 'pytorch',
    versions: {},
    device: { kind: 'gpu', name: 'Test GPU', index: 0 },
    rank: 0,
    world_size: 1,
    local_rank: 0,
    host: 'host',
    pid: 100,
    groups: [],
    level: 'Level0',
    switches: {},
    clock: { unix_ns: Number(START_NS), monotonic_ns: 0, perf_counter_ns: 0 },
    times: { started_ns: Number(START_NS), stopped_ns: Number(START_NS) },
  }
}

/** Lines of numbers that need all their digits are put together as text. */
function lineFiles(): Record<string, string[]> {
  const numbers = Array.from({ length: CARD_STEPS }, (_, step) => step)
  const machine = (at: number, step: number): string =>
    `{"time_ns":${ns(at)},"scope":"machine","id":0,"user":${CORES.process + CORES.others},"system":0,"io":0,` +
    `"idle":${CORES.machine - CORES.process - CORES.others},"runnable":${step % 2 === 0 ? 2 : 12},"context_switches":100}`
  const process = (at: number): string =>
    `{"time_ns":${ns(at)},"scope":"process","id":100,"user":${CORES.process - 0.25},"system":0.25,"context_switches":10}`
  return {
    'steps.jsonl': numbers.flatMap((step) => [
      `{"event":"begin","step":${step},"time_ns":${ns(step * STEP_MS)}}`,
      `{"event":"end","step":${step},"time_ns":${ns((step + 1) * STEP_MS)}}`,
    ]),
    'loaders.jsonl': [
      `{"loader":0,"workers":2,"capacity":${LOADER_CAPACITY},"pin_memory":false,"dataset":"SlowImages","kind":"map"}`,
    ],
    'batches.jsonl': numbers.map(
      (step) =>
        `{"loader":0,"batch":${step},"start_ns":${ns(step * STEP_MS)},"end_ns":${ns(step * STEP_MS + GET_MS)},"queue":0}`,
    ),
    'stages.jsonl': numbers.flatMap((step) => [
      `{"stage":"dataset","start_ns":${ns(step * STEP_MS)},"end_ns":${ns(step * STEP_MS + 9)},"pid":200,"worker":0,"samples":8}`,
      `{"stage":"collate","start_ns":${ns(step * STEP_MS + 9)},"end_ns":${ns(step * STEP_MS + 9.5)},"pid":200,"worker":0,"samples":8}`,
    ]),
    'cpu.jsonl': numbers.flatMap((step) => [machine((step + 0.5) * STEP_MS, step), process((step + 0.5) * STEP_MS)]),
  }
}

/** One product of two 512 × 512 matrices a step, on the device, launched after the batch has come. */
function computing(): Event[] {
  const host = { ph: 'X', pid: 100, tid: 100 }
  return Array.from({ length: CARD_STEPS }, (_, step): Event[] => {
    const at = step * STEP_MS
    const id = step + 1
    return [
      { ...host, cat: 'user_annotation', name: `ProfilerStep#${step}`, ts: us(at), dur: STEP_MS * 1000 },
      {
        ...host,
        cat: 'cpu_op',
        name: 'aten::mm',
        ts: us(at + GET_MS + 0.5),
        dur: 200,
        args: {
          'External id': id,
          'Input Dims': [
            [512, 512],
            [512, 512],
          ],
          'Input type': ['float', 'float'],
        },
      },
      {
        ...host,
        cat: 'cuda_runtime',
        name: 'cudaLaunchKernel',
        ts: us(at + GET_MS + 0.55),
        dur: 20,
        args: { correlation: id, 'External id': id },
      },
      {
        ph: 'X',
        cat: 'kernel',
        pid: 0,
        tid: 7,
        name: 'gemm_kernel',
        ts: us(at + GET_MS + 1),
        dur: 2000 + step,
        args: { correlation: id, device: 0, stream: 7, 'External id': id },
      },
    ]
  }).flat()
}

/** The allocator's events, with its own total beside each. */
function memory(): Event[] {
  let total = 0
  const events: Event[] = []
  const change = (ms: number, bytes: number, address: number): void => {
    total += bytes
    const args = {
      'Total Reserved': 128 * MIB,
      'Total Allocated': total,
      Bytes: bytes,
      Addr: address,
      'Device Id': 0,
      'Device Type': 1,
      'Ev Idx': 0,
    }
    events.push({ ph: 'i', cat: 'cpu_instant_event', s: 't', name: '[memory]', pid: 100, tid: 100, ts: us(ms), args })
  }
  change(0.1, MEMORY.weights, 1 << 20)
  for (let step = 0; step < CARD_STEPS; step += 1) {
    const at = step * STEP_MS + GET_MS + 0.52
    change(at, MEMORY.temporary, 2 << 20)
    change(at + 0.05, MEMORY.kept, (16 + step) * (1 << 20) * 8)
    change(at + 0.1, -MEMORY.temporary, 2 << 20)
  }
  return events
}

function trace(events: readonly Event[]): string {
  return JSON.stringify({
    schemaVersion: 1,
    deviceProperties: [{ id: 0, name: 'Test GPU', totalGlobalMem: 8_000_000_000, numSms: 10 }],
    traceEvents: [
      { ph: 'M', name: 'process_name', pid: 100, tid: 0, ts: 0, args: { name: 'python' } },
      { ph: 'M', name: 'process_labels', pid: 100, tid: 0, ts: 0, args: { labels: 'CPU' } },
      { ph: 'M', name: 'process_labels', pid: 0, tid: 0, ts: 0, args: { labels: 'GPU 0' } },
      ...events,
    ],
  })
}

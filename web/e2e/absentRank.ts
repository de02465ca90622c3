// A simulated Ascend job of which one rank was not recorded: the others tell in their waits whom they wait for.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

interface Event {
  readonly ph: string
  readonly name: string
  readonly pid: number
  readonly ts?: string
  readonly dur?: number
}
/** Folders of a simulated job carry the process, which counts up from that of rank 0. */
const FIRST_PROCESS = 4100
const PLANE = 99
/** A call waits for the slow rank before it moves data. */
const WAITING_SHARE = 0.9

/** Takes the files of a rank away, and writes into those of the others the waits for it, as a real capture has them. */
export function takeRankAway(job: string, absent: number): void {
  for (const folder of readdirSync(job)) {
    const process = /_(\d+)_\d+_ascend_pt$/.exec(folder)?.[1]
    if (process === undefined) continue
    const rank = Number(process) - FIRST_PROCESS
    if (rank === absent) rmSync(join(job, folder), { recursive: true })
    else waitFor(join(job, folder, 'ASCEND_PROFILER_OUTPUT', 'trace_view.json'), rank, absent)
  }
}

function waitFor(file: string, rank: number, peer: number): void {
  const events = JSON.parse(readFileSync(file, 'utf8')) as Event[]
  const calls = events.filter((one) => one.ph === 'X' && one.name.startsWith('hcom_'))
  const pid = calls[0]?.pid ?? 0
  const plane = { ph: 'M', name: 'thread_name', pid, tid: PLANE, args: { name: 'Plane 7' } }
  const waits = calls.map(({ ts, dur = 0 }) => ({
    ph: 'X',
    name: 'Notify_Wait',
    pid,
    tid: PLANE,
    ts,
    dur: dur * WAITING_SHARE,
    args: { 'task type': 'Notify_Wait', 'src rank': rank, 'dst rank': peer, 'transport type': 'LOCAL' },
  }))
  writeFileSync(file, JSON.stringify([...events, plane, ...waits]))
}

// Starts the real server once, over captures made for the tests, and stops it at the end.
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HAS_MINDSPORE, REAL, recordMindSpore } from './realCaptures'
import { capture, hostCapture, rotatingCapture } from './captures'
import { writeCardCaptures } from './cardCaptures'
import { CASE_NAMES, caseCapture } from './cases'

export const PYTHON =
  process.env['STEPSCOPE_PYTHON'] ?? fileURLToPath(new URL('../../.venv/bin/python', import.meta.url))
const READY_MS = 300_000
/** Four ranks of which rank 2 computes longer than the others: a recording of the project's own. */
const FOUR_RANKS = fileURLToPath(new URL('../../tests/data/four_ranks_cuda_slow_compute.tar.xz', import.meta.url))

/** The same training in two precisions, one of them more than a third faster: recordings of the project's own. */
const PAIR = ['pair_fp32', 'pair_bf16'].map((name) =>
  fileURLToPath(new URL(`../../tests/data/${name}.json.gz`, import.meta.url)),
)

/** Trainings whose loader stalls every fourth and every second step: recordings of the project's own. */
export const LOADERS = ['loader_every_fourth', 'loader_two_workers'].map((name) =>
  fileURLToPath(new URL(`../../tests/data/${name}.json.gz`, import.meta.url)),
)

/** Sixteen simulated ranks in two pipeline stages, of which the last is the longer one. */
function simulated(folder: string): string {
  const path = join(folder, 'pipeline')
  spawnSync(PYTHON, ['-m', 'stepscope', 'simulate', 'last-stage', '-o', path, '--detail', 'steps', '--steps', '4'])
  return path
}

function unpacked(archive: string, folder: string): string {
  mkdirSync(folder)
  spawnSync('tar', ['xf', archive, '-C', folder])
  return folder
}

export default async function start(): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'stepscope-e2e-'))
  const job = join(folder, 'job')
  mkdirSync(job)
  for (const rank of [0, 1]) writeFileSync(join(job, `rank${rank}.json`), capture(rank))
  mkdirSync(join(folder, 'more'))
  writeFileSync(join(folder, 'more', 'single.json'), capture(0))
  writeFileSync(join(folder, 'host.json'), hostCapture())
  writeFileSync(join(folder, 'rotating.json'), rotatingCapture())
  writeFileSync(join(folder, 'more', 'broken.json'), '{"traceEvents": [')
  const cases = CASE_NAMES.map((name) => join(folder, `${name}.json`))
  CASE_NAMES.forEach((name, index) => writeFileSync(cases[index] ?? '', caseCapture(name)))
  const paths = [
    job,
    join(folder, 'more', 'single.json'),
    join(folder, 'host.json'),
    join(folder, 'rotating.json'),
    ...cases,
    ...writeCardCaptures(folder),
    unpacked(FOUR_RANKS, join(folder, 'four_ranks')),
    ...PAIR,
    ...LOADERS,
    simulated(folder),
    ...REAL.map((one) => one.path),
    ...recordMindSpore(folder),
  ]
  const started = await serve(paths, join(folder, 'store'), 15 + REAL.length + Number(HAS_MINDSPORE))
  process.env['STEPSCOPE_URL'] = started.address
  return () => {
    started.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A server over some captures, once it has read them all; there are at least so many runs in them. */
export async function serve(
  paths: readonly string[],
  store: string,
  least: number,
): Promise<{ address: string; stop: () => void }> {
  const options = ['--port', '0', '--no-browser', '--no-token', '--store', store]
  const env = { ...process.env, STEPSCOPE_WORKSPACE: `${store}-workspace` }
  const server = spawn(PYTHON, ['-m', 'stepscope', 'view', ...paths, ...options], { env })
  const address = await firstAddress(server)
  await allRead(address, least)
  return { address, stop: () => server.kill() }
}

function firstAddress(server: ReturnType<typeof spawn>): Promise<string> {
  return new Promise((done, fail) => {
    let said = ''
    const hear = (piece: unknown): void => {
      said += String(piece)
      const found = /https?:\/\/127\.0\.0\.1:\d+\//.exec(said)
      if (found) done(found[0])
    }
    server.stdout?.on('data', hear)
    server.stderr?.on('data', hear)
    server.on('exit', (code) => fail(new Error(`The server ended with ${code}: ${said}`)))
    setTimeout(() => fail(new Error(`The server did not start: ${said}`)), READY_MS).unref()
  })
}

async function allRead(address: string, least: number): Promise<void> {
  const deadline = Date.now() + READY_MS
  for (;;) {
    const { runs } = (await (await fetch(`${address}api/runs`)).json()) as { runs: { state: string }[] }
    if (runs.length >= least && runs.every((run) => run.state !== 'reading' && run.state !== 'waiting')) return
    if (Date.now() > deadline) throw new Error('The captures were not read in time.')
    await new Promise((done) => setTimeout(done, 200))
  }
}

// Real captures of an NPU, a GPU and of MindSpore, where they lie beside the project; they are no part of it.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const DATA = fileURLToPath(new URL('../../../shared/data/', import.meta.url))

/** Path, and the names of the runs that it gives. */
const ALL: readonly (readonly [string, string])[] = [
  ['ascend/text_level1', 'text_level1'],
  ['ascend/db_level1', 'db_level1'],
  ['kineto/h200_plain.json.gz', 'h200_plain'],
  ['kineto/ddp4', 'ddp4'],
  ['mindinsight/profiler', 'profiler'],
]

export const REAL = ALL.filter(([path]) => existsSync(DATA + path)).map(([path, name]) => ({ path: DATA + path, name }))

/** Folders of captures: whatever lies in them is opened by itself. */
const FOLDERS = [
  'ascend',
  'kineto',
  'memory',
  'mindinsight',
  'outside/hta',
  'outside/msinsight',
  'outside/tb_plugin',
  'outside/tracelens',
]
const RECORDINGS = fileURLToPath(new URL('../../tests/data/', import.meta.url))

/** Every capture that lies beside the project, and the project's own recordings, unpacked into a folder. */
export function everyCapture(folder: string): string[] {
  const beside = [...FOLDERS.flatMap((name) => captures(join(DATA, name))), join(DATA, 'outside/param_dlrm8')].filter(
    existsSync,
  )
  const own = captures(RECORDINGS).flatMap((path) => {
    if (path.endsWith('.clock.json')) return []
    const archive = /\.tar\.[gx]z$/.exec(path)?.[0]
    if (archive === undefined) return [path]
    const unpacked = join(folder, basename(path, archive))
    mkdirSync(unpacked)
    spawnSync('tar', ['xf', path, '-C', unpacked])
    return [unpacked]
  })
  return [...new Set([...own, ...beside])]
}

function captures(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []
}

const MINDSPORE = fileURLToPath(new URL('../../.venv-mindspore/bin/python', import.meta.url))
const SAMPLE = fileURLToPath(new URL('../../examples/mindspore/for_loop.py', import.meta.url))

/** Whether a real MindSpore is here, which `make test` sees to. */
export const HAS_MINDSPORE = existsSync(MINDSPORE)

/** A training recorded now, by the documented sample, with MindSpore on this machine's processor. */
export function recordMindSpore(folder: string): string[] {
  if (!HAS_MINDSPORE) return []
  const place = join(folder, 'mindspore_cpu')
  const done = spawnSync(MINDSPORE, [SAMPLE, 'pynative', place], { cwd: folder, encoding: 'utf8', timeout: 300_000 })
  if (done.status !== 0) throw new Error(`MindSpore's sample ended with ${done.status}: ${done.stderr}`)
  return [place]
}

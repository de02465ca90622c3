// Real captures of an NPU, a GPU and of MindSpore, where they lie beside the project; they are no part of it.
import { existsSync } from 'node:fs'
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

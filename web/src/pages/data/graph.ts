// The pipeline as a drawing: readers on the left, the training on the right, branches below each other.
import type { PipelineOp } from '../../api/schema'

export interface Stage {
  readonly op: PipelineOp
  /** 0 is the column of the deepest reader. */
  readonly column: number
  /** Rows may lie between two others: a stage stands in the middle of what it takes from. */
  readonly row: number
  /** Number of the stage that takes its output; null is the training. */
  readonly target: number | null
}

export interface Drawing {
  readonly stages: readonly Stage[]
  readonly columns: number
  readonly rows: number
}

/** A stage that was recorded apart from the tree: what feeds the device comes behind all others. */
const isLooseSink = (op: PipelineOp): boolean => op.parent === null && (op.kind === 'DeviceQueue' || op.op < 0)

export function drawing(ops: readonly PipelineOp[]): Drawing {
  const sink = ops.find(isLooseSink)
  const known = new Set(ops.map((op) => op.op))
  const targetOf = (op: PipelineOp): number | null => {
    if (op.parent !== null && known.has(op.parent) && op.parent !== op.op) return op.parent
    return sink && sink !== op ? sink.op : null
  }
  const targets = new Map(ops.map((op) => [op.op, targetOf(op)]))
  const depths = new Map(ops.map((op) => [op.op, depthOf(op.op, targets)]))
  const deepest = Math.max(0, ...depths.values())
  const rows = rowsOf(ops, targets)
  const stages = ops.map((op) => ({
    op,
    column: deepest - (depths.get(op.op) ?? 0),
    row: rows.get(op.op) ?? 0,
    target: targets.get(op.op) ?? null,
  }))
  return {
    stages: stages.toSorted((a, b) => a.column - b.column || a.row - b.row),
    columns: ops.length > 0 ? deepest + 1 : 0,
    rows: Math.max(0, ...rows.values()) + 1,
  }
}

/** Steps to the training; a broken file may hold a ring, which ends after as many steps as there are stages. */
function depthOf(op: number, targets: ReadonlyMap<number, number | null>): number {
  let depth = 0
  let at = targets.get(op) ?? null
  while (at !== null && depth < targets.size) {
    depth += 1
    at = targets.get(at) ?? null
  }
  return depth
}

/** Readers get a row each; every other stage stands in the middle of those that feed it. */
function rowsOf(ops: readonly PipelineOp[], targets: ReadonlyMap<number, number | null>): ReadonlyMap<number, number> {
  const feeders = new Map<number | null, number[]>()
  for (const op of ops) {
    const target = targets.get(op.op) ?? null
    feeders.set(target, [...(feeders.get(target) ?? []), op.op])
  }
  const rows = new Map<number, number>()
  let next = 0
  const place = (op: number, path: ReadonlySet<number>): number => {
    const inputs = (feeders.get(op) ?? []).filter((one) => !path.has(one))
    if (inputs.length === 0) {
      rows.set(op, next)
      next += 1
    } else {
      const own = inputs.map((one) => place(one, new Set(path).add(one)))
      rows.set(op, ((own[0] ?? 0) + (own.at(-1) ?? 0)) / 2)
    }
    return rows.get(op) ?? 0
  }
  for (const root of feeders.get(null) ?? []) place(root, new Set([root]))
  for (const op of ops) {
    if (!rows.has(op.op)) {
      rows.set(op.op, next)
      next += 1
    }
  }
  return rows
}

/** `Map(id=3)` as two parts: the name, and what tells it from others of that name. */
export function nameParts(name: string): readonly [string, string] {
  const match = /^(.*?)\s*\((.*)\)$/.exec(name)
  return match ? [match[1] ?? name, match[2] ?? ''] : [name, '']
}

// Which columns of a result a chart shows until the user picks others, and in which unit their numbers are.
import type { Column } from '../../components/table/columns'

export type Kind = 'bar' | 'line' | 'scatter'
export type Unit = 'us' | 'ns' | 'bytes' | 'share' | 'none'

/** Numbers that tell which one it is; a bar of their size says nothing. */
const IDENTIFIES =
  /^(rank|slice|step|track|row|stream|parent|correlation|stack|seq|peer|device|.*_id|id|start_ns|end_ns|time_ns)$/

export function chartColumns<T>(
  columns: readonly Column<T>[],
  wantedX: string | undefined,
  wantedY: string | undefined,
): { x: Column<T> | undefined; y: Column<T> | undefined } {
  const numeric = columns.filter((column) => column.numeric)
  const x =
    columns.find((column) => column.id === wantedX) ??
    columns.find((column) => column.id === 'step') ??
    columns.find((column) => !column.numeric) ??
    columns[0]
  const others = numeric.filter((column) => column !== x)
  const y =
    numeric.find((column) => column.id === wantedY) ??
    others.find((column) => unitOf(column.id) !== 'none' && !IDENTIFIES.test(column.id)) ??
    others.find((column) => !IDENTIFIES.test(column.id)) ??
    others[0] ??
    numeric[0]
  return { x, y }
}

/** The unit that a name ends in. */
export function unitOf(name: string): Unit {
  return (/_(us|ns|bytes|share)$/.exec(name)?.[1] as Unit | undefined) ?? 'none'
}

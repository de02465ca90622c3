// Which slices a row of the table stands for.
import type { Operator } from '../../api/schema'
import type { Grouping } from './rows'

/** Whether the server tells what a row consists of: work of the device, grouped by anything but shapes. */
export function isDrilled(row: Operator, by: Grouping): boolean {
  return row.side === 'device' && row.name !== null && by !== 'shape'
}

/** A condition of SQL; null where a row stands for more than slices of one name, such as a category. */
export function conditionOf(row: Operator, by: Grouping, rank: number, step: number | null): string | null {
  if (row.name === null || !['kernel', 'operator', 'type', 'shape'].includes(by)) return null
  // Device time of an operator is that of its kernels, whose names say nothing of it.
  if (by === 'operator' && row.side === 'device') return null
  const parts = [`rank = ${rank}`]
  if (by === 'type') {
    parts.push(`type = ${quoted(row.name)}`, onSide(row))
  } else if (by === 'operator') parts.push(`name = ${quoted(row.name)}`, `kind = 'operator'`)
  else parts.push(`name = ${quoted(row.name)}`, onSide(row))
  if (by === 'shape') {
    parts.push(row.input_shapes === null ? 'input_shapes IS NULL' : `input_shapes = ${quoted(row.input_shapes)}`)
  }
  if (step !== null) parts.push(`step = ${step}`)
  return parts.join(' AND ')
}

export function longestQuery(condition: string, limit: number): string {
  return `SELECT slice, start_ns, dur_ns, step, stream, input_shapes FROM slices WHERE ${condition} ORDER BY dur_ns DESC LIMIT ${limit}`
}

export function byStepQuery(condition: string): string {
  return `SELECT step, count(*) AS count, sum(dur_ns) / 1000 AS total_us FROM slices WHERE ${condition} AND step IS NOT NULL GROUP BY step ORDER BY step`
}

function onSide(row: Operator): string {
  return row.side === 'host' ? `kind = 'operator'` : `kind <> 'operator'`
}

/** A text of SQL; a quote inside it is doubled. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

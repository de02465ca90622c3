// What a table column is, and how rows are filtered, sorted and written as CSV.
import { columnText, type Quantity } from '../../format/column'

export type CellValue = string | number | boolean | null | undefined

export interface Column<T> {
  readonly id: string
  readonly title: string
  /** Raw value: sorted, filtered and exported. */
  readonly value: (row: T) => CellValue
  /** What is shown; the raw value when absent. */
  readonly text?: (row: T) => string
  /** What its numbers measure: all are then shown in one unit, with the same decimals. */
  readonly quantity?: Quantity
  /** Columns with the same word here are read across: they have one unit. */
  readonly together?: string
  /** Exact value for the tooltip of a rounded number. */
  readonly hint?: (row: T) => string | null
  /** A link the cell leads to. */
  readonly href?: (row: T) => string | null
  readonly numeric?: boolean
  /** CSS width of the column, such as `2fr` or `90px`. */
  readonly width?: string
  /** Share of 0..1 drawn as a bar behind the number. */
  readonly bar?: (row: T) => number | null
  readonly help?: string
  /** Worked out by the page, such as a moment relative to the begin: no field of an answer; in all rows or in some. */
  readonly derived?: boolean | ((row: T) => boolean)
  /** A column of links only: not in the CSV. */
  readonly linksOnly?: boolean
  /** Hidden until the user asks for it. */
  readonly optional?: boolean
  /** Hidden, until the user asks for it, where not all columns fit: better than a table that is read sideways. */
  readonly yields?: boolean
}

export interface Sorting {
  readonly column: string
  readonly descending: boolean
}

/** The columns with a text for every quantity: in the unit that suits all the rows. */
export function withUnits<T>(columns: readonly Column<T>[], rows: readonly T[]): readonly Column<T>[] {
  const number = (column: Column<T>, row: T): number | null => {
    const value = column.value(row)
    return typeof value === 'number' ? value : null
  }
  return columns.map((column) => {
    const { quantity, together } = column
    if (!quantity || column.text) return column
    const others = together === undefined ? [] : columns.filter((one) => one !== column && one.together === together)
    const write = columnText(
      quantity,
      rows.map((row) => number(column, row)),
      { beside: others.flatMap((one) => rows.map((row) => number(one, row))) },
    )
    return { ...column, text: (row: T) => write(number(column, row)) }
  })
}

/** The number of a cell, where it is the value of a field of an answer. */
export function fieldValue<T>(column: Column<T>, row: T): CellValue {
  const { derived } = column
  if (!column.numeric || (typeof derived === 'function' ? derived(row) : derived)) return undefined
  return column.value(row) ?? undefined
}

/** Text a cell shows. */
export function cellText<T>(column: Column<T>, row: T): string {
  if (column.text) return column.text(row)
  const value = column.value(row)
  return value === null || value === undefined ? '–' : String(value)
}

/** An order as the address holds it: `avg_us`, or `-avg_us` from the least. */
export function sortingOf(text: string | undefined): Sorting | null {
  if (!text) return null
  return text.startsWith('-') ? { column: text.slice(1), descending: false } : { column: text, descending: true }
}

export function sortingText(sorting: Sorting): string {
  return sorting.descending ? sorting.column : `-${sorting.column}`
}

/** Rows in order; missing values stand last in either direction, equal ones keep their place. */
export function sorted<T>(rows: readonly T[], columns: readonly Column<T>[], sorting: Sorting | null): readonly T[] {
  const column = columns.find((one) => one.id === sorting?.column)
  if (!column || !sorting) return rows
  const sign = sorting.descending ? -1 : 1
  const keyed = rows.map((row) => ({ row, value: column.value(row) }))
  keyed.sort((a, b) => {
    const missingA = a.value === null || a.value === undefined
    const missingB = b.value === null || b.value === undefined
    if (missingA || missingB) return Number(missingA) - Number(missingB)
    return sign * compare(a.value, b.value)
  })
  return keyed.map((entry) => entry.row)
}

function compare(a: CellValue, b: CellValue): number {
  const first = numberOf(a)
  const second = numberOf(b)
  if (first !== null && second !== null) return first < second ? -1 : first > second ? 1 : 0
  return String(a).localeCompare(String(b), undefined, { numeric: true })
}

/** A number, or an integer beyond 2^53, which travels as text because a number would lose its last digits. */
function numberOf(value: CellValue): number | bigint | null {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^-?\d{16,}$/.test(value) ? BigInt(value) : null
}

type Test<T> = (row: T) => boolean

/** A filter such as `matmul`, `name:conv`, `total>100 count<=3`; words are joined by "and". */
export function parseFilter<T>(input: string, columns: readonly Column<T>[]): Test<T> | null {
  const tests = input
    .trim()
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => testOf(word, columns))
  return tests.length === 0 ? null : (row) => tests.every((test) => test(row))
}

function testOf<T>(word: string, columns: readonly Column<T>[]): Test<T> {
  const match = /^([^:<>=]+)(:|<=|>=|<|>|=)(.+)$/.exec(word)
  const column = match ? findColumn(match[1] ?? '', columns) : undefined
  if (!match || !column) {
    const text = word.toLowerCase()
    return (row) => columns.some((one) => !one.numeric && cellText(one, row).toLowerCase().includes(text))
  }
  const [, , operator = ':', wanted = ''] = match
  if (operator === ':') return (row) => cellText(column, row).toLowerCase().includes(wanted.toLowerCase())
  const limit = numberOf(wanted) ?? Number(wanted)
  return (row) => {
    const value = numberOf(column.value(row))
    if (value === null || Number.isNaN(limit)) return operator === '=' && String(column.value(row)) === wanted
    if (operator === '<') return value < limit
    if (operator === '>') return value > limit
    if (operator === '<=') return value <= limit
    if (operator === '>=') return value >= limit
    // One side may be a BigInt, which never is === to a number.
    return String(value) === String(limit)
  }
}

/** A column by its id or title, as far as one has typed it. */
function findColumn<T>(text: string, columns: readonly Column<T>[]): Column<T> | undefined {
  const name = text.toLowerCase()
  return (
    columns.find((one) => one.id.toLowerCase() === name || one.title.toLowerCase() === name) ??
    columns.find((one) => one.id.toLowerCase().startsWith(name) || one.title.toLowerCase().startsWith(name))
  )
}

/** Rows as CSV with raw values; text that a spreadsheet would run as a formula is quoted off. */
export function toCsv<T>(rows: readonly T[], columns: readonly Column<T>[]): string {
  const written = columns.filter((one) => !one.linksOnly)
  const lines = [written.map((one) => field(one.id)).join(',')]
  for (const row of rows) lines.push(written.map((one) => field(one.value(row))).join(','))
  return `${lines.join('\r\n')}\r\n`
}

function field(value: CellValue): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'string') return String(value)
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

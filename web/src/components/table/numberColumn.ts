// Columns of numbers: in one unit, with the exact value on hover and the meaning of the field over the heading.
import type { Quantity } from '../../format/column'
import { helpOf } from '../../state/help'
import type { Column } from './columns'

/** Names of the fields of a row that are numbers. */
export type NumberField<T> = {
  [K in keyof T]-?: T[K] extends number | null | undefined ? K : never
}[keyof T] &
  string

/** What a number measures, or how it is written where it has no unit. */
export type Written = Quantity | ((value: number | null) => string)

/** Columns that say nothing here, as all their numbers are zero, wait until they are asked for. */
export function zeroesLast<T>(columns: readonly Column<T>[], rows: readonly T[]): readonly Column<T>[] {
  return columns.map((column) =>
    rows.every((row) => column.value(row) === 0) ? { ...column, optional: true } : column,
  )
}

/** Makes columns for the rows of one list of an answer, such as `operations` of `communication`. */
export function numbersOf<T>(
  question: string,
  list = '',
): (id: NumberField<T>, title: string, written: Written) => Column<T> {
  return (id, title, written) => {
    const value = (row: T): number | null => (row[id] as number | null | undefined) ?? null
    return {
      id,
      title,
      numeric: true,
      value,
      ...(typeof written === 'function' ? { text: (row: T) => written(value(row)) } : { quantity: written }),
      hint: (row) => (value(row) === null ? null : String(value(row))),
      ...helpOf(question, list ? `${list}.${id}` : id),
    }
  }
}

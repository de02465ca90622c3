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

/** Less than this part of the whole says nothing. */
const NEXT_TO_NOTHING = 0.001
const isNothing = (value: number, of: number | null): boolean => of !== null && Math.abs(value) < of * NEXT_TO_NOTHING

/**
 * Columns that say nothing here wait until they are asked for: all their numbers are zero or, of times, next to nothing
 * of the whole that a row is about.
 */
export function zeroesLast<T>(
  columns: readonly Column<T>[],
  rows: readonly T[],
  whole: (row: T) => number | null = () => null,
): readonly Column<T>[] {
  const nothing = (column: Column<T>, row: T): boolean => {
    const value = column.value(row)
    return typeof value === 'number' && (value === 0 || (column.quantity === 'us' && isNothing(value, whole(row))))
  }
  return columns.map((column) => (rows.every((row) => nothing(column, row)) ? { ...column, optional: true } : column))
}

/** Columns that are read across: their numbers have one unit. */
export function inOneUnit<T>(columns: readonly Column<T>[]): readonly Column<T>[] {
  const isTime = (column: Column<T>): boolean => column.quantity === 'us' || column.quantity === 'us_change'
  return columns.map((column) => (isTime(column) ? { ...column, together: 'times' } : column))
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

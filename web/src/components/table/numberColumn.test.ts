import { beforeEach, expect, test } from 'vitest'
import { language } from '../../i18n/language.svelte'
import { cellText, withUnits, type Column } from './columns'
import { inOneUnit, zeroesLast } from './numberColumn'

beforeEach(() => language.set('en'))

interface Line {
  readonly period: number
  readonly copy: number
  readonly idle: number
}
const rows: readonly Line[] = [
  { period: 168_001, copy: 99, idle: 0 },
  { period: 168_008, copy: 101, idle: 0 },
]
const column = (id: keyof Line): Column<Line> => ({
  id,
  title: id,
  numeric: true,
  quantity: 'us',
  value: (row) => row[id],
})
const columns = [column('period'), column('copy'), column('idle')]

test('times of a row that are read across have one unit, and only those', () => {
  const texts = (all: readonly Column<Line>[]): string[] =>
    withUnits(all, rows).map((one) => cellText(one, rows[0] as Line))
  expect(texts(columns)).toEqual(['168.001 ms', '99 µs', '0 µs'])
  expect(texts(inOneUnit(columns))).toEqual(['168.001 ms', '0.099 ms', '0 ms'])
})

test('columns of zeros wait, and those of less than a thousandth of the whole', () => {
  const waiting = (all: readonly Column<Line>[]): string[] => all.filter((one) => one.optional).map((one) => one.id)
  expect(waiting(zeroesLast(columns, rows))).toEqual(['idle'])
  expect(waiting(zeroesLast(columns, rows, (row) => row.period))).toEqual(['copy', 'idle'])
  const noticeable = [...rows, { period: 168_000, copy: 169, idle: 0 }]
  expect(waiting(zeroesLast(columns, noticeable, (row) => row.period))).toEqual(['idle'])
})

import { expect, test } from 'vitest'
import type { Column } from '../../components/table/columns'
import { chartColumns, unitOf } from './chartColumns'

const column = (id: string, numeric = true): Column<unknown> => ({ id, title: id, numeric, value: () => null })
const ids = (columns: Column<unknown>[], x?: string, y?: string): (string | undefined)[] => {
  const found = chartColumns(columns, x, y)
  return [found.x?.id, found.y?.id]
}

test('names stand at the axis and what was measured is drawn, not the number of a rank', () => {
  expect(ids([column('rank'), column('name', false), column('calls'), column('total_us')])).toEqual([
    'name',
    'total_us',
  ])
  expect(ids([column('rank'), column('step'), column('host_us')])).toEqual(['step', 'host_us'])
  expect(ids([column('kind', false), column('n')])).toEqual(['kind', 'n'])
})

test('the user may pick any column', () => {
  expect(ids([column('name', false), column('calls'), column('total_us')], 'total_us', 'calls')).toEqual([
    'total_us',
    'calls',
  ])
  expect(ids([column('name', false)])).toEqual(['name', undefined])
})

test('a name says its unit', () => {
  expect([unitOf('total_us'), unitOf('dur_ns'), unitOf('peak_bytes'), unitOf('calls')]).toEqual([
    'us',
    'ns',
    'bytes',
    'none',
  ])
})

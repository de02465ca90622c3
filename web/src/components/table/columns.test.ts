import { expect, test } from 'vitest'
import { parseFilter, sorted, toCsv, type Column } from './columns'

interface Line {
  readonly name: string
  readonly total: number | null
}
const rows: readonly Line[] = [
  { name: 'conv2', total: 5 },
  { name: 'MatMul', total: null },
  { name: 'conv10', total: 30 },
]
const columns: readonly Column<Line>[] = [
  { id: 'name', title: 'Name', value: (row) => row.name },
  { id: 'total_us', title: 'Total', numeric: true, value: (row) => row.total },
]
const names = (lines: readonly Line[]): string[] => lines.map((line) => line.name)
const filtered = (text: string): string[] => names(rows.filter(parseFilter(text, columns) ?? (() => true)))

test('missing values stand last in both directions', () => {
  expect(names(sorted(rows, columns, { column: 'total_us', descending: true }))).toEqual(['conv10', 'conv2', 'MatMul'])
  expect(names(sorted(rows, columns, { column: 'total_us', descending: false }))).toEqual(['conv2', 'conv10', 'MatMul'])
})

test('numbers inside names sort as numbers', () => {
  expect(names(sorted(rows, columns, { column: 'name', descending: false }))).toEqual(['conv2', 'conv10', 'MatMul'])
})

test('filters find text in any column, in one column, and compare numbers', () => {
  expect(filtered('CONV')).toEqual(['conv2', 'conv10'])
  expect(filtered('name:mat')).toEqual(['MatMul'])
  expect(filtered('total>5')).toEqual(['conv10'])
  expect(filtered('total>=5 conv')).toEqual(['conv2', 'conv10'])
  expect(filtered('aten::mm')).toEqual([])
  expect(filtered('  ')).toHaveLength(3)
})

test('CSV quotes what must be quoted and starts no formula', () => {
  const lines = [
    { name: 'a,"b"\nc', total: 1 },
    { name: '=HYPERLINK("x")', total: -2 },
  ]
  expect(toCsv(lines, columns)).toBe('name,total_us\r\n"a,""b""\nc",1\r\n"\'=HYPERLINK(""x"")",-2\r\n')
})

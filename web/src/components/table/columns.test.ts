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

test('columns of links only are not written', () => {
  const links: Column<Line> = { id: 'timeline', title: 'Timeline', value: () => null, linksOnly: true }
  expect(toCsv(rows.slice(0, 1), [...columns, links])).toBe('name,total_us\r\nconv2,5\r\n')
})

test('nanoseconds since 1970, which arrive as text, compare as whole numbers', () => {
  const moments = ['1700000000000000001', '1700000000000000003', '99', '1700000000000000002']
  const column: Column<string> = { id: 'start_ns', title: 'start_ns', numeric: true, value: (row) => row }
  const found = (text: string): string[] => moments.filter(parseFilter(text, [column]) ?? (() => true))
  expect(found('start_ns>1700000000000000001')).toEqual(['1700000000000000003', '1700000000000000002'])
  expect(found('start_ns<=1700000000000000001')).toEqual(['1700000000000000001'])
  expect(found('start_ns=1700000000000000002')).toEqual(['1700000000000000002'])
  expect(found('start_ns>1.7e18')).toHaveLength(3)
  expect(sorted(moments.slice(0, 2), [column], { column: 'start_ns', descending: true })[0]).toBe(moments[1])
})

test('CSV quotes what must be quoted and starts no formula', () => {
  const lines = [
    { name: 'a,"b"\nc', total: 1 },
    { name: '=HYPERLINK("x")', total: -2 },
  ]
  expect(toCsv(lines, columns)).toBe('name,total_us\r\n"a,""b""\nc",1\r\n"\'=HYPERLINK(""x"")",-2\r\n')
})

import { cleanup, fireEvent, render, screen } from '@testing-library/svelte'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { language } from '../../i18n/language.svelte'
import DataTable from './DataTable.svelte'
import type { Column } from './columns'

interface Line {
  readonly name: string
  readonly total: number
}
const columns: readonly Column<Line>[] = [
  { id: 'name', title: 'Name', value: (row) => row.name },
  { id: 'total', title: 'Total', numeric: true, value: (row) => row.total, text: (row) => `${row.total} µs` },
]
const lines = (count: number): Line[] => Array.from({ length: count }, (_, i) => ({ name: `op ${i}`, total: i }))
const texts = (): string[] =>
  screen
    .getAllByRole('row')
    .slice(1)
    .map((row) => row.textContent?.trim().replace(/\s+/g, ' ') ?? '')

beforeEach(() => language.set('en'))
afterEach(cleanup)

test('ten thousand rows are a few dozen elements, and assistive technology knows how many there are', () => {
  render(DataTable<Line>, { rows: lines(10_000), columns, name: 'Operators', height: 280 })
  expect(screen.getAllByRole('row').length).toBeLessThan(60)
  expect(screen.getByRole('grid', { name: 'Operators' }).getAttribute('aria-rowcount')).toBe('10001')
  expect(screen.getByText('10,000 rows')).toBeTruthy()
})

test('a click on a heading sorts, numbers first from the largest', async () => {
  render(DataTable<Line>, { rows: lines(8), columns, name: 'Operators' })
  await fireEvent.click(screen.getByText('Total'))
  expect(texts()[0]).toBe('op 7 7 µs')
  await fireEvent.click(screen.getByText('Total'))
  expect(texts()[0]).toBe('op 0 0 µs')
})

test('a filter narrows the rows, says how many match, and can be cleared', async () => {
  render(DataTable<Line>, { rows: lines(20), columns, name: 'Operators' })
  await fireEvent.input(screen.getByRole('searchbox'), { target: { value: 'total>17' } })
  expect(texts()).toEqual(['op 18 18 µs', 'op 19 19 µs'])
  expect(screen.getByText('2 of 20 rows')).toBeTruthy()
  await fireEvent.input(screen.getByRole('searchbox'), { target: { value: 'nothing like it' } })
  await fireEvent.click(screen.getByText('Clear filters'))
  expect(texts()).toHaveLength(20)
})

test('rows are reached and opened with the keyboard', async () => {
  const opened = vi.fn()
  render(DataTable<Line>, { rows: lines(8), columns, name: 'Operators', onrow: opened })
  const grid = screen.getByRole('grid')
  await fireEvent.keyDown(grid, { key: 'ArrowDown' })
  await fireEvent.keyDown(grid, { key: 'ArrowDown' })
  await fireEvent.keyDown(grid, { key: 'Enter' })
  expect(opened.mock.calls[0]?.[0]).toEqual({ name: 'op 2', total: 2 })
})

test('names that try to be markup stay text', () => {
  render(DataTable<Line>, { rows: [{ name: '<b>bold</b>', total: 1 }], columns, name: 'Operators' })
  expect(screen.getByText('<b>bold</b>')).toBeTruthy()
})

test('an empty table says so', () => {
  render(DataTable<Line>, { rows: [], columns, name: 'Operators' })
  expect(screen.getByText('No rows.')).toBeTruthy()
})

test('numbers of a quantity stand in one unit with the same decimals', () => {
  const times: readonly Column<Line>[] = [
    { id: 'total', title: 'Total', numeric: true, quantity: 'us', value: (row) => row.total },
  ]
  const rows = [
    { name: 'a', total: 46_700 },
    { name: 'b', total: 900 },
  ]
  render(DataTable<Line>, { rows, columns: times, name: 'Operators' })
  expect(texts()).toEqual(['46.7 ms', '0.9 ms'])
})

test('a column that is not always wanted is hidden until it is asked for, and any can be pinned', async () => {
  const more: readonly Column<Line>[] = [
    ...columns,
    { id: 'half', title: 'Half', numeric: true, optional: true, value: (row) => row.total / 2 },
  ]
  render(DataTable<Line>, { rows: lines(2), columns: more, name: 'Operators' })
  expect(screen.queryByRole('columnheader', { name: /Half/ })).toBeNull()
  await fireEvent.click(screen.getByRole('button', { name: 'Columns' }))
  await fireEvent.click(screen.getByRole('checkbox', { name: 'Half' }))
  expect(texts()[1]).toBe('op 1 1 µs 0.5')
  await fireEvent.click(screen.getByRole('button', { name: 'Pin column Half' }))
  expect(texts()[1]).toBe('0.5 op 1 1 µs')
})

test('rows that the server sorts stay as they come', async () => {
  const wished = vi.fn()
  render(DataTable<Line>, { rows: lines(8), columns, name: 'Operators', onsort: wished })
  await fireEvent.click(screen.getByText('Total'))
  expect(wished).toHaveBeenCalledWith({ column: 'total', descending: true })
  expect(texts()[0]).toBe('op 0 0 µs')
})

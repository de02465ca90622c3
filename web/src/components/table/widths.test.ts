import { expect, test } from 'vitest'
import type { Column } from './columns'
import { fitting, inTwoLines, leastOf, leastWidth, legibleWidth } from './widths'

// Without a canvas a letter is 7.5 pixels wide, an ideograph 13.
const column = (title: string, numeric = false): Column<number> => ({ id: 'x', title, numeric, value: (row) => row })

test('a heading is broken where its two lines are shortest', () => {
  expect(inTwoLines('Computing')).toBe(9 * 7.5)
  expect(inTwoLines('Exposed copy')).toBe(7 * 7.5)
  expect(inTwoLines('未掩盖通信')).toBe(3 * 13)
})

test('a column is as wide as its longest number, wherever that stands', () => {
  const rows = Array.from({ length: 500 }, (_, index) => (index === 333 ? 1_234_567_890_123 : index))
  expect(leastWidth(column('N', true), rows)).toBe(Math.ceil(13 * 7.5 + 17))
  expect(leastWidth(column('N'), rows)).toBe(Math.ceil(7.5 + 14 + 17))
})

test('what a column declares holds where it is wide enough', () => {
  expect(legibleWidth('90px', 60)).toBe('90px')
  expect(legibleWidth('90px', 120)).toBe('120px')
  expect(legibleWidth('minmax(84px, 1fr)', 100)).toBe('minmax(100px, 1fr)')
  expect(legibleWidth('2fr', 100)).toBe('minmax(100px, 2fr)')
})

test('where columns do not fit, the last of those that may yield are left out, and no other', () => {
  const named = (id: string, yields = false): Column<number> => ({ ...column(id), id, yields })
  const columns = [named('a'), named('b', true), named('c'), named('d', true), named('e')]
  const shown = (room: number): string =>
    fitting(columns, () => 100, room)
      .map(({ id }) => id)
      .join('')
  expect([500, 499, 400, 399, 10].map(shown)).toEqual(['abcde', 'abce', 'abce', 'ace', 'ace'])
})

test('the least of a width is what its column never falls below', () => {
  expect(['90px', 'minmax(200px, 2fr)', '1fr'].map(leastOf)).toEqual([90, 200, 0])
})

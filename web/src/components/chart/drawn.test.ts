import { expect, test } from 'vitest'
import { drawnValues } from './drawn'

test('values of all series at a position, plain or with a style of their own', () => {
  const option = { series: [{ data: [1, 2] }, { data: [{ value: 3 }, null] }, { data: [[5, 6]] }, {}] }
  expect(drawnValues(option, 3)).toEqual([[1, 3], [2], []])
})

test('one series without a list', () => {
  expect(drawnValues({ series: { data: [7] } }, 1)).toEqual([[7]])
  expect(drawnValues({}, 1)).toEqual([[]])
})

test('a point between empty positions says which number is that of its row', () => {
  const data = [
    { value: [0, 56], ofRow: 56 },
    { value: [2, 4], ofRow: 4 },
  ]
  expect(drawnValues({ series: [{ data }] }, 2)).toEqual([[56], [4]])
  expect(drawnValues({ series: [{ data: [{ value: [0, 56] }] }] }, 1)).toEqual([[]])
})

import { expect, test } from 'vitest'
import { formatVersus, parseVersus } from './versus'

test('the other side is a run, and perhaps its rank and step', () => {
  expect(parseVersus(undefined)).toBeNull()
  expect(parseVersus('')).toBeNull()
  expect(parseVersus('r2')).toEqual({ run: 'r2', rank: null, step: null })
  expect(parseVersus('r2:5')).toEqual({ run: 'r2', rank: '5', step: null })
  expect(parseVersus('r2::7')).toEqual({ run: 'r2', rank: null, step: 7 })
  expect(parseVersus('r2:5:7')).toEqual({ run: 'r2', rank: '5', step: 7 })
  expect(parseVersus('r2:5:soon')).toEqual({ run: 'r2', rank: '5', step: null })
})

test('it is written as short as it can be, and reads back', () => {
  for (const text of ['r2', 'r2:5', 'r2::7', 'r2:0-3,9:7']) expect(formatVersus(parseVersus(text)!)).toBe(text)
})

import { expect, test } from 'vitest'
import { language } from '../../i18n/language.svelte'
import { fractionText } from './numbers'

language.set('en')
const column = (values: readonly number[]): string[] => values.map(fractionText(values))

test('fractions of a column have the same decimals, three at most', () => {
  expect(column([11.987066532258064, 401.46985546875, 8.1406875])).toEqual(['11.987', '401.470', '8.141'])
  expect(column([102776.283, 5945.585])).toEqual(['102,776.283', '5,945.585'])
})

test('whole numbers need none, and halves one', () => {
  expect(column([1, 20, 300])).toEqual(['1', '20', '300'])
  expect(column([0.5, 12, -3.5])).toEqual(['0.5', '12.0', '−3.5'])
})

test('a column of small numbers shows four digits of the largest', () => {
  expect(column([0.000123456, 0.00002])).toEqual(['0.000123', '0.000020'])
  expect(column([0.25, 0.125])).toEqual(['0.250', '0.125'])
})

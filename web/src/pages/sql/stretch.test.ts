import { expect, test } from 'vitest'
import { countQuery, stretchQuery } from './stretch'

test('the first stretch is the query itself', () => {
  expect(stretchQuery('SELECT 1;', null, 0)).toBe('SELECT 1;')
})

test('another order or a later stretch wraps it, whatever ends it', () => {
  expect(stretchQuery('SELECT a -- end\n; ', { column: 'a"b', descending: true }, 5000)).toBe(
    'SELECT * FROM (\nSELECT a -- end\n\n)\nORDER BY "a""b" DESC NULLS LAST\nLIMIT 5000 OFFSET 5000',
  )
  expect(countQuery('SELECT 1 ;')).toBe('SELECT count(*) AS rows FROM (\nSELECT 1 \n)')
})

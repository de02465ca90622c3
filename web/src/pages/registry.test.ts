import { expect, test } from 'vitest'
import { hasData, PAGES, pageWithData } from './registry'

test('every page is listed once, and a page needs rows of one of its tables', () => {
  expect(new Set(PAGES.map((page) => page.id)).size).toBe(PAGES.length)
  const data = PAGES.find((page) => page.id === 'data')
  expect(data && hasData(data, { tables: { pipeline_ops: 3 } }, [])).toBe(true)
  expect(data && hasData(data, { tables: { pipeline_ops: 0 } }, [])).toBe(false)
})

test('a link goes where there is something to see', () => {
  expect(pageWithData('data', 'timeline', { tables: { slices: 9 } }, [])).toBe('timeline')
  expect(pageWithData('data', 'timeline', { tables: { pipeline_batches: 1 } }, [])).toBe('data')
  expect(pageWithData('data', 'timeline', undefined, [])).toBe('timeline')
})

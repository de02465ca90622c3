import { expect, test } from 'vitest'
import fc from 'fast-check'
import { formatRoute, merged, parseRoute, toPage, toRun, type Route } from './route'

test('any route survives the address', () => {
  const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  const params = fc.dictionary(word, word, { noNullPrototype: true })
  fc.assert(
    fc.property(fc.option(word), word, params, (run, page, values) => {
      fc.pre(run !== null || page !== 'run')
      const route: Route = { run, page, params: values }
      expect(parseRoute(formatRoute(route))).toEqual(route)
    }),
  )
})

test('equal states have equal links, which people can read', () => {
  const link = formatRoute({ run: 'a1', page: 'timeline', params: { t: '0-5', rank: '0,13', sel: '0:7' } })
  expect(link).toBe('#/run/a1/timeline?rank=0,13&sel=0:7&t=0-5')
})

test('what is no address leads to the list of runs', () => {
  expect(parseRoute('')).toEqual({ run: null, page: 'runs', params: {} })
  expect(parseRoute('#/run/')).toEqual({ run: null, page: 'run', params: {} })
  expect(parseRoute('#/run/a?%zz=1&=2&x')).toEqual({ run: 'a', page: 'overview', params: { '%zz': '1' } })
})

test('rank, step and time follow to other pages; the rest stays', () => {
  const from: Route = { run: 'a', page: 'timeline', params: { rank: '3', step: '5', t: '1-2', sel: '0:1' } }
  expect(toPage(from, 'operators', { q: 'mm' })).toEqual({
    run: 'a',
    page: 'operators',
    params: { rank: '3', step: '5', t: '1-2', q: 'mm' },
  })
  expect(merged({ a: '1', b: '2' }, { a: null, b: '', c: '3' })).toEqual({ c: '3' })
})

test('another run is shown on the same page with the same rank and grouping, not at the same time', () => {
  const from: Route = { run: 'a', page: 'operators', params: { rank: '3', by: 'module', t: '1-2', sel: '0:1' } }
  expect(toRun(from, 'b')).toEqual({ run: 'b', page: 'operators', params: { rank: '3', by: 'module' } })
})

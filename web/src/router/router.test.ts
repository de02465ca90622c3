import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { router } from './router.svelte'

beforeEach(() => {
  vi.useFakeTimers()
  router.push({ run: 'a', page: 'overview', params: {} })
  router.push({ run: 'a', page: 'timeline', params: {} })
})
afterEach(() => vi.useRealTimers())

test('the address follows what moves all the time a moment later', () => {
  router.adjust({ t: '1-2' })
  expect(location.hash).toBe('#/run/a/timeline')
  vi.runAllTimers()
  expect(location.hash).toBe('#/run/a/timeline?t=1-2')
})

test('a page that the browser went back to is not overwritten before it says so', () => {
  router.adjust({ t: '1-2' })
  history.replaceState(null, '', '#/run/a/overview') // as Back does, whose event comes later
  vi.runAllTimers()
  expect(location.hash).toBe('#/run/a/overview')
  dispatchEvent(new Event('hashchange'))
  expect(router.route.page).toBe('overview')
})

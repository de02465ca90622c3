import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { language } from '../i18n/language.svelte'
import { connection } from '../state/connection.svelte'
import { apiUrl, getJson, postJson } from './client'
import { ApiError, hintOf, isServerGone, sentenceOf } from './errors'

beforeEach(() => language.set('en'))
afterEach(() => vi.unstubAllGlobals())

function answer(status: number, body: string): void {
  vi.stubGlobal(
    'fetch',
    vi.fn(() => Promise.resolve(new Response(body, { status }))),
  )
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (error: unknown) => error,
  )
}

test('addresses are relative to the page, lists repeat their name, nothing is sent for nothing', () => {
  expect(apiUrl('run/a/search', { q: 'a b', rank: [0, 13], kind: null, at_ns: 0, x: '' })).toBe(
    'api/run/a/search?q=a+b&rank=0&rank=13&at_ns=0',
  )
  expect(apiUrl('runs')).toBe('api/runs')
})

test('the language goes along, a body as JSON', async () => {
  answer(200, '{"ok":1}')
  expect(await postJson('runs', { path: '/x' })).toEqual({ ok: 1 })
  const [url, init] = vi.mocked(fetch).mock.calls[0] ?? []
  expect(url).toBe('api/runs')
  expect(init?.body).toBe('{"path":"/x"}')
  expect(init?.headers).toMatchObject({ 'Accept-Language': 'en' })
})

test('an error of the server is told in its own words, with its hint', async () => {
  answer(404, '{"code":"no_such_rank","params":{"rank":9},"message":"This run has no rank 9.","hint":"It has 0."}')
  const error = await failureOf(getJson('run/a'))
  expect(error).toBeInstanceOf(ApiError)
  expect(sentenceOf(error)).toBe('This run has no rank 9.')
  expect(hintOf(error)).toBe('It has 0.')
})

test('what a capture cannot tell comes as an answer and is still a fault for the page', async () => {
  const body = '{"code":"no_flops","params":{},"message":"No shapes were recorded.","hint":null}'
  vi.stubGlobal(
    'fetch',
    vi.fn(() => Promise.resolve(new Response(body, { status: 200, headers: { 'Stepscope-Fault': '422' } }))),
  )
  const error = await failureOf(getJson('run/a/flops'))
  expect(error).toMatchObject({ status: 422, body: { code: 'no_flops' } })
  const [, init] = vi.mocked(fetch).mock.calls[0] ?? []
  expect(init?.headers).toMatchObject({ 'Stepscope-No-Answer': 'ok' })
})

test('an answer that is no error document still gives a code', async () => {
  answer(502, '<html>bad gateway</html>')
  expect(await failureOf(getJson('runs'))).toMatchObject({ status: 502, body: { code: 'http_502' } })
})

test('a server that is gone is noticed, and its return too', async () => {
  vi.useFakeTimers()
  vi.stubGlobal(
    'fetch',
    vi.fn(() => Promise.reject(new TypeError('failed'))),
  )
  const error = await failureOf(getJson('runs'))
  expect(isServerGone(error)).toBe(true)
  expect(sentenceOf(error)).toBe('The server is not responding.')
  expect(connection.gone).toBe(true)
  answer(200, '{}')
  await vi.advanceTimersByTimeAsync(1100)
  expect(connection.gone).toBe(false)
  vi.useRealTimers()
})

test('a request that was given up is no failure of the server', async () => {
  vi.stubGlobal(
    'fetch',
    vi.fn(() => Promise.reject(new DOMException('stop', 'AbortError'))),
  )
  expect(await failureOf(getJson('runs'))).toBeInstanceOf(DOMException)
  expect(connection.gone).toBe(false)
})

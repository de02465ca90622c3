import { flushSync } from 'svelte'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { inRoot, makeKey, whenever } from '../testing/runes.svelte'
import { Resource } from './resource.svelte'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const later = <T>(value: T, ms: number, signal: AbortSignal): Promise<T> =>
  new Promise((done, fail) => {
    signal.addEventListener('abort', () => fail(new DOMException('stop', 'AbortError')))
    setTimeout(() => done(value), ms)
  })

test('waiting is quiet, then visible, then long; data ends it', async () => {
  await inRoot(async () => {
    const resource = new Resource(
      () => 1,
      (signal) => later('data', 3000, signal),
    )
    flushSync()
    expect(resource.waiting).toBe('quiet')
    await vi.advanceTimersByTimeAsync(200)
    expect(resource.waiting).toBe('visible')
    await vi.advanceTimersByTimeAsync(2000)
    expect(resource.waiting).toBe('long')
    await vi.advanceTimersByTimeAsync(1000)
    expect(resource.data).toBe('data')
    expect(resource.waiting).toBeNull()
  })
})

test('a new key stops the old request, keeps the old data until the new ones are there, and equal keys ask nothing', async () => {
  await inRoot(async () => {
    const key = makeKey({ rank: 0 })
    const asked: number[] = []
    const resource = new Resource(
      () => key.value,
      (signal) => {
        asked.push(key.value?.rank ?? -1)
        return later(`rank ${key.value?.rank}`, 100, signal)
      },
    )
    flushSync()
    await vi.advanceTimersByTimeAsync(150)
    expect(resource.data).toBe('rank 0')
    key.value = { rank: 0 }
    flushSync()
    key.value = { rank: 1 }
    flushSync()
    expect(resource.data).toBe('rank 0')
    key.value = { rank: 2 }
    flushSync()
    await vi.advanceTimersByTimeAsync(150)
    expect(resource.data).toBe('rank 2')
    expect(asked).toEqual([0, 1, 2])
    key.value = null
    flushSync()
    expect(resource.data).toBeUndefined()
  })
})

test('a failure keeps the old data beside it, and a reload mends it', async () => {
  await inRoot(async () => {
    let fails = false
    const resource = new Resource(
      () => 1,
      () => (fails ? Promise.reject(new Error('no')) : Promise.resolve('fine')),
    )
    flushSync()
    await vi.advanceTimersByTimeAsync(1)
    fails = true
    resource.reload()
    flushSync()
    await vi.advanceTimersByTimeAsync(1)
    expect(resource.error).toBeInstanceOf(Error)
    expect(resource.data).toBe('fine')
    fails = false
    resource.reload()
    flushSync()
    await vi.advanceTimersByTimeAsync(1)
    expect(resource.error).toBeUndefined()
  })
})

test('a stopped request leaves the old data, marked as such, until one asks again', async () => {
  await inRoot(async () => {
    const key = makeKey({ rank: 0 })
    const resource = new Resource(
      () => key.value,
      (signal) => later(`rank ${key.value?.rank}`, key.value?.rank === 0 ? 100 : 5000, signal),
    )
    flushSync()
    await vi.advanceTimersByTimeAsync(150)
    key.value = { rank: 1 }
    flushSync()
    await vi.advanceTimersByTimeAsync(2500)
    resource.cancel()
    await vi.advanceTimersByTimeAsync(0)
    expect([resource.stopped, resource.waiting, resource.data, resource.error]).toEqual([
      true,
      null,
      'rank 0',
      undefined,
    ])
    resource.reload()
    flushSync()
    expect(resource.stopped).toBe(false)
    await vi.advanceTimersByTimeAsync(5100)
    expect(resource.data).toBe('rank 1')
  })
})

test('an effect that reloads when something is ready asks once more, not for ever', async () => {
  await inRoot(async () => {
    const ready = makeKey(false)
    let asked = 0
    const resource = new Resource(
      () => 1,
      () => Promise.resolve((asked += 1)),
    )
    whenever(
      () => ready.value === true,
      () => resource.reload(),
    )
    flushSync()
    ready.value = true
    flushSync()
    await vi.advanceTimersByTimeAsync(10)
    expect(asked).toBe(2)
  })
})

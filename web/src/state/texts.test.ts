import { afterEach, expect, test, vi } from 'vitest'
import { language } from '../i18n/language.svelte'
import { said, texts } from './texts.svelte'

afterEach(() => vi.unstubAllGlobals())

test('the sentences of a language are asked for once, and the name stands in until they are there', async () => {
  language.set('en')
  const ask = vi.fn((url: string) =>
    Promise.resolve(new Response(JSON.stringify({ 'leak_reason.sawtooth': `${url} ({drops} times)` }))),
  )
  vi.stubGlobal('fetch', ask)
  expect(said('leak_reason', 'sawtooth')).toBe('sawtooth')
  await vi.waitFor(() => expect(said('leak_reason', 'sawtooth', { drops: 3 })).toBe('api/texts?lang=en (3 times)'))
  await texts.load()
  expect(ask).toHaveBeenCalledTimes(1)
  language.set('zh')
  await vi.waitFor(() => expect(said('leak_reason', 'sawtooth', { drops: 2 })).toBe('api/texts?lang=zh (2 times)'))
  language.set('en')
  expect(said('leak_reason', 'sawtooth', { drops: 1 })).toContain('lang=en')
  expect(ask).toHaveBeenCalledTimes(2)
})

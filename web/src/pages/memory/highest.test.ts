import { expect, test, vi } from 'vitest'
import type { Owner, Site } from '../../api/schema'
import { language } from '../../i18n/language.svelte'
import { texts } from '../../state/texts.svelte'
import { highest } from './highest'
import { ownerWord, reasonWord } from './words'

const times = [0, 10, 20, 30]
const values = [5, 9, 9, 2]

test('the highest point of a stretch is the first of equals', () => {
  expect(highest(times, values, 0, 30)).toEqual({ at: 10, value: 9 })
  expect(highest(times, values, 15, 16)).toEqual({ at: 15, value: 9 })
})

test('a value holds until the next one, also after the last', () => {
  expect(highest(times, values, 35, 40)).toEqual({ at: 35, value: 2 })
  expect(highest(times, values, 5, 5)).toEqual({ at: 5, value: 5 })
})

test('before the first value there is nothing', () => {
  expect(highest(times, values, -9, -1)).toBeNull()
  expect(highest([], [], 0, 1)).toBeNull()
})

test('reasons of a verdict are the server’s sentences with their numbers, unknown ones their own name', async () => {
  language.set('en')
  const sentences = {
    'leak_reason.kept': 'Blocks of {births} of the {steps} steps watched, from step {step} on, were never freed.',
    'memory_owner.unrecorded': 'counted by the allocator, no block recorded',
  }
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(JSON.stringify(sentences))))
  await texts.load()
  const site = { reason: 'kept', reason_values: { births: '6', steps: '8', step: '3' } } as unknown as Site
  expect(reasonWord(site)).toBe('Blocks of 6 of the 8 steps watched, from step 3 on, were never freed.')
  expect(reasonWord({ reason: 'later_version', reason_values: {} } as unknown as Site)).toBe('later_version')
  expect(ownerWord({ kind: 'unrecorded', owner: 'unrecorded' } as Owner)).toBe(
    'counted by the allocator, no block recorded',
  )
})

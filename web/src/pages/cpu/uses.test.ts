import { expect, test } from 'vitest'
import { language } from '../../i18n/language.svelte'
import { machineParts, rangeQuery, userName } from './uses'

test('who uses the machine adds up to its cores', () => {
  const parts = machineParts({ cores: 8, process_cores: 2.5, sibling_cores: 1, other_cores: 0.5 })
  expect(parts).toEqual({ process: 2.5, siblings: 1, others: 0.5, idle: 4 })
})

test('more than all cores leaves no idle ones; an incomplete machine has no parts', () => {
  expect(machineParts({ cores: 2, process_cores: 2, sibling_cores: 0, other_cores: 0.5 })?.idle).toBe(0)
  expect(machineParts({ cores: null, process_cores: 2, sibling_cores: 0, other_cores: 0.5 })).toBeNull()
})

test('users have names, also of scopes of later versions', () => {
  language.set('en')
  expect(userName({ scope: 'op', id: 3, name: 'Map(id=3)' })).toBe('Map(id=3)')
  expect(userName({ scope: 'worker', id: 77 })).toBe('worker 77')
  expect(userName({ scope: 'process', id: null })).toBe('training process')
  expect(userName({ scope: 'core', id: 1 })).toBe('core 1')
})

test('means of a stretch come from the samples of one rank', () => {
  expect(rangeQuery(3, '100', '200')).toContain('rank = 3 AND time_ns BETWEEN 100 AND 200')
})

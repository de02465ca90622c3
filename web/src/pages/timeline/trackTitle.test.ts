import { afterEach, expect, test } from 'vitest'
import { language } from '../../i18n/language.svelte'
import { trackTitle } from './trackTitle'

afterEach(() => language.set('en'))

test('curves of memory are named in the language of the page', () => {
  language.set('en')
  expect(['allocated (B)', 'reserved, PTA+GE (B)'].map(trackTitle)).toEqual(['allocated', 'reserved, PTA+GE'])
  language.set('zh')
  expect(['allocated (B)', 'reserved, PTA+GE (B)'].map(trackTitle)).toEqual(['已分配', '已预留, PTA+GE'])
})

test('names of others stay as they are', () => {
  language.set('zh')
  for (const name of ['stream 7', 'allocated', 'reserved by me', '']) expect(trackTitle(name)).toBe(name)
})

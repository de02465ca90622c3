import { afterEach, expect, test } from 'vitest'
import { en } from './en'
import { firstZh } from './first.zh'
import { fill, language, lookUp, t } from './language.svelte'
import { zh } from './zh'

afterEach(() => language.set('en'))

const holes = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '').toSorted()

test('both languages have the same keys, and their sentences take the same values', () => {
  expect(Object.keys(en).toSorted()).toEqual(Object.keys(zh).toSorted())
  for (const [key, sentence] of Object.entries(zh)) {
    expect([key, holes(en[key as keyof typeof zh])]).toEqual([key, holes(sentence)])
  }
})

/** Words that Chinese engineers write in Latin letters; a sentence of others only is not translated. */
const TECHNICAL = /\{\w+\}|rank|batch|p\d+|SQL|CPU|GPU|NPU|PMU|HBM|CSV|PNG|FLOPs?|MFU|[^a-zA-Z]/g

test('no sentence is empty, and Chinese sentences are Chinese', () => {
  const untranslated = Object.entries(zh).filter(
    ([, text]) => !/[\u4e00-\u9fff]/.test(text) && text.replace(TECHNICAL, '') !== '',
  )
  // The button that leads to English speaks English.
  expect(untranslated.map(([key]) => key)).toEqual(['bar.language'])
  expect(Object.values({ ...en }).filter((text) => text.trim() === '')).toEqual([])
})

test('one thing is not called many', () => {
  language.set('en')
  expect(t('table.rows_all', { total: '1' })).toBe('1 row')
  expect(t('table.rows_all', { total: '1,200' })).toBe('1,200 rows')
  expect(t('steps.mean_of', { count: 1 })).toBe('Mean of 1 step')
  // Every noun after a number has both forms.
  const NOUNS =
    'steps|rows|notes|tracks|hits|times|slices|gaps|links|batches|calls|runs|columns|entries|others|places|sites'
  const plain = Object.values(en).filter((text) => new RegExp(`\\{(count|total|slices)\\} (${NOUNS})\\b`).test(text))
  expect(plain).toEqual([])
})

test('values are put in, and the language can change', () => {
  language.set('en')
  expect(t('table.rows', { shown: 3, total: 9 })).toBe('3 of 9 rows')
  language.set('zh')
  expect(t('table.rows', { shown: 3, total: 9 })).toBe('3 / 9 行')
  expect(document.documentElement.lang).toBe('zh')
  expect(lookUp('error.no_such_code')).toBeNull()
})

test('numbers of things have their thousands apart, ranks and steps do not', () => {
  for (const chosen of ['en', 'zh'] as const) {
    language.set(chosen)
    expect(
      fill('{count} of {total}: rank {rank}, step {step}', { count: 1024, total: 20480, rank: 1023, step: 40960 }),
    ).toBe('1,024 of 20,480: rank 1023, step 40960')
    expect(fill('{count} {count|row|rows}', { count: 1 })).toBe('1 row')
    expect(fill('{count}', { count: 0.5 })).toBe('0.5')
  }
})

test('the words that are seen before any page is there come first', () => {
  const sources = import.meta.glob<string>(
    [
      '../App.svelte',
      '../frame/{Navigation,PageHost,TopBar}.svelte',
      '../components/{ErrorBox,Loading}.svelte',
      '../pages/registry.ts',
    ],
    { query: '?raw', import: 'default', eager: true },
  )
  const named = Object.values(sources).flatMap((source) =>
    [...source.matchAll(/'([\w.]+)'/g)].map(([, key]) => key ?? ''),
  )
  const keys = named.filter((key) => key in zh)
  expect(keys.length).toBeGreaterThan(20)
  expect(keys.filter((key) => !(key in firstZh))).toEqual([])
})

import { expect, test } from 'vitest'
import type { RunDetails } from '../api/schema'
import { fitting, scopeTyped, stepTyped, type PaletteEntry } from './palette'

const entry = (title: string, detail = ''): PaletteEntry => ({ id: title, kind: 'page', title, detail, go: () => {} })
const RUN = {
  rank_list: Array.from({ length: 8 }, (_, rank) => ({ rank, host: 'a', dp: rank, tp: 0, pp: 0, ep: 0, cp: 0 })),
  step_list: [3, 4, 5],
} as unknown as RunDetails

test('all words must fit; what begins with them comes first', () => {
  const entries = [entry('Data pipeline'), entry('Timeline'), entry('Memory', 'timeline of blocks'), entry('Idle time')]
  expect(fitting(entries, 'time').map((one) => one.title)).toEqual(['Timeline', 'Idle time', 'Memory'])
  expect(fitting(entries, 'line time').map((one) => one.title)).toEqual(['Timeline', 'Memory'])
  expect(fitting(entries, '')).toHaveLength(4)
})

test('what was typed in full stands before all that holds it', () => {
  const entries = [entry('Ranks 0, 1, 3 wait for rank 2'), entry('rank 30'), entry('Show rank 3', 'rank 3')]
  expect(fitting(entries, 'Rank 3')[0]?.title).toBe('Show rank 3')
  expect(fitting(entries, 'rank 30')[0]?.title).toBe('rank 30')
})

test('ranks are typed as the address writes them', () => {
  expect(scopeTyped('5', RUN)).toEqual({ scope: '5', count: 1 })
  expect(scopeTyped('rank 0-3', RUN)).toEqual({ scope: '0-3', count: 4 })
  expect(scopeTyped('dp:3', RUN)).toEqual({ scope: 'dp:3', count: 1 })
  expect(scopeTyped('slow:2', RUN)).toEqual({ scope: 'slow:2', count: 0 })
  expect([scopeTyped('99', RUN), scopeTyped('memory', RUN), scopeTyped('', RUN)]).toEqual([null, null, null])
})

test('a step is typed by its number', () => {
  expect([stepTyped('4', RUN), stepTyped('step 5', RUN), stepTyped('9', RUN), stepTyped('4x', RUN)]).toEqual([
    4,
    5,
    null,
    null,
  ])
})

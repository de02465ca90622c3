import { beforeEach, expect, test } from 'vitest'
import { language } from '../../i18n/language.svelte'
import type { Box } from '../../timeline/layout'
import { linesOf } from './exportPng'

beforeEach(() => language.set('en'))

test('the picture names every merged lane beside its row', () => {
  const box = { kind: 'lanes', title: '', rank: 0, folded: false, height: 30, rowHeight: 15, rows: 2 } as Box
  expect(linesOf(box, ['computing', 'free']).map(({ text, middle, lane }) => [text, middle, lane])).toEqual([
    ['Computing', 7.5, 0],
    ['Idle', 22.5, 1],
  ])
  expect(linesOf({ ...box, folded: true }, ['computing', 'free']).map((line) => line.text)).toEqual(['Merged lanes'])
})

import { beforeEach, expect, test } from 'vitest'
import { language } from '../../i18n/language.svelte'
import type { Box } from '../../timeline/layout'
import { SIDE_B } from '../../timeline/sides'
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

test('names of the picture are those beside the lanes: whose track, how many quiet ones, which rank of the other run', () => {
  const box = { kind: 'track', title: 'stream 7', rank: 2, paired: true, height: 20, rows: 1, groupKind: null } as Box
  const text = (more: Partial<Box>): string | undefined => linesOf({ ...box, ...more }, [])[0]?.text
  expect(text({})).toBe('rank 2 · stream 7')
  expect(text({ paired: false })).toBe('stream 7')
  expect(text({ kind: 'quiet', title: '', rows: 3 })).toBe('3 quiet tracks')
  expect(text({ kind: 'strip', rank: SIDE_B + 1, title: 'node-b' })).toBe('B · rank 1  node-b')
  expect(text({ kind: 'group', title: '', groupKind: 'python' })).toBe('Python frames')
})

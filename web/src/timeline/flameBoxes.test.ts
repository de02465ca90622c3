import { expect, test } from 'vitest'
import type { Flame } from '../api/timeline'
import { flameBoxes } from './flameBoxes'

const node = (name: string, parent: number | null, depth: number, total: number) => ({
  name,
  parent,
  depth,
  count: 1,
  total_ns: total,
  self_ns: 0,
})
const flame: Flame = {
  from_ns: 0,
  to_ns: 1000,
  total_ns: 1000,
  nodes: [node('forward', null, 0, 300), node('backward', null, 0, 700), node('mm', 1, 1, 350), node('dust', 1, 1, 1)],
  nodes_total: 4,
}

test('widths are times, the longest first, children below their callers', () => {
  expect(flameBoxes(flame, null, 100)).toEqual([
    { node: 1, left: 0, width: 70, line: 0 },
    { node: 2, left: 0, width: 35, line: 1 },
    { node: 0, left: 70, width: 30, line: 0 },
  ])
})

test('a chosen node fills the width, below its callers', () => {
  expect(flameBoxes(flame, 2, 100)).toEqual([
    { node: 1, left: 0, width: 100, line: 0 },
    { node: 2, left: 0, width: 100, line: 1 },
  ])
})

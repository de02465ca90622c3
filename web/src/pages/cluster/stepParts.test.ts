import { expect, test } from 'vitest'
import { drawnParts } from './stepParts'

const NOTHING = {
  period_us: 100,
  computing_us: null,
  exposed_communication_us: null,
  exposed_copy_us: null,
  idle_us: null,
  overlap_us: null,
}

test('bars are made of the parts that are known', () => {
  const rows = [{ ...NOTHING, computing_us: 60, idle_us: 40 }, NOTHING]
  expect(drawnParts(rows).map((part) => part.field)).toEqual(['computing_us', 'idle_us'])
})

test('where nothing but the length of the step is known, it is drawn in one piece', () => {
  expect(drawnParts([NOTHING]).map((part) => part.field)).toEqual(['period_us'])
})

test('an overlap of a hair does not push the axis below zero', () => {
  const fieldsWith = (overlap: number): readonly string[] =>
    drawnParts([{ ...NOTHING, computing_us: 100, overlap_us: overlap }]).map((part) => part.field)
  expect(fieldsWith(-0.01)).toEqual(['computing_us'])
  expect(fieldsWith(-5)).toEqual(['computing_us', 'overlap_us'])
})

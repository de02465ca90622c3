import { expect, test } from 'vitest'
import type { Operator } from '../../api/schema'
import { conditionOf } from './occurrences'

const row = (name: string | null, side = 'device', input_shapes: string | null = null): Operator =>
  ({ name, side, input_shapes }) as Operator

test('a quote in a name cannot end the text of the query', () => {
  expect(conditionOf(row("x' OR 1=1 --"), 'kernel', 0, null)).toBe(
    "rank = 0 AND name = 'x'' OR 1=1 --' AND kind <> 'operator'",
  )
})

test('operators are sought on the host, shapes with their shapes, steps where one is chosen', () => {
  expect(conditionOf(row('aten::mm', 'host'), 'operator', 3, 7)).toBe(
    "rank = 3 AND name = 'aten::mm' AND kind = 'operator' AND step = 7",
  )
  expect(conditionOf(row('aten::mm', 'host', '[[4,4]]'), 'shape', 0, null)).toContain("input_shapes = '[[4,4]]'")
  expect(conditionOf(row('aten::mm', 'host'), 'shape', 0, null)).toContain('input_shapes IS NULL')
})

test('groups of many names stand for no slices', () => {
  expect(conditionOf(row('matmul'), 'category', 0, null)).toBeNull()
  expect(conditionOf(row(null), 'kernel', 0, null)).toBeNull()
})

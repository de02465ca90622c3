import { expect, test } from 'vitest'
import type { PipelineOp } from '../../api/schema'
import { drawing, nameParts } from './graph'

const op = (number: number, parent: number | null, kind = 'Map'): PipelineOp =>
  ({ op: number, parent, kind, name: `${kind}(id=${number})` }) as PipelineOp
const places = (ops: PipelineOp[]): Record<number, [number, number, number | null]> =>
  Object.fromEntries(drawing(ops).stages.map((one) => [one.op.op, [one.column, one.row, one.target]]))

test('a chain runs from the reader to the training', () => {
  expect(places([op(0, null), op(1, 0), op(2, 1)])).toEqual({ 2: [0, 0, 1], 1: [1, 0, 0], 0: [2, 0, null] })
})

test('branches lie below each other and meet in the middle', () => {
  const found = places([op(0, null, 'Zip'), op(1, 0), op(2, 0), op(3, 2)])
  expect(found).toEqual({ 3: [0, 1, 2], 1: [1, 0, 0], 2: [1, 1, 0], 0: [2, 0.5, null] })
  expect(drawing([op(0, null), op(1, 0), op(2, 0)]).rows).toBe(2)
})

test('a device queue that was recorded apart comes behind the tree', () => {
  expect(places([op(-1, null, 'DeviceQueue'), op(0, null), op(1, 0)])).toEqual({
    1: [0, 0, 0],
    0: [1, 0, -1],
    [-1]: [2, 0, null],
  })
})

test('rings, missing parents and an empty pipeline still give a drawing', () => {
  expect(drawing([op(0, 1), op(1, 0)]).stages).toHaveLength(2)
  expect(places([op(5, 99)])).toEqual({ 5: [0, 0, null] })
  expect(drawing([])).toEqual({ stages: [], columns: 0, rows: 1 })
})

test('the number of a stage stands apart from its name', () => {
  expect(nameParts('ImageFolder(id=3)')).toEqual(['ImageFolder', 'id=3'])
  expect(nameParts('Collate')).toEqual(['Collate', ''])
})

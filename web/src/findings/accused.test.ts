import { expect, test } from 'vitest'
import type { Finding } from '../api/schema'
import { accusing, framesOf } from './accused'

const finding = (ranks: number[], where: object = {}, severity = 'warning'): Finding =>
  ({ ranks, where, severity }) as unknown as Finding

test('a finding about a group as a whole frames none of its members', () => {
  const found = [finding([3]), finding([0, 2, 4, 6], { group: 'dp_0' }), finding([8, 9], { host: 'host001' })]
  expect([...framesOf(accusing(found, 64)).keys()].toSorted((a, b) => a - b)).toEqual([3, 8, 9])
  expect(accusing(found, 64)).toHaveLength(3)
})

test('what is said of most of the job, and what is no reproach, singles out nobody', () => {
  expect(accusing([finding([0, 1, 2]), finding([1], {}, 'info')], 4)).toEqual([])
})

test('a rank that several findings accuse has the colour of the most serious', () => {
  expect(framesOf([finding([1], {}, 'critical'), finding([1])]).get(1)).toBe('--critical')
})

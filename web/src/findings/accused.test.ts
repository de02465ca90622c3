import { expect, test } from 'vitest'
import type { Finding } from '../api/schema'
import { accusedAndPeer, accusing, framesOf } from './accused'

const finding = (ranks: readonly number[], more: object = {}): Finding =>
  ({ severity: 'warning', ranks, where: {}, proof: [], ...more }) as unknown as Finding
/** Two stages of two ranks, which differ in `dp`. */
const RANKS = [0, 1, 2, 3].map((rank) => ({ rank, pp: rank < 2 ? 0 : 1, dp: rank % 2, tp: 0, cp: null, ep: null }))

test('the accused rank comes first, beside one that does the same work', () => {
  expect(accusedAndPeer([finding([2])], RANKS)).toEqual([2, 3])
  expect(accusedAndPeer([finding([1])], RANKS)).toEqual([1, 0])
})

test('of several peers the one that proves the finding, else the lowest number', () => {
  const proof = [2, 3, 1].map((rank) => ({ rank, page: 'timeline' as const }))
  const flat = RANKS.map((one) => ({ ...one, pp: 0 }))
  expect(accusedAndPeer([finding([2], { proof })], flat)).toEqual([2, 1])
  expect(accusedAndPeer([finding([2])], flat)).toEqual([2, 0])
})

test('what is accused is no peer; a whole stage is beside a rank of the other', () => {
  expect(accusedAndPeer([finding([2]), finding([3])], RANKS)).toEqual([2, 0])
  expect(accusedAndPeer([finding([2, 3])], RANKS)).toEqual([2, 0])
})

test('both ends of a link belong together', () => {
  expect(accusedAndPeer([finding([1, 3], { where: { link: '1-3' } })], RANKS)).toEqual([1, 3])
})

test('a finding about all ranks, a remark, or a rank that was not recorded accuses none', () => {
  expect(accusedAndPeer([finding([0, 1, 2, 3])], RANKS)).toBeNull()
  expect(accusedAndPeer([finding([2], { severity: 'info' })], RANKS)).toBeNull()
  expect(accusedAndPeer([finding([9])], RANKS)).toBeNull()
  expect(accusedAndPeer([finding([0, 1, 2, 3]), finding([9]), finding([3])], RANKS)).toEqual([3, 2])
})

test('a finding about a group as a whole frames none of its members', () => {
  const found = [
    finding([3]),
    finding([0, 2, 4, 6], { where: { group: 'dp_0' } }),
    finding([8, 9], { where: { host: 'host001' } }),
  ]
  expect([...framesOf(accusing(found, 64)).keys()].toSorted((a, b) => a - b)).toEqual([3, 8, 9])
  expect(accusing(found, 64)).toHaveLength(3)
})

test('what is said of most of the job, and what is no reproach, singles out nobody', () => {
  expect(accusing([finding([0, 1, 2]), finding([1], { severity: 'info' })], 4)).toEqual([])
})

test('a rank that several findings accuse has the colour of the most serious', () => {
  expect(framesOf([finding([1], { severity: 'critical' }), finding([1])]).get(1)).toBe('--critical')
})

import { expect, test } from 'vitest'
import type { SearchResult, SliceBrief } from '../api/schema'
import { cursorsOf, foundOfBoth } from './foundOfBoth'
import { SIDE_B } from './sides'

const hit = (rank: number, slice: number, at: number): SliceBrief =>
  ({ rank, slice, at_ns: at, dur_ns: 5, name: 'mm' }) as unknown as SliceBrief

/** A search over hits at these times, as the server answers it: before and behind a hit, or a moment. */
function searched(hits: readonly SliceBrief[], cursor: Readonly<Record<string, number>>): SearchResult {
  const here = hits.findIndex((one) => one.slice === cursor['current_slice'])
  const ahead = hits.findIndex((one) => one.at_ns >= (cursor['at_ns'] ?? 0))
  const position = here >= 0 ? here : ahead < 0 ? hits.length : ahead
  return {
    total: hits.length,
    names: [{ name: 'mm', count: hits.length }],
    names_total: 1,
    rows: [],
    ticks: [],
    hits,
    position,
    next: hits[here >= 0 ? here + 1 : position] ?? null,
    previous: hits[position - 1] ?? null,
  }
}

const A = [hit(0, 1, 100), hit(0, 2, 300), hit(0, 3, 500)]
/** Shown 1000 earlier: at 200, 300 and 700. */
const B = [hit(SIDE_B, 11, 1200), hit(SIDE_B, 12, 1300), hit(SIDE_B, 13, 1700)]
const MOVED = -1000

function step(current: SliceBrief | null): SearchResult {
  const [a, b] = cursorsOf(current, (current?.rank ?? 0) >= SIDE_B, 0, MOVED)
  return foundOfBoth(searched(A, a), searched(B, b), MOVED, 9)
}

test('hits of both sides are walked in the order in which they are shown, each once', () => {
  const seen: number[] = []
  let current: SliceBrief | null = null
  for (let count = 0; count < 9; count += 1) {
    const { next, position } = step(current)
    expect(position).toBe(current === null ? 0 : count - 1)
    if (!next) break
    seen.push(next.slice)
    current = next
  }
  expect(seen).toEqual([1, 11, 2, 12, 3, 13])
  const back: number[] = []
  for (let count = 0; count < 9 && current; count += 1) {
    back.push(current.slice)
    current = step(current).previous
  }
  expect(back).toEqual([13, 3, 12, 2, 11, 1])
})

test('the list is in that order too, and counts are of both', () => {
  const { hits, total, names } = step(null)
  expect(hits.map((one) => one.slice)).toEqual([1, 11, 2, 12, 3, 13])
  expect(total).toBe(6)
  expect(names).toEqual([{ name: 'mm', count: 6 }])
})

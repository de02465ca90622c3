import { expect, test } from 'vitest'
import fc from 'fast-check'
import { aligned, alignedByStep, offsetsFromText, offsetsToText, withOffset } from './align'
import { addFlag, flagsFromText, flagsToText, removeFlag, renameFlag } from './flags'
import { curvesOf } from './flowCurves'
import { firstStep, RunModel, stepSpan } from './model'
import { nameMatcher, parseSearch, toQuery } from './search'
import { extend, NOTHING, select, selectionFromParams, selectionToParams, spanFromText, spanToText } from './selection'
import { makeRank, makeTracks } from '../testing/tracks'
import type { Flows, StepMark } from '../api/timeline'

const present = (params: Record<string, string | null>): Record<string, string> =>
  Object.fromEntries(Object.entries(params).filter((entry): entry is [string, string] => entry[1] !== null))

test('a span survives the address to the nanosecond, also when negative', () => {
  const moment = fc.integer({ min: -(2 ** 50), max: 2 ** 50 })
  fc.assert(
    fc.property(moment, fc.integer({ min: 1, max: 2 ** 40 }), (start, length) => {
      const span = { start, end: start + length }
      expect(spanFromText(spanToText(span))).toEqual(span)
    }),
  )
  expect(spanFromText('5-5')).toBeNull()
  expect(spanFromText('a-b')).toBeNull()
  expect(spanFromText('1-99999999999999999999')).toBeNull()
})

test('a selection survives the address', () => {
  const selection = {
    slices: [
      { rank: 0, slice: 12 },
      { rank: 3, slice: 4_000_000_000 },
    ],
    range: { start: 100, end: 900, rows: [{ rank: 0, first_row: 2, last_row: 5 }] },
  }
  expect(selectionFromParams(present(selectionToParams(selection)))).toEqual(selection)
  expect(selectionFromParams({ sel: 'x,1:2,:3', range: 'no' })).toEqual({
    slices: [{ rank: 1, slice: 2 }],
    range: null,
  })
})

test('shift adds a slice and takes it out again', () => {
  const one = select({ rank: 0, slice: 1 })
  const two = extend(one, { rank: 1, slice: 1 })
  expect(two.slices).toHaveLength(2)
  expect(extend(two, { rank: 1, slice: 1 })).toEqual(one)
  expect(extend(NOTHING, { rank: 0, slice: 1 })).toEqual(one)
})

test('aligning puts the chosen edges under each other, whatever the offsets were', () => {
  const time = fc.integer({ min: 0, max: 1e9 })
  fc.assert(
    fc.property(time, time, time, time, fc.integer({ min: -1e6, max: 1e6 }), (a, da, b, db, before) => {
      const reference = { rank: 0, slice: 1, name: 'x', at_ns: a, dur_ns: da }
      const slice = { rank: 1, slice: 2, name: 'x', at_ns: b, dur_ns: db }
      const offsets = withOffset(new Map(), 0, before)
      const left = aligned(offsets, reference, slice, 'left')
      expect(b + (left.get(1) ?? 0)).toBe(a + before)
      const right = aligned(offsets, reference, slice, 'right')
      expect(b + db + (right.get(1) ?? 0)).toBe(a + da + before)
    }),
  )
})

test('a slice of the reference’s own rank moves nothing; steps align to the first rank', () => {
  const anchor = { rank: 0, slice: 1, name: 'x', at_ns: 5, dur_ns: 5 }
  expect(aligned(new Map(), anchor, { ...anchor, at_ns: 9 }, 'left').size).toBe(0)
  expect([
    ...alignedByStep(
      new Map([
        [2, 100],
        [5, 130],
      ]),
    ),
  ]).toEqual([[5, -30]])
})

test('offsets survive the address', () => {
  const offsets = new Map([
    [0, -5],
    [13, 2_000_000],
  ])
  expect(offsetsFromText(offsetsToText(offsets) ?? '')).toEqual(offsets)
  expect(offsetsFromText('1:x,,2:3').get(2)).toBe(3)
})

test('flags are kept in order, renamed, removed, and survive the address with their notes', () => {
  const flags = renameFlag(addFlag(addFlag([], 900), 100.4, 'a'), 900, 'slow ~ here, 慢')
  expect(flags.map((flag) => flag.at)).toEqual([100, 900])
  expect(flagsFromText(flagsToText(flags) ?? '')).toEqual([
    { at: 100, note: 'a' },
    { at: 900, note: 'slow - here, 慢' },
  ])
  expect(removeFlag(flags, 100)).toHaveLength(1)
  expect(addFlag(flags, 100)).toBe(flags)
})

test('the search box understands text, regular expressions and conditions', () => {
  expect(parseSearch('  ')).toBeNull()
  expect(parseSearch('all reduce')).toMatchObject({ text: 'all reduce', regex: false })
  expect(parseSearch('/^aten::(mm|bmm)$/ dur>1.5ms kind:operator')).toEqual({
    text: '^aten::(mm|bmm)$',
    regex: true,
    kind: 'operator',
    least: 1_500_000,
    most: null,
  })
  expect(parseSearch('dur<20us')).toMatchObject({ text: '', most: 20_000 })
  const bare = parseSearch('kind:copy')
  expect(bare && toQuery(bare, [0])).toMatchObject({ q: '.*', mode: 'regex', kind: 'copy' })
  const query = parseSearch('MM')
  expect(query && toQuery(query, [0, 3])).toMatchObject({ q: 'MM', mode: 'text', rank: [0, 3] })
})

test('names are matched as the server matches them: without regard to case', () => {
  const matches = (input: string, name: string): boolean | undefined => {
    const query = parseSearch(input)
    return query ? nameMatcher(query)?.(name) : undefined
  }
  expect(matches('MATMUL', 'aten::matmul')).toBe(true)
  expect(matches('/^mat/', 'aten::matmul')).toBe(false)
  expect(matches('/[/', 'x')).toBeUndefined()
  expect(matches('kind:copy', 'x')).toBeUndefined()
})

const flows = (more: Partial<Flows>): Flows => ({
  total: 1,
  shown: 1,
  rank: [0],
  kind: ['launch'],
  from_slice: [1],
  from_row: [0],
  from_at_ns: [100],
  from_dur_ns: [50],
  to_slice: [2],
  to_row: [1],
  to_at_ns: [400],
  to_dur_ns: [10],
  ...more,
})

test('a link leaves from the end of its cause, from its start when the effect begins earlier', () => {
  const locate = (_: number, row: number): number | null => (row < 2 ? row * 20 : null)
  const x = (_: number, ns: number): number => ns
  expect(curvesOf(flows({}), locate, x, 1000)).toEqual([{ x0: 150, y0: 0, x1: 400, y1: 20, kind: 'launch' }])
  expect(curvesOf(flows({ to_at_ns: [120] }), locate, x, 1000)[0]?.x0).toBe(100)
  expect(curvesOf(flows({ to_row: [9] }), locate, x, 1000)).toEqual([])
  expect(curvesOf(flows({}), locate, x, 120)).toEqual([])
})

const mark = (step: number, at: number, length: number, more: Partial<StepMark> = {}): StepMark => ({
  step,
  at_ns: at,
  dur_ns: length,
  device_at_ns: null,
  device_dur_ns: null,
  period_at_ns: null,
  period_dur_ns: null,
  warm_up: false,
  incomplete: false,
  ...more,
})

test('the page opens on the longest whole step of the slowest rank', () => {
  const model = new RunModel(
    makeTracks([
      makeRank(0, {
        steps: [mark(1, 0, 900, { warm_up: true }), mark(2, 900, 100), mark(3, 1000, 300, { incomplete: true })],
      }),
      makeRank(1, { steps: [mark(2, 900, 140)] }),
    ]),
  )
  expect(firstStep(model)).toMatchObject({ rank: 1, mark: { step: 2 } })
  expect(stepSpan(mark(1, 100, 50, { device_at_ns: 120, device_dur_ns: 90 }))).toEqual({ start: 100, end: 210 })
  // Where the host runs ahead, a step is where its device work is.
  expect(stepSpan(mark(1, 100, 50, { period_at_ns: 900, period_dur_ns: 70 }))).toEqual({ start: 900, end: 970 })
})

test('names arrive in pieces and are brightened by a search', () => {
  const model = new RunModel(makeTracks([makeRank(0, { names_total: 3 })]))
  model.addNames(0, 2, ['late'])
  expect(model.name(0, 2)).toBe('late')
  model.addNames(0, 2, ['twice'])
  expect(model.name(0, 2)).toBe('late')
  model.brighten((name) => name.includes('a'))
  expect([...(model.ranks.get(0)?.bright ?? [])]).toEqual([1, 0, 1])
})

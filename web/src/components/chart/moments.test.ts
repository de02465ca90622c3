import { expect, test } from 'vitest'
import { absolute, aroundText, clockOf, relative, relativeAll, stepBands } from './moments'

const RUN = { origin_ns: '1794713980135695845', end_at_ns: 92_940_919 }

test('nanoseconds since 1970 keep their last digit on the axis and on the way back', () => {
  const origin = BigInt(RUN.origin_ns)
  expect(relative('1794713980135695846', origin)).toBe(1)
  expect(absolute(1, origin)).toBe('1794713980135695846')
  expect(absolute(relative('1794713980228636764', origin), origin)).toBe('1794713980228636764')
})

test('moments of another clock begin at zero and are not sought on the timeline', () => {
  expect(clockOf(['1794713980135695900'], RUN)).toEqual({ origin: BigInt(RUN.origin_ns), onTimeline: true })
  expect(clockOf([11_751_572_000_000], RUN)).toEqual({ origin: 11_751_572_000_000n, onTimeline: false })
  expect(clockOf([5], undefined)).toEqual({ origin: 5n, onTimeline: false })
  expect(clockOf([], RUN).onTimeline).toBe(true)
})

test('steps become bands relative to the same zero', () => {
  expect(stepBands([{ step: 3, start_ns: '1794713980135695855', duration_us: 1.5 }], BigInt(RUN.origin_ns))).toEqual([
    { name: '3', start: 10, end: 1510 },
  ])
})

test('a stretch of the timeline leaves room, also around a single moment', () => {
  expect(aroundText(1000, 5000)).toBe('0-6000')
  expect(aroundText(10_000, 10_000)).toBe('9750-10250')
  expect(relativeAll(['12', 15], 10n)).toEqual([2, 5])
})

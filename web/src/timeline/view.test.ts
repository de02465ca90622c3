import { expect, test } from 'vitest'
import fc from 'fast-check'
import { TimeView } from './view'

const run = { start: 0, end: 1_000_000 }

test('zooming keeps the moment under the pointer where it is', () => {
  fc.assert(
    fc.property(fc.integer({ min: 250, max: 750 }), fc.double({ min: 1.01, max: 8, noNaN: true }), (x, factor) => {
      const view = new TimeView(run, { start: 200_000, end: 800_000 }, 1000)
      const before = view.time(x)
      view.zoomAt(x, factor)
      expect(Math.abs(view.time(x) - before)).toBeLessThan(1e-3)
    }),
  )
})

test('pixels and moments are inverse', () => {
  const view = new TimeView(run, { start: 100_000, end: 101_000 }, 500)
  expect(view.nsPerPixel).toBe(2)
  expect(view.x(100_500)).toBe(250)
  expect(view.time(250)).toBe(100_500)
})

test('no movement leaves the run behind', () => {
  const view = new TimeView(run, { start: 0, end: 1000 }, 1000)
  view.pan(-1e9)
  expect(view.end).toBeGreaterThanOrEqual(0)
  view.pan(1e9)
  expect(view.start).toBeLessThanOrEqual(run.end)
})

test('zooming out ends at the whole run, zooming in at some nanoseconds', () => {
  const view = new TimeView(run, { start: 10, end: 1000 }, 1000)
  view.zoomAt(500, 1e-9)
  expect(view.end - view.start).toBeCloseTo(1_040_000, -1)
  view.zoomAt(500, 1e12)
  expect(view.end - view.start).toBe(20)
})

test('undo returns to the stretch before each shown one', () => {
  const view = new TimeView(run, { start: 0, end: 500 }, 1000)
  const first = view.span
  view.show({ start: 1000, end: 2000 })
  view.show({ start: 5000, end: 6000 })
  expect(view.undo()).toBe(true)
  expect(view.span).toEqual({ start: 1000, end: 2000 })
  expect(view.undo()).toBe(true)
  expect(view.span).toEqual(first)
  expect(view.undo()).toBe(false)
})

test('focus centres a short stretch first and fits it the second time', () => {
  const view = new TimeView(run, { start: 0, end: 100_000 }, 1000)
  view.focus({ start: 500_000, end: 500_100 })
  expect(view.end - view.start).toBeCloseTo(100_000, 3)
  expect((view.start + view.end) / 2).toBeCloseTo(500_050, 3)
  view.focus({ start: 500_000, end: 500_100 })
  expect(view.end - view.start).toBeCloseTo(120, 3)
})

test('reveal does not move what is in sight', () => {
  const view = new TimeView(run, { start: 1000, end: 2000 }, 1000)
  view.reveal({ start: 1500, end: 1600 })
  expect(view.span).toEqual({ start: 1000, end: 2000 })
  view.reveal({ start: 9000, end: 9100 })
  expect(view.start).toBeLessThanOrEqual(9000)
  expect(view.end).toBeGreaterThanOrEqual(9100)
})

import { expect, test } from 'vitest'
import { language } from '../../i18n/language.svelte'
import { axisText, timeOption, wideRows, type CurveSeries } from './timeOption'

language.set('en')
const curve = (name: string, times: number[], values: number[]): CurveSeries => ({ name, times, values, colour: '--x' })

test('the table twin has a row for every moment of any curve', () => {
  expect(wideRows([curve('a', [0, 2], [1, 3]), curve('b', [1, 2], [5, 6])])).toEqual([
    { at: 0, values: [1, null] },
    { at: 1, values: [null, 5] },
    { at: 2, values: [3, 6] },
  ])
})

test('neighbouring ticks never read the same', () => {
  const span = [6_050_000_000, 6_052_400_000] as const
  const ticks = [6_050_500_000, 6_051_000_000, 6_051_500_000].map((value) => axisText(value, span))
  expect(ticks).toEqual(['6.0505 s', '6.051 s', '6.0515 s'])
  expect(axisText(20_000_000, [0, 90_000_000])).toBe('20 ms')
})

test('a capacity far above the curve does not flatten it, unless it must show', () => {
  const base = {
    series: [curve('a', [0, 1], [1, 2])],
    text: String,
    bands: [],
    marks: [],
    picked: null,
    least: 0,
    most: null,
    inBytes: false,
  }
  const top = (always: boolean): unknown => {
    const limits = [{ name: 'c', value: 100, colour: '--x', always }]
    const axis = timeOption({ ...base, limits, variable: () => '#000000' })['yAxis'] as { max?: number }
    return axis.max
  }
  // The chart then ends at a round number, with its label.
  expect(top(false)).toBeUndefined()
  expect(top(true)).toBe(106)
})

test('a moment with a name is marked, also behind the last point of the curve', () => {
  const option = timeOption({
    series: [curve('a', [0, 10], [1, 2])],
    text: String,
    bands: [],
    limits: [],
    marks: [{ at: 12, name: 'Out of memory', colour: '--critical' }],
    picked: null,
    least: 0,
    most: null,
    inBytes: false,
    variable: (name) => name,
  }) as { xAxis: { max: number }; series: { markLine: { data: { xAxis: number; label: { formatter: string } }[] } }[] }
  expect(option.xAxis.max).toBe(12)
  expect(option.series[0]?.markLine.data).toMatchObject([{ xAxis: 12, label: { formatter: 'Out of memory' } }])
})

test('what holds its value holds it until the end of the stretch that charts share', () => {
  const held = { ...curve('a', [0, 10], [1, 2]), holds: true }
  const option = timeOption({
    series: [held, curve('b', [0, 10], [3, 4])],
    text: String,
    bands: [],
    limits: [],
    marks: [],
    picked: null,
    extent: [0, 25],
    least: 0,
    most: null,
    inBytes: false,
    variable: (name) => name,
  }) as { xAxis: { min: number; max: number }; series: { data: [number, number][] }[] }
  expect([option.xAxis.min, option.xAxis.max]).toEqual([0, 25])
  expect(option.series.map((one) => one.data.at(-1))).toEqual([
    [25, 2],
    [10, 4],
  ])
})

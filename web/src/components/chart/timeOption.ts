// The ECharts option of curves over time.
import { durationNs, withMinus } from '../../format/units'
import { locale } from '../../i18n/language.svelte'
import { byteTicks } from './byteAxis'
import type { Band } from './moments'
import type { CurveSource } from './told'

export interface CurveSeries {
  readonly name: string
  /** ns since the clock's zero, ascending. */
  readonly times: readonly number[]
  readonly values: readonly (number | null)[]
  /** CSS variable of its colour. */
  readonly colour: string
  readonly area?: boolean
  readonly dashed?: boolean
  /** Curves of one stack lie upon each other; they share their times. */
  readonly stack?: string
  /** A value that holds until the next one, such as the fill of a queue. */
  readonly holds?: boolean
  /** The entry of an answer that it draws, where it is one. */
  readonly source?: CurveSource
}

export interface Limit {
  readonly name: string
  readonly value: number
  readonly colour: string
  /** Shown also where the curve is far below it. */
  readonly always?: boolean
}

/** A moment that has a name, such as that of a failed request. */
export interface Mark {
  readonly at: number
  readonly name: string
  readonly colour: string
}

export interface WideRow {
  readonly at: number
  readonly values: readonly (number | null)[]
}

interface Wanted {
  readonly series: readonly CurveSeries[]
  readonly text: (value: number | null) => string
  readonly bands: readonly Band[]
  readonly limits: readonly Limit[]
  readonly marks: readonly Mark[]
  readonly picked: { readonly from: number; readonly to: number } | null
  /** From when to when, as another chart above it: what holds its last value holds it until then. */
  readonly extent?: readonly [number, number] | null
  readonly least: number
  /** Upper end of the value axis, such as 1 where values are shares. */
  readonly most: number | null
  /** Values are bytes: ticks at round numbers of their unit. */
  readonly inBytes: boolean
  readonly variable: (name: string) => string
}

type Loose = Record<string, unknown>

/** More bands than this have no names: they would overlap. */
const NAMED_BANDS = 60
/** A band narrower than this part of the chart has no name either. */
const NAMED_WIDTH = 0.04
/** Fewer points than this need no zoom. */
const ZOOM_POINTS = 60

/** The same numbers as a table: one row per moment, one column per curve. */
export function wideRows(series: readonly CurveSeries[]): WideRow[] {
  const rows = new Map<number, (number | null)[]>()
  series.forEach((one, index) => {
    one.times.forEach((at, place) => {
      const values = rows.get(at) ?? Array.from<number | null>({ length: series.length }).fill(null)
      values[index] = one.values[place] ?? null
      rows.set(at, values)
    })
  })
  return [...rows].toSorted(([a], [b]) => a - b).map(([at, values]) => ({ at, values }))
}

export function timeOption(wanted: Wanted): Loose {
  const { series, text, variable } = wanted
  const zoom = series.some((one) => one.times.length > ZOOM_POINTS)
  const span = wanted.extent ?? spanOf(series, wanted.marks)
  const highest = highestOf(series)
  const top = wanted.limits.length > 0 ? topOf(highest, wanted.limits) : null
  return {
    legend: series.length > 1 || wanted.limits.length > 0 ? { type: 'scroll', left: 0, right: 0 } : undefined,
    grid: { left: 8, right: 20, top: 34, bottom: zoom ? 26 : 8, containLabel: true },
    tooltip: {
      trigger: 'axis',
      axisPointer: { type: 'line' },
      formatter: (points: unknown) => words(points, series, text),
    },
    xAxis: {
      type: 'value',
      ...(span ? { min: span[0], max: span[1] } : {}),
      // Both ends follow the curves and are seldom round numbers.
      axisLabel: {
        formatter: (value: number) => axisText(value, span),
        ...(span?.[0] === 0 ? {} : { showMinLabel: false }),
        showMaxLabel: false,
      },
      splitLine: { show: false },
      axisPointer: { label: { show: false } },
      axisLine: { onZero: false },
    },
    yAxis: {
      type: 'value',
      min: 0,
      minInterval: wanted.least,
      ...(wanted.most !== null ? { max: wanted.most } : {}),
      ...(top !== null ? { max: top } : {}),
      axisLine: { onZero: false },
      ...(wanted.inBytes
        ? byteTicks(top ?? highest)
        : {
            axisLabel: {
              formatter: (value: number) => text(value),
              // The upper end follows a limit and is seldom a round number.
              ...(top !== null ? { showMaxLabel: false } : {}),
            },
          }),
    },
    dataZoom: zoom
      ? [
          { type: 'slider', height: 14, bottom: 4, filterMode: 'none', ...sliderLook(variable) },
          { type: 'inside', filterMode: 'none', zoomOnMouseWheel: 'ctrl', moveOnMouseMove: false },
        ]
      : [],
    series: series.map((one, index) => ({
      ...line(one, variable, wanted.extent?.[1]),
      ...(index === 0 ? { markArea: areas(wanted), markLine: limitLines(wanted) } : {}),
    })),
  }
}

function line(one: CurveSeries, variable: (name: string) => string, until: number | undefined): Loose {
  const colour = variable(one.colour)
  const last = one.times.at(-1)
  const held = one.holds && last !== undefined && until !== undefined && until > last
  return {
    type: 'line',
    name: one.name,
    color: colour,
    showSymbol: one.times.length < 30,
    symbolSize: 4,
    lineStyle: { width: 1.5, color: colour, type: one.dashed ? 'dashed' : 'solid' },
    step: one.holds ? 'end' : false,
    stack: one.stack,
    areaStyle: one.area || one.stack ? { color: colour, opacity: one.stack ? 0.55 : 0.14 } : undefined,
    data: [
      ...one.times.map((at, place) => [at, one.values[place] ?? null]),
      ...(held ? [[until, one.values.at(-1) ?? null]] : []),
    ],
  }
}

/** Every other step is shaded, so that borders show without lines; what was picked stands out. */
function areas(wanted: Wanted): Loose {
  const { bands, picked, variable } = wanted
  const span = wanted.extent ?? spanOf(wanted.series, wanted.marks)
  const named = bands.length <= NAMED_BANDS
  const label = { position: 'insideTop', color: variable('--ink-3'), fontSize: 10 }
  const steps = bands.map((band, index) => [
    {
      xAxis: band.start,
      name: band.name,
      label: { ...label, show: named && (!span || band.end - band.start > (span[1] - span[0]) * NAMED_WIDTH) },
      itemStyle: band.colour
        ? { color: variable(band.colour), opacity: 0.16 }
        : { color: variable('--surface-3'), opacity: index % 2 === 0 ? 0.55 : 0 },
    },
    { xAxis: band.end },
  ])
  const chosen =
    picked && picked.to > picked.from
      ? [
          [
            { xAxis: picked.from, itemStyle: { color: variable('--accent'), opacity: 0.16 }, label: { show: false } },
            { xAxis: picked.to },
          ],
        ]
      : []
  return { silent: true, data: [...steps, ...chosen] }
}

function limitLines(wanted: Wanted): Loose {
  const { limits, marks, picked, variable } = wanted
  const span = wanted.extent ?? spanOf(wanted.series, marks)
  const flat = limits.map((limit) => ({
    yAxis: limit.value,
    lineStyle: { color: variable(limit.colour), type: 'dashed' },
    label: { formatter: limit.name, position: 'insideEndTop', color: variable('--ink-2') },
  }))
  const moments = marks.map((mark) => ({
    xAxis: mark.at,
    lineStyle: { color: variable(mark.colour), width: 2, type: 'solid' },
    label: {
      formatter: mark.name,
      position: 'insideEndTop',
      rotate: 0,
      align: alignOf(mark.at, span),
      color: variable(mark.colour),
      fontWeight: 600,
    },
  }))
  const chosen =
    picked && picked.to === picked.from
      ? [
          {
            xAxis: picked.from,
            lineStyle: { color: variable('--accent'), width: 2, type: 'solid' },
            label: { show: false },
          },
        ]
      : []
  return { silent: true, symbol: 'none', data: [...flat, ...moments, ...chosen] }
}

/** A name beside an end of the axis stays inside the chart, away from the labels of the other axis. */
function alignOf(at: number, span: readonly [number, number] | null): 'left' | 'center' | 'right' {
  if (!span) return 'center'
  const place = (at - span[0]) / (span[1] - span[0])
  return place < NAMED_WIDTH ? 'left' : place > 1 - NAMED_WIDTH ? 'right' : 'center'
}

/** First and last moment of all curves and marks; null where there is no stretch to show. */
export function spanOf(
  series: readonly Pick<CurveSeries, 'times'>[],
  marks: readonly Pick<Mark, 'at'>[],
): readonly [number, number] | null {
  const moments = marks.map((mark) => mark.at)
  const firsts = [...series.flatMap((one) => one.times.slice(0, 1)), ...moments]
  const lasts = [...series.flatMap((one) => one.times.slice(-1)), ...moments]
  if (firsts.length === 0) return null
  const [min, max] = [Math.min(...firsts), Math.max(...lasts)]
  return max > min ? [min, max] : null
}

/** The highest value that any curve reaches, or any stack of them. */
function highestOf(series: readonly CurveSeries[]): number {
  const single = series.filter((one) => !one.stack)
  const stacked = series.filter((one) => one.stack)
  const sums =
    stacked[0]?.times.map((_, place) => stacked.reduce((sum, one) => sum + (one.values[place] ?? 0), 0)) ?? []
  return [...single.flatMap((one) => one.values), ...sums].reduce<number>(
    (most, value) => Math.max(most, value ?? 0),
    0,
  )
}

const UNITS: readonly (readonly [number, string])[] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
]

/** How much closer than at first ticks can be told apart when the chart is zoomed, as a power of ten. */
const ZOOM_DECIMALS = 3

/** A moment with as many decimals as tell neighbouring ticks apart; round numbers have fewer. */
export function axisText(value: number, span: readonly [number, number] | null): string {
  if (!span) return durationNs(value)
  const largest = Math.max(Math.abs(span[0]), Math.abs(span[1]))
  const [scale, unit] = UNITS.find(([limit]) => largest >= limit) ?? [1, 'ns']
  const tick = (span[1] - span[0]) / scale / 8
  const decimals = Math.max(0, Math.min(9, Math.ceil(-Math.log10(tick)) + ZOOM_DECIMALS))
  const text = new Intl.NumberFormat(locale(), { maximumFractionDigits: decimals }).format(value / scale)
  return `${withMinus(text)} ${unit}`
}

/** Limits far above the curve would flatten it: they are shown only where they fit. */
function topOf(highest: number, limits: readonly Limit[]): number | null {
  const near = limits.filter((limit) => limit.always || limit.value <= highest * 2.5).map((limit) => limit.value)
  return near.length > 0 ? Math.max(highest, ...near) * 1.06 : null
}

function sliderLook(variable: (name: string) => string): Loose {
  return {
    borderColor: variable('--line'),
    backgroundColor: variable('--surface-2'),
    fillerColor: 'transparent',
    handleStyle: { color: variable('--surface'), borderColor: variable('--line-strong') },
    moveHandleSize: 0,
    showDetail: false,
    showDataShadow: false,
    brushSelect: false,
  }
}

function words(points: unknown, series: readonly CurveSeries[], text: (value: number | null) => string): string {
  const list = (Array.isArray(points) ? points : []) as { seriesName: string; value: [number, number | null] }[]
  const first = list[0]
  if (!first) return ''
  const lines = list
    .filter((point) => series.some((one) => one.name === point.seriesName))
    .map((point) => `${point.seriesName}: ${text(point.value[1])}`)
  return [durationNs(first.value[0]), ...lines].join('\n')
}

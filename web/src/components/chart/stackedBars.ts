// Bars of ranks or of parts of a job, each made of parts that take time.
import { durationUs } from '../../format/units'
import { cssVariable } from '../../state/theme.svelte'
import { timeTicks } from './axisUnit'

export interface StackedPart {
  readonly name: string
  /** A colour of the theme, such as `--compute`. */
  readonly colour: string
  /** µs of each bar. */
  readonly data: readonly (number | null)[]
}

/** More bars than this get a slider, to look at some of them. */
const MOST_AT_ONCE = 64
const WIDEST_BAR = 48

/** The options of the chart; `of` names what the bars are, beside the axis. */
export function stackedBars(
  labels: readonly string[],
  parts: readonly StackedPart[],
  of?: string,
): Record<string, unknown> {
  const zoomed = labels.length > MOST_AT_ONCE
  const sums = labels.map((_, index) => parts.reduce((sum, { data }) => sum + (data[index] ?? 0), 0))
  return {
    legend: {},
    tooltip: { trigger: 'axis', valueFormatter: (value: unknown) => durationUs(value as number) },
    ...(zoomed ? { grid: { left: 8, right: 48, top: 34, bottom: 36, containLabel: true } } : {}),
    dataZoom: zoomed ? [{ type: 'inside' }, { type: 'slider', height: 16, bottom: 6 }] : [],
    xAxis: {
      type: 'category',
      data: labels,
      ...(of === undefined ? { axisLabel: { interval: 0, hideOverlap: true } } : { name: of }),
    },
    yAxis: { type: 'value', ...timeTicks(sums) },
    series: parts.map(({ name, colour, data }) => ({
      type: 'bar',
      stack: 'all',
      name,
      barMaxWidth: WIDEST_BAR,
      // Between bars of a pixel or two the gaps would wash out the colours, which mean something.
      ...(zoomed ? { barCategoryGap: 0 } : {}),
      itemStyle: { color: cssVariable(colour) },
      data,
    })),
  }
}

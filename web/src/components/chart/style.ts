// One look for all charts: colours and type of the page, tooltips as text (the content policy forbids inline styles).
import type { EChartsCoreOption } from './echarts'
import { SERIES_COLOURS } from './seriesColour'

type Variable = (name: string) => string
type Loose = Record<string, unknown>

export function themed(option: EChartsCoreOption, variable: Variable): EChartsCoreOption {
  const loose = option as Loose
  return {
    animation: false,
    color: SERIES_COLOURS.map(variable),
    textStyle: { fontFamily: variable('--font'), color: variable('--ink-2') },
    // The chart's own title is its label; the generated one is long and English only.
    aria: { enabled: true, label: { enabled: false }, decal: { show: false } },
    ...loose,
    grid: loose['grid'] ?? { left: 8, right: 48, top: 34, bottom: 8, containLabel: true },
    tooltip: {
      renderMode: 'richText',
      confine: true,
      ...tooltipLook(variable),
      ...(loose['tooltip'] as Loose | undefined),
    },
    ...(loose['legend']
      ? {
          legend: {
            top: 0,
            textStyle: { color: variable('--ink-2') },
            itemWidth: 14,
            itemHeight: 8,
            ...(loose['legend'] as Loose),
          },
        }
      : {}),
    ...axis('xAxis', loose, variable),
    ...axis('yAxis', loose, variable),
  }
}

function tooltipLook(variable: Variable): Loose {
  return {
    backgroundColor: variable('--surface'),
    borderColor: variable('--line'),
    textStyle: { color: variable('--ink'), fontSize: 12 },
  }
}

function axis(name: 'xAxis' | 'yAxis', option: Loose, variable: Variable): Loose {
  const given = option[name]
  if (given === undefined) return {}
  const list = (Array.isArray(given) ? given : [given]) as Loose[]
  return { [name]: list.map((one) => axisLook(one, variable)) }
}

function axisLook(given: Loose, variable: Variable): Loose {
  return {
    ...given,
    axisLine: { lineStyle: { color: variable('--line-strong') }, ...(given['axisLine'] as Loose | undefined) },
    axisLabel: { color: variable('--ink-3'), hideOverlap: true, ...(given['axisLabel'] as Loose | undefined) },
    splitLine: { lineStyle: { color: variable('--line') }, ...(given['splitLine'] as Loose | undefined) },
    nameTextStyle: { color: variable('--ink-3'), ...(given['nameTextStyle'] as Loose | undefined) },
  }
}

// What a chart draws at each of its positions, so that it can be held to the rows it stands for.
import type { EChartsCoreOption } from './echarts'

interface Series {
  readonly data?: readonly unknown[]
}

/**
 * The numbers that all series together draw at the first positions. Points of two numbers are no values of a row, but
 * one that says which number is the row's: an axis may have positions between the rows.
 */
export function drawnValues(option: EChartsCoreOption, most: number): number[][] {
  const series = [option['series'] ?? []].flat() as readonly Series[]
  return Array.from({ length: most }, (_, index) =>
    series.flatMap(({ data }) => {
      const point = data?.[index]
      const { value } = typeof point === 'object' && point !== null ? valueOf(point) : { value: point }
      return typeof value === 'number' ? [value] : []
    }),
  )
}

function valueOf(point: { readonly value?: unknown; readonly ofRow?: unknown }): { value?: unknown } {
  return { value: point.ofRow ?? point.value }
}

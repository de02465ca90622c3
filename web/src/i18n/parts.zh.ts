// 表格、图表等通用部件的文字。
export const partsZh = {
  'table.filter': '筛选',
  'table.filter_hint': '文字，或 列名:文字、列名>数值，空格分隔',
  'table.rows': '{shown} / {total} 行',
  'table.rows_first': '前 {total} 行，还有更多',
  'table.rows_all': '{total} 行',
  'table.csv': '导出 CSV',
  'table.sort': '按“{column}”排序',
  'table.columns': '列',
  'table.empty': '没有数据行。',
  'chart.as_table': '显示为表格',
  'chart.as_chart': '显示为图',
  'chart.png': '导出 PNG',
  'chart.time': '时间',
  'heatmap.scale_low': '低（第 2 百分位）',
  'heatmap.scale_high': '高（第 98 百分位）',
} as const

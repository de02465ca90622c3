// Words of tables, charts and other shared parts.
import type { partsZh } from './parts.zh'

export const partsEn: Record<keyof typeof partsZh, string> = {
  'views.title': 'Saved views',
  'views.name': 'Save this view as…',
  'views.save': 'Save',
  'views.none': 'Nothing saved yet: a view is this page with everything chosen on it.',
  'views.forget': 'Forget “{name}”',
  'table.filter': 'Filter',
  'table.filter_hint': 'Text, or column:text, column>number; separate with spaces',
  'table.rows': '{shown} of {total} {total|row|rows}',
  'table.rows_first': 'first {total} {total|row|rows}, there are more',
  'table.rows_all': '{total} {total|row|rows}',
  'table.csv': 'Export CSV',
  'table.sort': 'Sort by {column}',
  'table.columns': 'Columns',
  'table.pin': 'Pin column {column}',
  'table.stretch': '{from}–{to} of {total}',
  'table.previous': 'Previous rows',
  'table.next': 'Next rows',
  'table.empty': 'No rows.',
  'chart.as_table': 'Show as table',
  'chart.as_chart': 'Show as chart',
  'chart.png': 'Export PNG',
  'chart.time': 'Time',
  'heatmap.scale_low': 'low (2nd percentile)',
  'heatmap.scale_high': 'high (98th percentile)',
}

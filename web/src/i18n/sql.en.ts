// The SQL page.
import type { sqlZh } from './sql.zh'

export const sqlEn: Record<keyof typeof sqlZh, string> = {
  'sql.lead': 'Read-only DuckDB SQL over all tables of this run.',
  'sql.query': 'Query',
  'sql.run': 'Run (Ctrl+Enter)',
  'sql.tables': 'Tables',
  'sql.examples': 'Examples',
  'sql.chart': 'Chart',
  'sql.table': 'Table',
  'sql.x': 'X axis',
  'sql.y': 'Y axis',
  'sql.kind': 'Chart type',
  'sql.bar': 'Bars',
  'sql.line': 'Line',
  'sql.scatter': 'Points',
  'sql.result': 'Result',
  'sql.no_numbers': 'The result has no column of numbers to draw.',
  'sql.first_rows': 'Only the first {count} {count|row|rows} are drawn.',
  'sql.example_operators': 'Kernels by total time',
  'sql.example_steps': 'Length of each step',
  'sql.example_longest': 'Longest slices',
  'sql.example_links': 'Links by kind',
}

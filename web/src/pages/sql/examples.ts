// Queries to start from.
import type { PlainKey } from '../../i18n/language.svelte'

export const EXAMPLES: readonly { readonly title: PlainKey; readonly query: string }[] = [
  {
    title: 'sql.example_operators',
    query: `SELECT name, count(*) AS calls, sum(dur_ns) / 1e3 AS total_us, avg(dur_ns) / 1e3 AS avg_us
FROM slices
WHERE kind = 'kernel'
GROUP BY name
ORDER BY total_us DESC
LIMIT 30`,
  },
  {
    title: 'sql.example_steps',
    query: `SELECT rank, step, (host_end_ns - host_start_ns) / 1e3 AS host_us, (device_end_ns - device_start_ns) / 1e3 AS device_us
FROM steps
ORDER BY rank, step`,
  },
  {
    title: 'sql.example_longest',
    query: `SELECT rank, slice, kind, name, dur_ns / 1e3 AS duration_us
FROM slices
ORDER BY dur_ns DESC
LIMIT 100`,
  },
  { title: 'sql.example_links', query: 'SELECT kind, count(*) AS links FROM links GROUP BY kind ORDER BY links DESC' },
]

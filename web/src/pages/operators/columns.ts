// Columns of the table of operators; those that no row has a value for are left out.
import { count, plain, share } from '../../format/units'
import type { Operator } from '../../api/schema'
import type { Column } from '../../components/table/columns'
import { lookUp, t, type PlainKey } from '../../i18n/language.svelte'
import { router } from '../../router/router.svelte'
import { helpOf } from '../../state/help'
import type { Grouping } from './rows'

type Time = keyof Operator & `${string}_us`

const TIMES: readonly (readonly [Time, PlainKey])[] = [
  ['self_us', 'operators.self'],
  ['min_us', 'operators.min'],
  ['p50_us', 'operators.p50'],
  ['p95_us', 'operators.p95'],
  ['max_us', 'operators.max'],
  ['per_step_us', 'operators.per_step'],
  ['device_total_us', 'operators.device_total'],
  ['device_self_us', 'operators.device_self'],
]

/** Times that are shown without being asked for, beside total and mean. */
const ALWAYS: ReadonlySet<Time> = new Set<Time>(['self_us', 'device_total_us'])

/** The word for a category; categories of later versions keep their own name. */
export function categoryName(category: string | null): string {
  return lookUp(`operators.cat.${category ?? 'other'}`) ?? category ?? ''
}

export function nameOf(row: Operator, by: Grouping): string {
  if (row.name === null) return t('operators.unnamed')
  return by === 'category' ? categoryName(row.name) : row.name
}

/** The search of the timeline that finds what a row stands for. */
export function timelineLink(row: Operator, by: Grouping): string | null {
  if (row.name === null || by === 'module' || by === 'core' || by === 'category') return null
  const kind = row.side === 'host' || by === 'operator' ? ' kind:operator' : ''
  return router.href('timeline', { q: `${row.name}${kind}`, t: null })
}

export function columnsOf(rows: readonly Operator[], by: Grouping, counters: readonly string[]): Column<Operator>[] {
  const known = (field: keyof Operator): boolean => rows.some((row) => row[field] !== null)
  const longest = Math.max(0, ...rows.map((row) => row.total_us))
  const columns: Column<Operator>[] = [
    {
      id: 'name',
      title: t('operators.name'),
      width: 'minmax(160px, 1fr)',
      value: (row) => nameOf(row, by),
    },
  ]
  columns.push({
    ...time('total_us', 'operators.total'),
    width: '124px',
    bar: (row) => (longest > 0 ? row.total_us / longest : null),
  })
  columns.push(shareColumn('share', 'operators.share'), {
    id: 'count',
    title: t('operators.count'),
    numeric: true,
    width: '76px',
    value: (row) => row.count,
    text: (row) => count(row.count),
  })
  columns.push(time('avg_us', 'operators.avg'))
  if (by !== 'type' && known('type')) columns.push(text('type', 'operators.type', '130px'))
  if (by !== 'core' && known('core')) columns.push(text('core', 'operators.core', '90px'))
  if (by !== 'operator' && known('operator')) columns.push(text('operator', 'operators.owner', '150px'))
  if (by !== 'category' && known('category')) {
    columns.push({
      id: 'category',
      title: t('operators.category'),
      width: '120px',
      optional: true,
      value: (row) => (row.category === null ? null : categoryName(row.category)),
    })
  }
  if (known('input_shapes')) {
    columns.push({ ...text('input_shapes', 'operators.shapes', '220px'), optional: by !== 'shape' })
  }
  if (known('dtypes')) columns.push({ ...text('dtypes', 'operators.dtypes', '110px'), optional: by !== 'shape' })
  for (const [field, title] of TIMES) {
    if (known(field)) columns.push({ ...time(field, title), optional: !ALWAYS.has(field) })
  }
  if (known('busy_share')) columns.push({ ...shareColumn('busy_share', 'operators.busy_share'), optional: true })
  return [...columns, ...counters.map(counterColumn)]
}

const text = (
  id: 'type' | 'core' | 'operator' | 'input_shapes' | 'dtypes',
  title: PlainKey,
  width: string,
): Column<Operator> => ({
  id,
  title: t(title),
  width,
  optional: true,
  value: (row: Operator) => row[id],
  ...helpOf('operators', id),
})

const time = (field: Time, title: PlainKey): Column<Operator> => ({
  id: field,
  title: t(title),
  numeric: true,
  width: '104px',
  value: (row) => row[field],
  quantity: 'us',
  hint: (row) => (row[field] === null ? null : `${row[field]} µs`),
  ...helpOf('operators', field),
})

function shareColumn(field: 'share' | 'busy_share', title: PlainKey): Column<Operator> {
  return {
    id: field,
    title: t(title),
    numeric: true,
    width: '84px',
    value: (row) => row[field],
    text: (row) => share(row[field]),
    ...helpOf('operators', field),
  }
}

function counterColumn(name: string): Column<Operator> {
  const ratio = /ratio|_rate$|Rate$/.test(name)
  return {
    id: name,
    title: name,
    numeric: true,
    width: `${Math.max(90, 16 + name.length * 7)}px`,
    value: (row) => row.pmu?.[name] ?? null,
    text: (row) => (ratio ? share(row.pmu?.[name]) : plain(row.pmu?.[name])),
    hint: (row) => (row.pmu?.[name] == null ? null : String(row.pmu[name])),
  }
}
